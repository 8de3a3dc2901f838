"""How far float32, in which a CRF is trained and tags, is from float64, on real corpora.

    python scripts/precision.py $CORPORA/english-ewt-xpos/train.txt

Some iterations of training give weights as they are in practice. There the loss, its gradient, the marginals and the
best tags of all tokens are computed in both, and the largest differences printed.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

import numpy as np

from tagger import CRFTagger, read_corpus
from tagger.chain.forward_backward import forward_backward, sum_kernel
from tagger.chain.kernels import DenseMax
from tagger.chain.scores import Chain
from tagger.chain.viterbi import viterbi
from tagger.crf.lbfgs import minimize
from tagger.crf.objective import PenalizedLikelihood


@dataclass(frozen=True)
class Differences:
    """The largest ones between float32 and float64 on a corpus."""

    tokens: int
    tags: int
    loss: float  # relative
    gradient: float  # relative, of the norm
    marginals: float  # absolute
    best: int  # tokens that get another tag


def differences(path: str | os.PathLike[str], iterations: int) -> Differences:
    corpus, layout = CRFTagger(candidates="all").encode(read_corpus(path))
    single, double = (PenalizedLikelihood(corpus, layout, 0.25, dtype=dtype) for dtype in (np.float32, np.float64))
    scale = (layout.counts + 1.0) ** -0.25
    weights = minimize(single, np.zeros(layout.size), scale, iterations).x
    (loss, gradient), (true_loss, true_gradient) = single(weights), double(weights)
    w, start, transitions, end, *_ = layout.split(weights)
    marginals, best = 0.0, 0
    for i, pack in enumerate(double.packs):
        found = []
        for side in (single, double):
            own = w.astype(side.dtype)
            tables = [table.scores(own, side.tag_parts.columns) for table in side.tables]
            chain = Chain(pack, start, transitions, end, side.emissions(i, own, tables))
            found.append((forward_backward(sum_kernel(chain)).states, viterbi(DenseMax(chain))))
        marginals = max(marginals, float(np.abs(found[0][0] - found[1][0]).max()))
        best += int((found[0][1] != found[1][1]).sum())
    of_gradient = float(np.linalg.norm(gradient - true_gradient) / np.linalg.norm(true_gradient))
    of_loss = abs(loss - true_loss) / true_loss
    return Differences(len(corpus.tags), corpus.K, of_loss, of_gradient, marginals, best)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--iterations", type=int, default=30)
    options = parser.parse_args()
    print("| corpus | tokens | tags | loss, relative | gradient, relative | marginals, absolute | other tags |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for path in options.corpora:
        d = differences(path, options.iterations)
        rates = f"{d.loss:.1e} | {d.gradient:.1e} | {d.marginals:.1e}"
        print(f"| {path} | {d.tokens:,} | {d.tags:,} | {rates} | {d.best:,} |", flush=True)


if __name__ == "__main__":
    main()
