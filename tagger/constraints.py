"""Which tags a token may have: what a user knows better than the model.

A user lexicon allows certain tags for certain words, and a token that comes tagged keeps its tag. Both become a table
of allowed tags that restricts a lattice, so that everything around them is decided in their light.
"""

from __future__ import annotations

import os

from tagger.corpus.slash import tokens
from tagger.errors import quote
from tagger.files import Lines

Lexicon = dict[str, tuple[str, ...]]


def read_lexicon(path: str | os.PathLike[str], encoding: str = "utf-8") -> Lexicon:
    """The tags each word may have: lines `word TAB TAG[ TAG…]`. What several lines allow for a word is allowed."""
    found: Lexicon = {}
    lines = Lines(path, encoding)
    for line in lines:
        if not line.strip(" \t"):
            continue
        word, tab, tags = line.partition("\t")
        if not (word and tab and tokens(tags)):
            raise lines.error(f"expected a word, a tab and the tags it may have, got {quote(line)}")
        found[word] = tuple(dict.fromkeys([*found.get(word, ()), *tokens(tags)]))
    return found
