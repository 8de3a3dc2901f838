"""CRFsuite tags a text, sentence by sentence, through python-crfsuite: rival_crfsuite_tag.py MODEL TEXT OUTPUT

The whole program is what `scripts/bench.py tag` times: features in plain Python, decoding in C, the text written out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pycrfsuite
from rival_crfsuite import features


def main(model: str, text: str, output: str) -> None:
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    with Path(text).open(encoding="utf-8") as lines, Path(output).open("w", encoding="utf-8") as out:
        for line in lines:
            words = line.split()
            tags = tagger.tag(features(words))
            out.write(" ".join(f"{word}/{tag}" for word, tag in zip(words, tags, strict=True)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
