"""A tagged text as numbers, the form in which an HMM counts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import number_keys
from tagger.arrays.ragged import consecutive
from tagger.corpus.partial import OPEN, Choices, read_tags
from tagger.hmm.transitions import Steps
from tagger.sentence import Sentence
from tagger.words.lexicon import Lexicon
from tagger.words.overlap import fingerprints
from tagger.words.windows import Windows


@dataclass(frozen=True)
class TaggedText:
    """Sentences of N tokens with K tags."""

    tag_set: list[str]  # K, sorted
    tags: np.ndarray  # (N,) OPEN where a choice is left
    choices: Choices
    lengths: np.ndarray  # (sentences,)
    lexicon: Lexicon  # of the tokens whose tag is given
    strings: list[str]  # of the lexicon
    words: np.ndarray  # (N,) as the lexicon numbers them; -1 for words that are not in it
    seen: np.ndarray  # marks of the sentences (`words.overlap`)

    @classmethod
    def of(cls, sentences: Sequence[Sentence], partial: bool) -> TaggedText:
        """Number the words and tags of sentences, none of them empty; with `partial`, tags may leave a choice."""
        written = [sentence.words for sentence in sentences]
        windows, lengths = Windows.of(written, margin=0), np.array(list(map(len, written)))
        return cls.numbered(*read_tags(sentences, partial), windows, lengths)

    @classmethod
    def numbered(
        cls, tag_set: list[str], tags: np.ndarray, choices: Choices, windows: Windows, lengths: np.ndarray
    ) -> TaggedText:
        """Count the words and tags of sentences of these lengths, none of them empty, that are numbered already."""
        closed, ids = tags != OPEN, windows.at(0)
        seen = fingerprints(windows.encoded, ids, lengths)
        lexicon, places = Lexicon.with_places(windows.encoded, ids[closed], tags[closed], len(tag_set))
        strings = strings_by_place(windows.words, places)
        return cls(tag_set, tags, choices, lengths, lexicon, strings, places[ids], seen)

    def only(self, sentences: np.ndarray) -> TaggedText:
        """Return the text of some sentences, as `of` makes it; no tag may be open.

        Where this text has no strings, the part has none either.
        """
        begins = np.cumsum(self.lengths) - self.lengths
        tokens = consecutive(begins[sentences], self.lengths[sentences])
        occurring, tags = number_keys(self.tags[tokens], self.K)
        tag_set, lengths, written = [self.tag_set[k] for k in occurring], self.lengths[sentences], self.lexicon.words
        lexicon, places = Lexicon.with_places(written.encoded, self.words[tokens], tags, len(tag_set))
        seen = fingerprints(written.encoded, self.words[tokens], lengths)
        strings = strings_by_place(self.strings, places) if self.strings else []
        words, choices = places[self.words[tokens]], Choices.none(len(tag_set))
        return TaggedText(tag_set, tags, choices, lengths, lexicon, strings, words, seen)

    @property
    def K(self) -> int:
        return len(self.tag_set)

    @cached_property
    def steps(self) -> Steps:
        """The trigrams of tags, open ones included."""
        return Steps.of(self.tags, self.lengths, self.K)

    @property
    def is_first(self) -> np.ndarray:
        """Whether each token (N,) begins a sentence."""
        first = np.zeros(len(self.tags), bool)
        first[np.cumsum(self.lengths) - self.lengths] = True
        return first


def strings_by_place(strings: Sequence[str], places: np.ndarray) -> list[str]:
    """Sort strings by their places in a lexicon; those with the place -1 are left out."""
    kept = np.flatnonzero(places >= 0)
    return [strings[i] for i in kept[np.argsort(places[kept])].tolist()]
