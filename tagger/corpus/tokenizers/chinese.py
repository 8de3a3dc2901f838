"""Chinese text to words and sentences: words by jieba (an optional library), sentences by their final marks.

A piece ends with white space or a mark, so that jieba, which looks at whole clauses, gets them one at a time. In
Chinese text a line is a paragraph, hence the end of a line ends a sentence.
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
    return tuple(jieba().cut(piece))


def ends(found: list[str], following: str | None) -> bool:
    """Whether a sentence ends after these words; `following` is the next piece, or None at the end of a line."""
    if following is None:
        return True
    last, least = len(found) - 1, max(0, len(found) - 6)
    while last > least and found[last] in CLOSING:
        last -= 1
    return found[last][-1] in FINAL and following[0] not in FINAL


@cache
def jieba() -> Any:
    """jieba with its dictionary. Its own way of loading would trust a file that anybody may put into the folder for
    temporary files, and talk on standard error; its code is old enough to be warned about.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from jieba import Tokenizer
        except ImportError:
            hint = "expected the library jieba: pip install 'hmm-crf-tagger[chinese]'"
            raise TaggerError(f"cannot split Chinese text: {hint}") from None
        found = Tokenizer()
        found.FREQ, found.total = found.gen_pfdict(found.get_dict_file())
    found.initialized = True
    return found
