"""Corpus statistics, duplicate sentences, and tags that are probably annotation errors.

A tag is suspicious if it occurs only once, if the word is frequent and almost always has another tag (compare Dickinson
& Meurers 2003), or if a model trained on the rest of the corpus is confident of another tag. These are hints for a
second look: rare readings exist.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tagger.corpus.formats.tsv import find_header
from tagger.experiments.crossval import Fold
from tagger.sentence import Sentence

MIN_WORD_COUNT = 20  # of frequent words
MAX_TAG_SHARE = 0.02  # of a word's occurrences, for a tag that counts as rare
MIN_CONFIDENCE = 0.99  # of a model that disagrees


@dataclass(frozen=True)
class Place:
    """A tagged token and its position in the corpus."""

    sentence: int  # from 0
    token: int  # from 0
    word: str
    tag: str


@dataclass(frozen=True)
class Doubt(Place):
    """A suspicious tag, the tag expected instead, and the evidence."""

    expected: str
    why: str


@dataclass(frozen=True)
class CorpusSurvey:
    """Statistics of a corpus."""

    tokens: int
    sentences: int
    words: int
    ambiguous: int  # words with two or more tags
    tags: list[tuple[str, int]]  # most frequent first
    repeated: int  # sentences whose words occur in an earlier sentence
    disagreeing: list[list[int]]  # groups of sentences with the same words and different tags
    header: str | None  # a first line that looks like column names but is read as a word and its tag

    @property
    def in_disagreement(self) -> int:
        """Count the sentences whose words occur elsewhere with other tags."""
        return sum(map(len, self.disagreeing))


def survey(sentences: Sequence[Sentence]) -> CorpusSurvey:
    """Count tokens, sentences, words, tags and duplicates."""
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
        ambiguous=sum(len(word_tags) > 1 for word_tags in by_word.values()),
        tags=sorted(tags.items(), key=lambda item: (-item[1], item[0])),
        repeated=len(sentences) - len(groups),
        disagreeing=[group for group in groups.values() if len({tuple(sentences[i].tags or ()) for i in group}) > 1],
        header=find_header(sentences),
    )


def tokens_of(sentences: Sequence[Sentence]) -> Iterator[tuple[int, int, str, str]]:
    """Yield the fields of the `Place` of every token."""
    for i, sentence in enumerate(sentences):
        for t, (word, tag) in enumerate(zip(sentence.words, sentence.tags or (), strict=True)):
            yield i, t, word, tag


def only_once(sentences: Sequence[Sentence]) -> list[Place]:
    """List the tokens whose tag occurs nowhere else."""
    counts = Counter(tag for *_, tag in tokens_of(sentences))
    return [Place(*token) for token in tokens_of(sentences) if counts[token[-1]] == 1]


def unusual(sentences: Sequence[Sentence]) -> list[Doubt]:
    """List the rare tags of frequent words."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for _, _, word, tag in tokens_of(sentences):
        counts[word][tag] += 1
    doubts = []
    for i, t, word, tag in tokens_of(sentences):
        tags, total = counts[word], counts[word].total()
        usual, usual_count = tags.most_common(1)[0]
        if total >= MIN_WORD_COUNT and tags[tag] <= MAX_TAG_SHARE * total and tag != usual:
            why = f"{tags[tag]} of {total:,} times; {usual_count:,} times it is {usual}"
            doubts.append(Doubt(i, t, word, tag, usual, why))
    return doubts


def contradicted(sentences: Sequence[Sentence], folds: Iterable[Fold], at_least: float = MIN_CONFIDENCE) -> list[Doubt]:
    """List the tags that a model trained on the other folds disagrees with, at this confidence or above."""
    doubts = []
    for fold in folds:
        for i, guesses in zip(fold.members, fold.most_probable, strict=True):
            tokens = zip(sentences[i].words, sentences[i].tags or (), guesses, strict=True)
            for t, (word, tag, (guess, p)) in enumerate(tokens):
                if guess != tag and p >= at_least:
                    why = f"a model trained on the rest predicts {guess}: {p:.3f}"
                    doubts.append(Doubt(i, t, word, tag, guess, why))
    return sorted(doubts, key=lambda doubt: (doubt.sentence, doubt.token))


def disputed(sentences: Sequence[Sentence], group: Sequence[int]) -> list[int]:
    """List the tokens whose tags differ between sentences with the same words."""
    columns = zip(*(sentences[i].tags or () for i in group), strict=True)
    return [t for t, tags in enumerate(columns) if len(set(tags)) > 1]


def common(sentences: Sequence[Sentence], others: Sequence[Sentence]) -> int:
    """Count the sentences whose words are those of a sentence in `others`."""
    known = {tuple(sentence.words) for sentence in others}
    return sum(tuple(sentence.words) in known for sentence in sentences)
