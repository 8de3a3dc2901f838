"""Map tags to another tag set, for example Penn to universal tags, by a file of lines `TAG TAB TAG`.

A tag that the map lacks stays unchanged. Since that may be a mistake, such tags are recorded in `unmapped`, unless they
are values of the map: then they belong to the new tag set already.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing

from tagger.errors import CorpusError
from tagger.escaping import quote
from tagger.files.reading import Lines
from tagger.sentence import Sentence


class TagMap:
    """A mapping of tags, with a record of the tags it lacks."""

    def __init__(self, pairs: dict[str, str]) -> None:
        self.pairs = pairs
        self.targets = frozenset(pairs.values())
        self.unmapped: set[str] = set()  # tags without a mapping, as they occur

    def tags(self, tags: Sequence[str]) -> list[str]:
        """Map tags, and record those without a mapping."""
        self.unmapped.update(tag for tag in tags if tag not in self.pairs and tag not in self.targets)
        return [self.pairs.get(tag, tag) for tag in tags]

    def sentence(self, sentence: Sentence) -> Sentence:
        """Copy a sentence with mapped tags."""
        return sentence if sentence.tags is None else sentence.with_tags(self.tags(sentence.tags))


def read_tag_map(path: str | os.PathLike[str]) -> TagMap:
    """Read a tag map from a file."""
    pairs: dict[str, str] = {}
    with closing(Lines(path)) as lines:
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
