"""Words as models see them: in one Unicode form, and without the middle of absurdly long ones.

`é` as one code point and as `e` with a combining accent is the same letter.

A model has a form, NFC unless it was trained by an older program. Its words are in that form, and so are the words that
it is asked about; output keeps the words as they came. Nearly all text is in NFC already, which one look at many words
together tells: a part of a normalised string is normalised, so a joined text that is normalised has only such words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, Literal
from unicodedata import is_normalized, normalize

from tagger.sentence import Words

Form = Literal["NFC"] | None  # None: words are compared as they are written

NFC: Final = "NFC"
FORMS = (NFC, None)
LONGEST_WORD = 200  # characters of a word that models see; the longest of the corpora measured has 160


def normalized(words: Words, form: Form) -> Words:
    """Words in that form, very long ones cut; the same object if nothing changes."""
    if form is not None and not is_normalized(form, "".join(words)):
        words = [normalize(form, word) for word in words]
    if max(map(len, words), default=0) > LONGEST_WORD:
        words = [both_ends(word, LONGEST_WORD) for word in words]
    return words


def normalized_sentences(sentences: Sequence[Words], form: Form) -> Sequence[Words]:
    """Sentences whose words are in that form, very long ones cut; the same object if nothing changes."""
    same = form is None or is_normalized(form, "".join(chain.from_iterable(sentences)))
    if same and max(map(len, chain.from_iterable(sentences)), default=0) <= LONGEST_WORD:
        return sentences
    return [normalized(words, form) for words in sentences]


def both_ends(word: str, most: int) -> str:
    """Cut a word of more than `most` characters to its first and its last half of so many."""
    half = most // 2
    return word if len(word) <= most else word[:half] + word[-half:]


def normalized_keys(lexicon: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """A lexicon whose words are in NFC; words that become equal have the tags of all."""
    merged: dict[str, tuple[str, ...]] = {}
    for word, tags in zip(normalized(list(lexicon), NFC), lexicon.values(), strict=True):
        merged[word] = tuple(dict.fromkeys([*merged.get(word, ()), *tags]))
    return merged
