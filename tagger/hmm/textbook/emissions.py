"""P(word | tag) of a textbook HMM: relative frequencies for known words, a floor or suffixes for unknown ones.

    B[t, x] = (count(x, t) + k) / (count(t) + k · V)        V distinct words; k is 0 without add-k smoothing

An unknown word gets the floor for every tag, or P(t | suffix) · P(x) / P(t) by Bayes' rule, where P(x) = 1 / N: it
counts as seen once. Either half can also be that of the default HMM (`hmm.emissions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.npz import MIN_POSITIVE, Archive, Arrays
from tagger.features.word_classes import WordClasses
from tagger.hmm.emissions import EmissionModel, likeliest
from tagger.hmm.textbook.settings import DEFAULT, SUFFIX, TextbookSettings
from tagger.hmm.textbook.suffixes import SuffixModel
from tagger.hmm.word_tags import WordForm, WordTagTable, split_forms
from tagger.sentence import Words
from tagger.words.lexicon import Lexicon

if TYPE_CHECKING:
    from tagger.hmm.counting.counts import HMMCounts


@dataclass(frozen=True)
class TextbookEmissions:
    """P(x | t) of any word form x and K tags; offers what `EmissionModel` offers to scorers."""

    lexicon: Lexicon
    prior: np.ndarray  # (K,) P(t)
    B: np.ndarray  # (entries of the lexicon,) P(x | t) of the pairs that were seen
    missing: np.ndarray | None  # (K,) P(x | t) of known words with other tags; None: known words are `base`'s
    suffixes: SuffixModel | None
    base: EmissionModel | None  # the default HMM's, for known or unknown words
    guesses: bool  # unknown words are `base`'s
    floor: float

    @classmethod
    def learn(
        cls,
        lexicon: Lexicon,
        words: Sequence[str],
        prior: np.ndarray,
        settings: TextbookSettings,
        learn_base: Callable[[], EmissionModel],
    ) -> TextbookEmissions:
        """Count the words of a lexicon; `words` are its strings, `learn_base` makes the default HMM's emissions."""
        base = learn_base() if settings.needs_base else None
        if settings.smoothing == DEFAULT:
            assert base is not None
            B, missing = base.B, None
        else:
            k, of_tag = settings.k, lexicon.tag_counts(len(prior)) + settings.k * len(words)
            B, missing = (lexicon.counts + k) / of_tag[lexicon.rows.tags], k / of_tag
        suffixes = None
        if settings.unknown == SUFFIX:
            suffixes = SuffixModel.learn(lexicon, words, prior, settings.rare_count, settings.suffix_length)
        return cls(lexicon, prior, B, missing, suffixes, base, settings.unknown == DEFAULT, settings.floor)

    @property
    def word_classes(self) -> WordClasses | None:
        """The word classes that the guesser looks at, if there are any."""
        return self.base.word_classes if self.base else None

    def forms(self, sentences: list[Words]) -> list[Sequence[WordForm]]:
        """Return the sentences; those for the guesser of the default HMM mark capitalised unknown first words."""
        return self.base.forms(sentences) if self.base else [*sentences]

    def __call__(self, forms: Sequence[WordForm]) -> tuple[np.ndarray, np.ndarray]:
        """Compute log P(x | t), (words, K), and the words' places in the lexicon."""
        words, _ = split_forms(forms)
        ids = self.lexicon.words.find(words)
        P = np.exp(self.base(forms)[0]) if self.base else np.zeros((len(words), len(self.prior)))
        if self.missing is not None:
            P[ids >= 0] = self.missing
            entries, owners = self.lexicon.rows.known_entries(ids)
            P[owners, self.lexicon.rows.tags[entries]] = self.B[entries]
        unknown = np.flatnonzero(ids < 0)
        if self.suffixes:
            guess = self.suffixes([words[i] for i in unknown.tolist()])
            P[unknown] = guess / (self.lexicon.counts.sum() * self.prior)
        elif not self.guesses:
            P[unknown] = 0.0
        return np.log(np.where(P > 0, P, self.floor)), ids

    def likely_tags(
        self, forms: Sequence[WordForm], width: int, ratio: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the likeliest tags of words, as `EmissionModel.likely_tags` does."""
        scores, ids = self(forms)
        return *likeliest(scores, scores + np.log(self.prior), width, ratio), ids

    def arrays(self) -> Arrays:
        own = {"prior": self.prior, "B": self.B} | ({} if self.missing is None else {"missing": self.missing})
        rest = self.base.arrays() if self.base else self.lexicon.arrays()
        return rest | own | (self.suffixes.arrays() if self.suffixes else {})

    @classmethod
    def restore(cls, archive: Archive, K: int, settings: TextbookSettings) -> TextbookEmissions:
        base = EmissionModel.restore(archive, K, settings.rare_count) if settings.needs_base else None
        lexicon = base.lexicon if base else Lexicon.restore(archive, K)
        prior = base.prior if base else archive.take("prior", "f", K)
        B = base.B if base else archive.take("B", "f", len(lexicon.counts))
        missing = None if settings.smoothing == DEFAULT else archive.take("missing", "f", K)
        fits = prior.min() > MIN_POSITIVE and B.min(initial=1) > 0 and (missing is None or missing.min() >= 0)
        archive.check(bool(fits), "expected positive probabilities of its words")
        suffixes = None
        if settings.unknown == SUFFIX:
            suffixes = SuffixModel.restore(archive, prior, settings.suffix_length)
        return cls(lexicon, prior, B, missing, suffixes, base, settings.unknown == DEFAULT, settings.floor)


def learn_emissions(
    settings: TextbookSettings,
    counts: HMMCounts,
    strings: list[str],
    allowed: WordTagTable,
    classes: WordClasses | None,
) -> EmissionModel | TextbookEmissions:
    """Learn P(word | tag), as the settings say, from the counts of a text and the strings of its lexicon.

    `allowed` are the tags of a user's lexicon.
    """
    lexicon = counts.lexicon
    prior = lexicon.tag_counts(counts.K) / lexicon.counts.sum()

    def learn_default() -> EmissionModel:
        options = (settings.rare_count, settings.suffix_length, allowed, classes)
        return EmissionModel.learn(lexicon, strings, counts.inside, prior, *options)

    if settings.is_default:
        return learn_default()
    return TextbookEmissions.learn(lexicon, strings, prior, settings, learn_default)
