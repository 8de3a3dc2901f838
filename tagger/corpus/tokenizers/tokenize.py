"""Split a text in memory into sentences: `tokenize`, by the rules of a language or at spaces and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tagger.corpus.tokenizers import TOKENIZERS
from tagger.escaping import quote
from tagger.sentence import Sentence, described

WORD = re.compile(r"[^ \t]+")  # in a line: other white space belongs to words (`corpus.formats.slash`)


def tokenize(text: str, language: str | None) -> list[Sentence]:
    """Split a text into sentences of words.

    Parameters
    ----------
    text : str
    language : {"english", "chinese"} or None
        The rules to split by. None: the text is split into words already; a line is a sentence, and spaces and tabs
        separate words.

    Returns
    -------
    list of Sentence
        The sentences that have words. `offsets` are the places of the words in the text.

    Raises
    ------
    ValueError
        If there are no rules for the language.
    TaggerError
        If the language needs a library that is not installed.

    Examples
    --------
    >>> from tagger import tokenize
    >>> [sentence.words for sentence in tokenize("She didn't. Why?", "english")]
    [('She', 'did', "n't", '.'), ('Why', '?')]
    >>> tokenize("She left .", None)[0].offsets
    ((0, 3), (4, 8), (9, 10))
    """
    if not isinstance(text, str):
        raise TypeError(f"text: expected a string, got {described(text)}.")
    if language is None:
        return list(split_lines(text))
    if language not in TOKENIZERS:
        raise ValueError(f"language: expected {', '.join(TOKENIZERS)} or None, got {quote(str(language))}.")
    from tagger.corpus.tokenizers.segmenter import LANGUAGES, cut_sentences

    return [sentence for sentence in cut_sentences([text], LANGUAGES[language]) if sentence]


def split_lines(text: str) -> Iterator[Sentence]:
    """Yield a sentence for each line that has words; only `\\n` and `\\r\\n` end lines."""
    begin = 0
    for line in text.split("\n"):
        places = [word.span() for word in WORD.finditer(text, begin, begin + len(line) - line.endswith("\r"))]
        if places:
            yield Sentence([text[start:end] for start, end in places], offsets=places)
        begin += len(line) + 1
