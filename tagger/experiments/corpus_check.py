"""What an annotator wants to know of a corpus: what is in it, what is in it twice, and which tags look like slips.

A tag looks like a slip if it occurs nowhere else, if the word is frequent and nearly always has another one, or if a
model that has not seen the sentence is sure of another one. These are hints for a second look, not verdicts: rare
readings are real, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tagger.corpus.tsv import find_header
from tagger.experiments.crossval import Fold
from tagger.sentence import Sentence

FREQUENT = 20  # times a word must occur
RARE = 0.02  # of them at most have the tag that looks like a slip
SURE = 0.99  # a model that is at least so sure is worth a second look


@dataclass(frozen=True)
class Place:
    """Where a word has a tag."""

    sentence: int  # from 0
    token: int  # from 0
    word: str
    tag: str


@dataclass(frozen=True)
class Doubt(Place):
    """A tag that looks like a slip, and what is expected there."""

    expected: str
    why: str


@dataclass(frozen=True)
class CorpusSurvey:
    tokens: int
    sentences: int
    words: int
    ambiguous: int  # words with two or more tags
    tags: list[tuple[str, int]]  # most frequent first
    repeated: int  # sentences whose words were there before
    disagreeing: list[list[int]]  # groups of sentences with the same words and different tags
    header: str | None  # what looks like the names of columns, and is read as a word and its tag

    @property
    def in_disagreement(self) -> int:
        """Sentences."""
        return sum(map(len, self.disagreeing))


def survey(sentences: Sequence[Sentence]) -> CorpusSurvey:
    """What can be counted."""
    tags: Counter[str] = Counter()
    by_word: dict[str, set[str]] = defaultdict(set)
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, sentence in enumerate(sentences):
        groups[tuple(sentence.words)].append(i)
        tags.update(sentence.tags or ())
        for word, tag in zip(sentence.words, sentence.tags or (), strict=True):
            by_word[word].add(tag)
    return CorpusSurvey(
        tokens=sum(map(len, sentences)),
        sentences=len(sentences),
        words=len(by_word),
        ambiguous=sum(len(own) > 1 for own in by_word.values()),
        tags=sorted(tags.items(), key=lambda item: (-item[1], item[0])),
        repeated=len(sentences) - len(groups),
        disagreeing=[own for own in groups.values() if len({tuple(sentences[i].tags or ()) for i in own}) > 1],
        header=find_header(sentences),
    )


def only_once(sentences: Sequence[Sentence]) -> list[Place]:
    """Where the tags stand that occur once."""
    often = Counter(tag for sentence in sentences for tag in sentence.tags or ())
    return [
        Place(i, t, word, tag)
        for i, sentence in enumerate(sentences)
        for t, (word, tag) in enumerate(zip(sentence.words, sentence.tags or (), strict=True))
        if often[tag] == 1
    ]


def unusual(sentences: Sequence[Sentence]) -> list[Doubt]:
    """Rare tags of frequent words."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for word, tag in zip(sentence.words, sentence.tags or (), strict=True):
            counts[word][tag] += 1
    out = []
    for i, sentence in enumerate(sentences):
        for t, (word, tag) in enumerate(zip(sentence.words, sentence.tags or (), strict=True)):
            own = counts[word]
            usual, often = own.most_common(1)[0]
            if own.total() >= FREQUENT and own[tag] <= RARE * own.total() and tag != usual:
                why = f"{own[tag]} of {own.total():,} times; {often:,} times it is {usual}"
                out.append(Doubt(i, t, word, tag, usual, why))
    return out


def contradicted(sentences: Sequence[Sentence], folds: Iterable[Fold], at_least: float = SURE) -> list[Doubt]:
    """Tags of which a model that has not seen them is sure that they should be others."""
    out = []
    for fold in folds:
        for i, sure in zip(fold.members, fold.sure, strict=True):
            sentence = sentences[i]
            for t, (word, tag, (guess, p)) in enumerate(zip(sentence.words, sentence.tags or (), sure, strict=True)):
                if guess != tag and p >= at_least:
                    out.append(Doubt(i, t, word, tag, guess, f"a model that has not seen it says {guess}: {p:.3f}"))
    return sorted(out, key=lambda doubt: (doubt.sentence, doubt.token))


def disputed(sentences: Sequence[Sentence], group: Sequence[int]) -> list[int]:
    """The tokens whose tags differ in sentences with the same words."""
    columns = zip(*(sentences[i].tags or () for i in group), strict=True)
    return [t for t, tags in enumerate(columns) if len(set(tags)) > 1]


def common(sentences: Sequence[Sentence], others: Sequence[Sentence]) -> int:
    """How many of the sentences have the words of one of the others."""
    theirs = {tuple(sentence.words) for sentence in others}
    return sum(tuple(sentence.words) in theirs for sentence in sentences)
