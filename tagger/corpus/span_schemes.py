"""Span schemes: tags such as `B-PER`, `I-PER` and `O` that mark spans of words, and which tag may follow which.

    bio     B-X I-X I-X …                                   (IOB2: Tjong Kim Sang & Veenstra 1999)
    iob1    I-X I-X …, and B-X I-X … where the span before it has the same type     (Ramshaw & Marcus 1995)
    bioes   B-X I-X … E-X, or S-X for a single word
    bmes    the same with M for I: usual for the words of Chinese, where tags mark characters and may have no type

`O` is outside of all spans, and so is the place before a sentence and after it: a first token follows `O`, and `O`
follows a last token. That makes one rule of all steps (`may_follow`).

Spans are read from tags in one of two ways. Read leniently, any sequence has spans, by the rules of conlleval (Tjong
Kim Sang & Buchholz 2000): `O I-X` begins a span. Read strictly, only what the scheme allows is a span.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from tagger.errors import TrainingError, several
from tagger.escaping import quote
from tagger.sentence import Sentence

SCHEMES = {"bio": "BI", "iob1": "BI", "bioes": "BIES", "bmes": "BMES"}  # and the letters of their tags
AUTO, NO_SCHEME = "auto", "none"
OUTSIDE = "O"
NO_TYPE = "_"  # of a span whose tags are letters only


class Span(NamedTuple):
    """A span of tokens: its type, its first token, and the one after its last."""

    type: str
    begin: int
    end: int


class Mark(NamedTuple):
    """A tag taken apart: one of the letters B, I, E, S, O, and the type of its span. M is read as I."""

    letter: str
    type: str

    @property
    def is_open(self) -> bool:
        """Whether a span may go on after it."""
        return self.letter in "BI"


NO_MARK = Mark(OUTSIDE, "")


@lru_cache(4096)
def mark_of(tag: str) -> Mark:
    """Take a tag apart; one that marks no span counts as `O`."""
    letter, dash, span_type = tag.partition("-")
    if len(letter) != 1 or letter not in "BIMES" or (dash and not span_type):
        return NO_MARK
    return Mark(letter.replace("M", "I"), span_type or NO_TYPE)


def find_spans(tags: Sequence[str], scheme: str | None = None) -> list[Span]:
    """Find the spans of a sentence.

    Parameters
    ----------
    tags : sequence of str
    scheme : str, optional
        Read strictly by this scheme: what it does not allow is no span. Without it any sequence is read, as conlleval
        does.

    Returns
    -------
    list of Span
        Triples of type, first token, and the token after the last.

    Examples
    --------
    >>> from tagger.corpus.span_schemes import find_spans
    >>> find_spans(["O", "B-PER", "I-PER", "I-LOC"])
    [Span(type='PER', begin=1, end=3), Span(type='LOC', begin=3, end=4)]
    >>> find_spans(["O", "B-PER", "I-PER", "I-LOC"], "bio")
    [Span(type='PER', begin=1, end=3)]
    """
    if scheme is not None and scheme not in SCHEMES:
        raise ValueError(f"scheme: expected {', '.join(SCHEMES)} or None, got {quote(str(scheme))}.")
    marks = list(map(mark_of, tags))
    return lenient_spans(marks) if scheme is None else strict_spans(marks, scheme)


def lenient_spans(marks: Sequence[Mark]) -> list[Span]:
    """Find the spans by the rules of conlleval."""
    spans, begin, before = [], 0, NO_MARK
    for i, mark in enumerate([*marks, NO_MARK]):
        goes_on = mark.letter in "IE" and before.is_open and before.type == mark.type
        if before.letter != OUTSIDE and not goes_on:
            spans.append(Span(before.type, begin, i))
        if not goes_on:
            begin = i
        before = mark
    return spans


def strict_spans(marks: Sequence[Mark], scheme: str) -> list[Span]:
    """Find what the scheme allows: a token that begins a span, all that continue it, and a token that may end it."""
    spans, i = [], 0
    padded = [*marks, NO_MARK, NO_MARK]  # the mark before the first is the last
    while i < len(marks):
        begin, i = i, i + 1
        if begins_span(scheme, padded[begin - 1], padded[begin]):
            while padded[i - 1].is_open and padded[i].letter in "IE" and padded[i].type == padded[begin].type:
                i += 1
            if ends_span(scheme, padded[i - 1], padded[i]):
                spans.append(Span(padded[begin].type, begin, i))
    return spans


def begins_span(scheme: str, before: Mark, mark: Mark) -> bool:
    """Return whether a token begins a span, read strictly."""
    if scheme != "iob1":
        return mark.letter in "BS"
    same = before.type == mark.type
    return (mark.letter == "B" and same) or (mark.letter == "I" and (before.letter != "I" or not same))


def ends_span(scheme: str, mark: Mark, after: Mark) -> bool:
    """Return whether a span may end with a token, read strictly, given the token after it."""
    if scheme == "iob1":  # a B of another type is not allowed, and leaves a span that is a single B in doubt
        return not (mark.letter == after.letter == "B" and mark.type != after.type)
    return scheme == "bio" or mark.letter in "ES"


def may_follow(scheme: str, before: str, tag: str) -> bool:
    """Return whether a tag may follow another; `O` also stands for the place before a sentence and after it."""
    a, b = mark_of(before), mark_of(tag)
    same = a.is_open and a.type == b.type
    if scheme == "bio":
        return b.letter != "I" or same
    if scheme == "iob1":
        return b.letter != "B" or same
    return same if b.letter in "IE" else not a.is_open


def allowed_steps(scheme: str | None, tags: Sequence[str]) -> np.ndarray | None:
    """Return which of K tags may follow which, (K + 1, K + 1) [previous, next]; None if there is no scheme.

    The last row is the place before a sentence, the last column the place after it.
    """
    if scheme is None:
        return None
    marked = [*tags, OUTSIDE]
    return np.array([[may_follow(scheme, before, tag) for tag in marked] for before in marked])


def stands_alone(scheme: str, tag: str) -> bool:
    """Return whether a tag may follow and precede `O` and itself: a sentence of such tags only is always allowed."""
    return all(may_follow(scheme, *step) for step in ((OUTSIDE, tag), (tag, tag), (tag, OUTSIDE)))


def fits(scheme: str, tags: Set[str]) -> bool:
    """Return whether all tags are tags of the scheme, some mark spans, and one may be the only tag of a sentence."""
    spans = {tag for tag in tags if tag != OUTSIDE}
    letters = {tag.partition("-")[0] for tag in spans}
    named = any("-" in tag for tag in spans) or "B" in spans
    return (
        named
        and all(mark_of(tag) is not NO_MARK for tag in spans)
        and letters <= set(SCHEMES[scheme])
        and any(stands_alone(scheme, tag) for tag in tags)
    )


def recognize_scheme(y: Iterable[Sequence[str]], tag_set: Set[str] | None = None) -> str | None:
    """Recognise the scheme of tagged sentences: one whose tags they have, and whose rules all of them obey.

    Parameters
    ----------
    y : iterable of tag lists
    tag_set : set of str, optional
        The tags of a partly tagged corpus; all others leave a choice, and any tag may follow them.

    Returns
    -------
    str or None
        ``bio``, ``iob1``, ``bioes`` or ``bmes``; None for tags that mark no spans, or break the rules.

    Examples
    --------
    >>> from tagger.corpus.span_schemes import recognize_scheme
    >>> recognize_scheme([["B-PER", "I-PER", "O"], ["O", "B-LOC"]])
    'bio'
    >>> recognize_scheme([["DT", "NN"]])
    """
    sentences = list(y)
    tags = set(chain.from_iterable(sentences)) if tag_set is None else tag_set
    fitting = (scheme for scheme in SCHEMES if fits(scheme, tags))
    return next((scheme for scheme in fitting if first_violation(scheme, sentences, tags) is None), None)


def first_violation(scheme: str, y: Iterable[Sequence[str]], tags: Set[str]) -> tuple[int, int] | None:
    """Find the first token whose tag may not follow the one before, or end a sentence, as (sentence, token)."""
    known = [*tags, OUTSIDE]
    forbidden = {(a, b) for a in known for b in known if not may_follow(scheme, a, b)}
    for number, sentence in enumerate(y):
        steps = list(zip([OUTSIDE, *sentence], [*sentence, OUTSIDE], strict=True))
        if not forbidden.isdisjoint(steps):
            return number, next(i for i, step in enumerate(steps) if step in forbidden)
    return None


def training_scheme(scheme: str, sentences: Sequence[Sentence], tag_set: Sequence[str]) -> str | None:
    """Return the scheme to train with: the given one, after a check of the corpus, or the one it is recognised to have.

    Parameters
    ----------
    scheme : str
        A scheme, ``auto`` or ``none``.
    sentences : sequence of Sentence
    tag_set : sequence of str
        The tags of the corpus without those that leave a choice.

    Raises
    ------
    TrainingError
        If the corpus breaks the rules of the given scheme, with the place of the first violation.
    """
    if scheme == NO_SCHEME:
        return None
    tags, y = set(tag_set), [sentence.tags or () for sentence in sentences]
    if scheme == AUTO:
        return recognize_scheme(y, tags)
    if scheme not in SCHEMES:
        raise TrainingError(f"scheme: expected {', '.join([AUTO, *SCHEMES, NO_SCHEME])}, got {quote(scheme)}")
    if not fits(scheme, tags):
        raise TrainingError(f"scheme {scheme}: {misfit(scheme, sentences, tags)}. Use scheme {NO_SCHEME}.")
    if (violation := first_violation(scheme, y, tags)) is not None:
        raise TrainingError(violation_message(scheme, sentences[violation[0]], *violation))
    return scheme


def place_of(sentence: Sentence, number: int, token: int) -> str:
    """Name a token by its line in a file or, without one, by its sentence; both count from 1."""
    return f"{f'sentence {number + 1:,}' if sentence.line is None else f'line {sentence.line:,}'}, token {token + 1:,}"


def misfit(scheme: str, sentences: Sequence[Sentence], tags: Set[str]) -> str:
    """Describe why a tag set is not one of the scheme."""
    wrong = {tag for tag in tags if tag != OUTSIDE and not fits_letter(scheme, tag)}
    for number, sentence in enumerate(sentences):
        for token, tag in enumerate(sentence.tags or ()):
            if tag in wrong:
                letters = ", ".join(f"{letter}-…" for letter in SCHEMES[scheme])
                return f"{place_of(sentence, number, token)}: expected {OUTSIDE}, {letters}, got {quote(tag)}"
    return f"expected tags of spans, and one for a single word or for none, got {several(len(tags), 'tag')} without"


def fits_letter(scheme: str, tag: str) -> bool:
    """Return whether a tag has one of the scheme's letters."""
    return mark_of(tag) is not NO_MARK and tag[0] in SCHEMES[scheme]


def violation_message(scheme: str, sentence: Sentence, number: int, token: int) -> str:
    """Describe the first step of a corpus that its scheme forbids; `token` may be the place after the last."""
    tags = sentence.tags or ()
    before = quote(tags[token - 1]) if token else "the start of a sentence"
    tag = quote(tags[token]) if token < len(tags) else "the end of the sentence"
    place = place_of(sentence, number, min(token, len(tags) - 1))
    return f"{place}: expected what may follow {before} in the scheme {scheme}, got {tag}. Correct it, or use another."
