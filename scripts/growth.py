"""How the cost of CRF training grows with tokens, tags and features, on generated corpora.

    python scripts/growth.py              the whole table, some minutes
    python scripts/growth.py 100000 50    one corpus: tokens, tags

A corpus is drawn from a chain over the tags in which each has a few likely successors. Words follow Zipf's law; most
belong to one tag, and some to two. Every row is measured in a process of its own: the time to encode, the median time
of an evaluation of loss and gradient, the peak of memory.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

MIDDLE = (250_000, 50, "comparison")
TOKENS = (125_000, 250_000, 500_000, 1_000_000)
TAGS = (25, 50, 100, 200, 400)
FEATURES = ("comparison", "default")
LARGEST = (1_000_000, 400, "comparison")


def generated(tokens: int, K: int, seed: int = 0):
    """Sentences of about 20 tokens."""
    from tagger import Sentence

    random = np.random.default_rng(seed)
    likely = random.dirichlet(np.full(K, 0.1), size=K).cumsum(axis=1)
    tags = np.empty(tokens, np.int64)
    tag = 0
    for i, x in enumerate(random.random(tokens).tolist()):
        tags[i] = tag = min(int(np.searchsorted(likely[tag], x)), K - 1)
    rank = random.zipf(1.3, tokens) % 50_000
    home = np.where(
        random.random(tokens) < 0.9, tags, (tags + 1) % K
    )  # a tenth of the tokens share the neighbour's words
    words = [
        f"{'bcdfghklmnprstvz'[h % 16]}{r}{'aeiou'[h % 5]}{h}" for h, r in zip(home.tolist(), rank.tolist(), strict=True)
    ]
    ends = [*range(20, tokens, 20), tokens]
    names = [f"T{k}" for k in range(K)]
    return [Sentence(words[a:b], [names[k] for k in tags[a:b]]) for a, b in zip([0, *ends], ends, strict=False)]


def measure(tokens: int, K: int, features: str) -> dict[str, float]:
    """In this process, which should do nothing else."""
    from threadpoolctl import threadpool_limits

    from tagger import CRFTagger
    from tagger.crf.objective import PenalizedLikelihood
    from tagger.files.resources import available_cores

    sentences = generated(tokens, K)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    corpus, layout = CRFTagger(features=features).encode(sentences)
    likelihood = PenalizedLikelihood(corpus, layout, 1.0, available_cores())
    encoded = time.perf_counter() - begin
    weights = np.random.default_rng(0).normal(size=layout.size) * 0.1
    seconds = []
    with threadpool_limits(limits=1, user_api="blas"):
        for _ in range(4):
            begin = time.perf_counter()
            likelihood(weights)
            seconds.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"parameters": layout.size, "encoding": encoded, "evaluation": statistics.median(seconds[1:])}
    return found | {"corpus": before / 1000, "peak": peak / 1000}


def main() -> None:
    if len(sys.argv) > 2:
        tokens, K, features = int(sys.argv[1]), int(sys.argv[2]), (sys.argv[3:] or ["comparison"])[0]
        print(json.dumps(measure(tokens, K, features)))
        return
    cases = [(n, *MIDDLE[1:]) for n in TOKENS] + [(MIDDLE[0], k, MIDDLE[2]) for k in TAGS if k != MIDDLE[1]]
    cases += [(*MIDDLE[:2], f) for f in FEATURES if f != MIDDLE[2]] + [LARGEST]
    print("| tokens | tags | template | parameters | encoding s | evaluation s | peak MB |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    for tokens, K, features in cases:
        command = [sys.executable, __file__, str(tokens), str(K), features]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        row = [f"{tokens:,}", str(K), features, f"{found['parameters']:,}", f"{found['encoding']:.1f}"]
        print("| " + " | ".join([*row, f"{found['evaluation']:.2f}", f"{found['peak']:.0f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
