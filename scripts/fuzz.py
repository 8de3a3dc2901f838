"""Coverage-guided fuzzing of everything that reads what strangers write: corpora, templates, model files.

    pip install atheris
    python scripts/fuzz.py corpus --seconds 1200 --findings /tmp/findings

atheris (libFuzzer) changes the input so that it reaches new branches of ours; `judges` decides what is a fault. A fault
does not end the run: the first input of each kind is kept in the folder of findings, with its traceback, to become a
test. A model's members are fuzzed one at a time and zipped anew with proper checksums: flipped bits in the archive
itself are the business of `scripts/torture.py`, and would never get past them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tagger"]):
    from tagger import CRFTagger, HMMTagger, Sentence, save_model
    from tagger.corpus.formats import FORMATS, render
    from tagger.features.functions import FUNCTIONS, NUMBERED
    from tagger.features.template import shipped

import mutations
from judges import judge_corpus, judge_model, judge_template

FOLDER = Path(tempfile.mkdtemp(prefix="tagger-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
TAGGED, ENCODINGS = [True, False, None], ["utf-8", "utf-8", "utf-8", "gbk", "utf-16", "latin-1"]
SMALL = [Sentence(["The", "dog", "barks", "."], ["D", "N", "V", "."]), Sentence(["a", "Cat-1"], ["D", "N"])]


def fuzz_corpus(content: bytes) -> None:
    """The first three bytes choose format, tagging and encoding."""
    choices = [*content[:3], 0, 0, 0]
    format = [None, *FORMATS][choices[0] % (len(FORMATS) + 1)]
    tagged, encoding = TAGGED[choices[1] % len(TAGGED)], ENCODINGS[choices[2] % len(ENCODINGS)]
    path = FOLDER / "corpus.txt"
    path.write_bytes(content[3:])
    judge_corpus(path, format, tagged, encoding)


def fuzz_template(content: bytes) -> None:
    judge_template(content.decode("utf-8", "replace"))


def small_models() -> list[mutations.Members]:
    found = []
    for model in (HMMTagger(rare_count=1), HMMTagger(order=1), CRFTagger(features="comparison", max_iterations=3)):
        save_model(model.fit(SMALL), FOLDER / "good.npz")
        found.append(mutations.unzipped((FOLDER / "good.npz").read_bytes()))
    return found


def fuzz_model(content: bytes, models: list[mutations.Members]) -> None:
    data = atheris.FuzzedDataProvider(content)
    members = dict(data.PickValueInList(models))
    for _ in range(data.ConsumeIntInRange(1, 3)):
        name = data.PickValueInList(sorted(members))
        old = members[name]
        at, gone = data.ConsumeIntInRange(0, len(old)), data.ConsumeIntInRange(0, 64)
        members[name] = old[:at] + data.ConsumeBytes(data.ConsumeIntInRange(0, 256)) + old[at + gone :]
    path = FOLDER / "model.npz"
    path.write_bytes(mutations.zipped(list(members.items()), 0))
    judge_model(path)


def seeds(target: str) -> tuple[list[bytes], list[str]]:
    """What to begin with, and words of the language that chance would not find."""
    if target == "template":
        names = ["default", "comparison", "classes"]
        return [shipped(name).encode() for name in names], [
            *FUNCTIONS,
            *NUMBERED,
            "class",
            "[0]",
            "[-1]",
            ":1-4",
            " & ",
        ]
    if target == "corpus":
        formats = [render(sentence, name) for sentence in SMALL for name in FORMATS]
        return [bytes([i // 2, 0, 0]) + text for i, text in enumerate(formats)], mutations.NASTY_TEXTS
    return [bytes(range(50))], ["<f8", "<u8", "|u1", "True", "(1,)"]


def keeping(target: Callable[[bytes], None], findings: Path) -> Callable[[bytes], None]:
    """The target for atheris; faults are kept, one of each kind, and the search goes on."""
    seen: set[str] = set()

    def one_input(content: bytes) -> None:
        try:
            target(content)
        except Exception as error:
            ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "tagger" in frame.filename]
            last = ours[-1] if ours else traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
            if kind not in seen:
                seen.add(kind)
                place = findings / f"{len(seen):03d}"
                place.with_suffix(".input").write_bytes(content)
                place.with_suffix(".txt").write_text(f"{kind}\n{traceback.format_exc()}", "utf-8", "backslashreplace")
                print(f"finding {len(seen)}: {kind}: {str(error)[:200]!r}", flush=True)

    return one_input


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", choices=["corpus", "template", "model"])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--findings", type=Path, default=Path("findings"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.findings.mkdir(parents=True, exist_ok=True)
    models = small_models() if options.target == "model" else []
    targets: dict[str, Callable[[bytes], None]] = {
        "corpus": fuzz_corpus,
        "template": fuzz_template,
        "model": lambda content: fuzz_model(content, models),
    }
    inputs, words = seeds(options.target)
    (FOLDER / "inputs").mkdir()
    for i, content in enumerate(inputs):
        (FOLDER / "inputs" / str(i)).write_bytes(content)
    escaped = ["".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass")[:64]) for word in words]
    (FOLDER / "words").write_text("".join(f'"{word}"\n' for word in escaped))
    limits = [f"-max_total_time={options.seconds}", "-timeout=600", "-rss_limit_mb=3000", "-max_len=2000"]
    arguments = [*limits, f"-seed={options.seed}", f"-dict={FOLDER / 'words'}", str(FOLDER / "inputs")]
    atheris.Setup([sys.argv[0], *arguments], keeping(targets[options.target], options.findings))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
