"""NLTK's TnT (after Brants 2000): rival_tnt.py train CORPUS MODEL, or rival_tnt.py tag MODEL TEXT OUTPUT

Training prints the seconds that `TnT.train` took on sentences already read. Tagging is a whole program, which
`scripts/bench.py hmm` times: the model comes out of a pickle, the text is read and written line by line. As users of
NLTK get it, without an extra tagger for unknown words, which it does not bring.
"""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path

from nltk.tag.tnt import TnT


def train(corpus: str, model: str) -> None:
    lines = [line for line in Path(corpus).read_text("utf-8").split("\n") if line]
    sentences = [[tuple(token.rsplit("/", 1)) for token in line.split(" ")] for line in lines]
    tagger = TnT()
    begin = time.perf_counter()
    tagger.train(sentences)
    print(time.perf_counter() - begin)
    with Path(model).open("wb") as stream:
        pickle.dump(tagger, stream)


def tag(model: str, text: str, output: str) -> None:
    with Path(model).open("rb") as stream:
        tagger = pickle.load(stream)
    with Path(text).open(encoding="utf-8") as lines, Path(output).open("w", encoding="utf-8") as out:
        for line in lines:
            out.write(" ".join(f"{word}/{tag}" for word, tag in tagger.tag(line.rstrip("\n").split(" "))) + "\n")


if __name__ == "__main__":
    {"train": train, "tag": tag}[sys.argv[1]](*sys.argv[2:])
