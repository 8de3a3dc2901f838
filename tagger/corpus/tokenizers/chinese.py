"""Chinese tokenizer: words by jieba (an optional library), sentences by their final marks.

A piece is a clause, up to white space or a punctuation mark: jieba needs whole clauses. In Chinese text a line is a
paragraph, so the end of a line ends a sentence.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

from tagger.errors import TaggerError

CLOSING = "”’」』）》】\"')"
PIECE = re.compile(
    rf"[^\s。！？…，；：、]{{0,1000}}(?:[。！？…]{{1,50}}[{CLOSING}]{{0,5}}|[，；：、])|[^\s。！？…，；：、]{{1,1000}}"
)
FINAL = frozenset("。！？…!?")


def words(piece: str) -> tuple[str, ...]:
    """Split a piece into words; joined, they are the piece."""
    return tuple(jieba().cut(piece))


def ends(before: list[str], following: str | None) -> bool:
    """Return whether a sentence ends after the words `before`; `following` is the next piece, None at a line end."""
    if following is None:
        return True
    last, lowest = len(before) - 1, max(0, len(before) - 6)
    while last > lowest and before[last] in CLOSING:
        last -= 1
    return before[last][-1] in FINAL and following[0] not in FINAL


@cache
def jieba() -> Any:
    """Load jieba and its dictionary.

    jieba's own loader reads a cache from the folder for temporary files, where any user can put one, and writes to
    standard error. Importing it raises deprecation warnings, which are ignored.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from jieba import Tokenizer
        except ImportError:
            advice = "Install it: pip install 'hmm-crf-tagger[chinese]'"
            raise TaggerError(f"language chinese: expected the library jieba, got none. {advice}") from None
        tokenizer = Tokenizer()
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
