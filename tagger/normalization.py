"""Unicode normalisation: `é` as one code point and as `e` with a combining accent is the same letter.

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


def normalized(words: Words, form: Form) -> Words:
    """Words in that form; the same object if nothing changes."""
    if form is None or is_normalized(form, "".join(words)):
        return words
    return [normalize(form, word) for word in words]


def normalized_sentences(sentences: Sequence[Words], form: Form) -> Sequence[Words]:
    """Sentences whose words are in that form; the same object if nothing changes."""
    if form is None or is_normalized(form, "".join(chain.from_iterable(sentences))):
        return sentences
    return [normalized(words, form) for words in sentences]


def normalized_keys(lexicon: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """A lexicon whose words are in NFC; words that become equal have the tags of all."""
    merged: dict[str, tuple[str, ...]] = {}
    for word, tags in zip(normalized(list(lexicon), NFC), lexicon.values(), strict=True):
        merged[word] = tuple(dict.fromkeys([*merged.get(word, ()), *tags]))
    return merged
