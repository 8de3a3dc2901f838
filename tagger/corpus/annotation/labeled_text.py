"""From labelled texts to tagged sentences and back.

Words are those that the tool has stored, else the stretches between white space, cut where a label begins or ends. The
text and the other keys of the record go into the layout of the sentence: `("annotation", text, source)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from tagger.corpus.annotation import SPANS, TAGS
from tagger.corpus.span_schemes import NO_TYPE, OUTSIDE, find_spans, place_of, recognize_scheme
from tagger.errors import CorpusError, several
from tagger.escaping import quote
from tagger.sentence import ANY, NO_TAG, Sentence

LAYOUT = "annotation"
SPAN = "SPAN"  # the name of spans without a type
WORD = re.compile(r"\S+")


class Label(NamedTuple):
    """A label of the characters from `begin` up to `end`."""

    begin: int
    end: int
    name: str


@dataclass(frozen=True)
class LabeledText:
    """A text with labels, by one annotator."""

    text: str
    labels: tuple[Label, ...]
    source: str = "{}"  # JSON of the record's other keys
    words: tuple[tuple[int, int], ...] | None = None  # begin and end of each word, if the tool has stored them
    key: str = ""  # equal for the same text of several annotators; empty if there is one


def as_sentences(texts: Sequence[LabeledText], meaning: str | None, name: str) -> list[Sentence]:
    """Make tagged sentences; the texts of several annotators become one sentence."""
    groups = list(grouped(texts))
    words = [word_bounds(group) for group in groups]
    meaning = meaning or likely_meaning(groups, words)
    read = word_tags if meaning == TAGS else span_tags
    sentences = []
    for number, (group, bounds) in enumerate(zip(groups, words, strict=True), 1):
        votes = [read(text, bounds, f"{name}: text {number:,}") for text in group]
        tags = [first if all(tag == first for tag in others) else ANY for first, *others in zip(*votes, strict=True)]
        text = group[0]
        layout = (LAYOUT, text.text, text.source)
        sentences.append(Sentence([text.text[a:b] for a, b in bounds], tags, layout, offsets=bounds))
    return sentences


def grouped(texts: Sequence[LabeledText]) -> Iterator[list[LabeledText]]:
    """Yield the texts of each key together, in the order in which they begin."""
    groups: dict[object, list[LabeledText]] = {}
    for number, text in enumerate(texts):
        groups.setdefault((text.key, text.text) if text.key else number, []).append(text)
    yield from groups.values()


def word_bounds(group: Sequence[LabeledText]) -> list[tuple[int, int]]:
    """Return begin and end of each word: as stored, else between white space and the borders of labels."""
    if group[0].words is not None:
        return list(group[0].words)
    text = group[0].text
    borders = sorted({border for each in group for label in each.labels for border in label[:2]})
    bounds = []
    for match in WORD.finditer(text):
        cuts = [match.start(), *(border for border in borders if match.start() < border < match.end()), match.end()]
        bounds += list(pairwise(cuts))
    return bounds


def likely_meaning(groups: Sequence[Sequence[LabeledText]], words: Sequence[Sequence[tuple[int, int]]]) -> str:
    """Return what labels mean: tags if all are on single words, and most words of labelled texts have one."""
    labeled = total = 0
    for group, bounds in zip(groups, words, strict=True):
        single = set(bounds)
        for text in group:
            if any(label[:2] not in single for label in text.labels):
                return SPANS
            labeled, total = labeled + len(text.labels), total + (len(bounds) if text.labels else 0)
    return TAGS if 2 * labeled > total else SPANS


def word_tags(text: LabeledText, bounds: Sequence[tuple[int, int]], place: str) -> list[str]:
    """Return the label of each word, `?` for a word without one."""
    names = {label[:2]: label.name for label in text.labels}
    if several_names := [label for label in text.labels if names[label[:2]] != label.name]:
        label = several_names[0]
        got = f"{quote(label.name)} and {quote(names[label[:2]])} on {quote(text.text[label.begin : label.end])}"
        raise CorpusError(f"{place}: expected one label for each word, got {got}. Correct it in the tool.")
    if strange := [label for label in text.labels if label[:2] not in set(bounds)]:
        label = strange[0]
        got = f"{quote(label.name)} on {quote(text.text[label.begin : label.end])}"
        raise CorpusError(f"{place}: expected labels of single words, got {got}. Read the labels as spans.")
    return [names.get(word, ANY) for word in bounds]


def span_tags(text: LabeledText, bounds: Sequence[tuple[int, int]], place: str) -> list[str]:
    """Return BIO tags: of each label, B for its first word and I for the others."""
    tags = [OUTSIDE] * len(bounds)
    for label in sorted(text.labels):
        inside = [i for i, (begin, end) in enumerate(bounds) if begin < label.end and end > label.begin]
        if not inside or any(tags[i] != OUTSIDE for i in inside):
            problem = "labels that do not overlap" if inside else "labels of words"
            got = f"{quote(label.name)} on {quote(text.text[label.begin : label.end])}"
            raise CorpusError(f"{place}: expected {problem}, got {got}. Correct it in the tool.")
        for i in inside:
            tags[i] = f"{'B' if i == inside[0] else 'I'}-{label.name}"
    return tags


def labeled_texts(sentences: Sequence[Sentence]) -> list[LabeledText]:
    """Turn tagged sentences into labelled texts; tags of a span scheme become spans."""
    tags = [sentence.tags or () for sentence in sentences]
    scheme = recognize_scheme(tags, set(chain.from_iterable(tags)) - {ANY, NO_TAG})
    if scheme and (count := sum(each.count(ANY) for each in tags)):
        number = next(i for i, each in enumerate(tags) if ANY in each)
        place = place_of(sentences[number], number, tags[number].index(ANY))
        got = f"{several(count, 'word')} with the tag '{ANY}'"
        raise CorpusError(f"{place}: expected spans that are decided, got {got}. Correct or remove their sentences.")
    return [labeled_text(sentence, scheme is not None) for sentence in sentences]


def labeled_text(sentence: Sentence, spans: bool) -> LabeledText:
    """Turn one sentence into a text; without the text it was cut from, words are joined by spaces."""
    text, source = sentence.lines_of(LAYOUT) or (" ".join(sentence.words), "{}")
    bounds = sentence.offsets if sentence.lines_of(LAYOUT) and sentence.offsets else joined_bounds(sentence.words)
    labels: Iterable[Label]
    if spans:
        found = find_spans(sentence.tags or ())
        labels = (Label(bounds[s.begin][0], bounds[s.end - 1][1], SPAN if s.type == NO_TYPE else s.type) for s in found)
    else:
        tagged = zip(bounds, sentence.tags or (), strict=False)
        labels = (Label(begin, end, tag) for (begin, end), tag in tagged if tag not in (ANY, NO_TAG))
    return LabeledText(text, tuple(labels), source, tuple((begin, end) for begin, end in bounds))


def joined_bounds(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return begin and end of each word in the words joined by spaces."""
    bounds, begin = [], 0
    for word in words:
        bounds.append((begin, begin + len(word)))
        begin += len(word) + 1
    return bounds
