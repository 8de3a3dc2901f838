"""Unicode normalization of words, and the length limit on words.

`é` may be one code point, or `e` with a combining accent. A model has one normalization form: NFC, or none if an older
version trained it. Words are normalized in training and in tagging; output keeps the original words.

Nearly all text is in NFC already. One check of the joined words suffices: every substring of a normalized string is
normalized.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, Literal
from unicodedata import is_normalized, normalize

from tagger.sentence import Words

NormalizationForm = Literal["NFC"] | None  # None: words are compared code point by code point

NFC: Final = "NFC"
NORMALIZATION_FORMS = (NFC, None)
MAX_WORD_LENGTH = 200  # characters; longer words lose their middle. The longest of the corpora measured has 160


def normalized(words: Words, form: NormalizationForm) -> Words:
    """Normalize words and cut those over `MAX_WORD_LENGTH`; return the argument itself if nothing changes."""
    if form is not None and not is_normalized(form, "".join(words)):
        words = [normalize(form, word) for word in words]
    if max(map(len, words), default=0) > MAX_WORD_LENGTH:
        words = [both_ends(word, MAX_WORD_LENGTH) for word in words]
    return words


def normalized_sentences(sentences: Sequence[Words], form: NormalizationForm) -> Sequence[Words]:
    """Normalize the words of sentences as `normalized` does; return the argument itself if nothing changes."""
    distinct = dict.fromkeys(chain.from_iterable(sentences))  # a tenth of the words of a corpus
    in_form = form is None or is_normalized(form, "".join(distinct))
    if in_form and max(map(len, distinct), default=0) <= MAX_WORD_LENGTH:
        return sentences
    return [normalized(words, form) for words in sentences]


def both_ends(word: str, limit: int) -> str:
    """Cut a word of more than `limit` characters to the first and the last `limit // 2`."""
    half = limit // 2
    return word if len(word) <= limit else word[:half] + word[-half:]


def normalized_keys(lexicon: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Normalize the words of a lexicon to NFC; words that become equal share their tags."""
    merged: dict[str, tuple[str, ...]] = {}
    for word, tags in zip(normalized(list(lexicon), NFC), lexicon.values(), strict=True):
        merged[word] = tuple(dict.fromkeys([*merged.get(word, ()), *tags]))
    return merged
