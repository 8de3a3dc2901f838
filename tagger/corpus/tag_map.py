"""From one tag set to another: lines `TAG TAB TAG`, Penn to universal tags, say.

A tag that the map does not mention stays as it is. Since that may be a mistake, such tags are remembered, unless they
are what others are mapped to: then they belong to the new tag set already.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence


class TagMap:
    def __init__(self, pairs: dict[str, str]) -> None:
        self.pairs = pairs
        self.targets = frozenset(pairs.values())
        self.unmapped: set[str] = set()  # tags that have been asked for in vain

    def tags(self, tags: Sequence[str]) -> list[str]:
        found = [self.pairs.get(tag, tag) for tag in tags]
        self.unmapped.update(tag for tag in tags if tag not in self.pairs and tag not in self.targets)
        return found

    def sentence(self, sentence: Sentence) -> Sentence:
        return sentence if sentence.tags is None else sentence.with_tags(self.tags(sentence.tags))


def read_map(path: str | os.PathLike[str]) -> TagMap:
    lines = Lines(path)
    pairs: dict[str, str] = {}
    for line in lines:
        if not line.strip(" \t"):
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(cell and cell == cell.strip(" ") for cell in cells):
            raise lines.error(f"expected TAG TAB TAG, got {quote(line)}")
        old, new = cells
        if pairs.setdefault(old, new) != new:
            raise lines.error(f"expected one tag for {quote(old)}, got {quote(new)} after {quote(pairs[old])}")
    if not pairs:
        raise CorpusError(f"{lines.name}: expected lines TAG TAB TAG, got none")
    return TagMap(pairs)
