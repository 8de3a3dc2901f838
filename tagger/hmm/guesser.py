"""Tags of unknown words from their spelling and word classes, learned from rare words.

Several *spelling models* look at a word: its suffix, its prefix, each with and without its case; its length; the whole
word in lower case. A spelling model describes the word at several levels, from general to specific (the last letter,
the last two, …). Each description keeps the tags of the words that share it, smoothed towards the description one level
up (successive abstraction, Brants 2000):

    P_k(tag) = (count_k(tag) + κ_k · P_{k-1}(tag)) / (count_k + κ_k),        P_0: the tags of rare words

Where word classes are given (`features.word_classes`), one more model describes the word by its class among few, then
among more, then by the last of these with its case. It is smoothed and pooled like the spelling models.

A log-linear opinion pool (Genest & Zidek 1986; `opinion_pool`) combines the distributions P_i of the spelling models:

    P(tag) ∝ P_0(tag)^{a_0} · Π_i (P_i(tag) / P_0(tag))^{a_i}

A rare word counts once, shared among its tags: new words arrive as types, not as tokens. Every κ maximises the
likelihood of the words counted at its level, each predicted from all others (leave one word out); the weights a
maximise the likelihood of the rarest words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.npz import MAX_COUNT, MIN_POSITIVE, Archive, Arrays, narrow
from tagger.arrays.ragged import RaggedRows, sums_to
from tagger.features.word_classes import WordClasses
from tagger.hmm.affixes import Letters, combine_keys
from tagger.hmm.opinion_pool import fit_weights, keep_likely_tags, pool
from tagger.hmm.single.spelling import FEW_WORDS, JointLevels, keys_of_few
from tagger.hmm.sparse_guess import OwnShares, SparseGuess, SparsePool
from tagger.hmm.spelling_levels import Level, SpellingKeys, key_arrays, learn_levels, restore_keys, split_levels
from tagger.normalization import MAX_WORD_LENGTH

PREFIX_LENGTH = 5
BLOCK_CELLS = 1 << 16  # words × tags guessed together
SPARSE_CELLS = 1 << 20  # the same where few of the tags are evaluated
DENSE_TAGS = 128  # up to this many, all tags are evaluated
NESTED_LEVELS = {"suffix and case": 2, "suffix": 0, "prefix and case": 0, "prefix": 0}  # the first level of affixes
GENERAL_LEVELS = {"suffix and case": 2, "length": 1}  # the number of general levels, for `sparse_guess`
FIT_CELLS = 1 << 18  # words × tags that the weights are fitted to, at most
FIT_WORDS = 1000  # words that the weights are fitted to, at most
FIT_TAGS = 256  # tags per word that the weights are fitted to; more if a word has more

WHOLE_WORD, WORD_CLASS = "whole word", "word class"


def spelling_keys(letters: Letters, suffix_length: int, classes: WordClasses | None = None) -> dict[str, SpellingKeys]:
    """Describe each word by each spelling model; the keys of a model are ordered from general to specific.

    The last model, word classes, is there only if these are given.
    """
    case = letters.case()
    suffixes, prefixes = letters.suffixes(suffix_length), letters.prefixes(PREFIX_LENGTH)
    keys = {
        "suffix and case": [case, letters.shape(), *combine_keys(suffixes, case)],
        "suffix": [*suffixes],
        "prefix and case": [*combine_keys(prefixes, case)],
        "prefix": [*prefixes],
        "length": [combine_keys(letters.length(), case)],
        WHOLE_WORD: [letters.number_pattern(), letters.lower_case()],
    }
    return keys if classes is None else keys | {WORD_CLASS: class_keys(letters.words, case, classes)}


def class_keys(words: Sequence[str], case: np.ndarray, classes: WordClasses) -> SpellingKeys:
    """Describe each word by its classes, from few to many, and by the last with its case (words,)."""
    rows = classes.find(words)
    keys = [(classes.numbers(size, rows) + 1).astype(np.uint64) for size in classes.sizes]  # NO_KEY without a class
    return [*keys, combine_keys(keys[-1], case)]


@dataclass
class Guesser:
    """The pooled spelling models."""

    prior: np.ndarray  # (K,) P_0
    spelling_models: list[list[Level]]  # the levels of each
    weights: np.ndarray  # (1 + models,) a
    classes: WordClasses | None = None

    @cached_property
    def joint_levels(self) -> JointLevels:
        """All levels in one table, for few words."""
        return JointLevels(self.spelling_models)

    @property
    def few_tags(self) -> bool:
        """True if it is faster to evaluate all tags than to choose the ones that matter."""
        return len(self.prior) <= DENSE_TAGS

    @property
    def suffix_length(self) -> int:
        """The longest suffix, in letters."""
        return len(self.spelling_models[1])

    @classmethod
    def learn(
        cls,
        letters: Letters,
        rare: np.ndarray,
        rows: RaggedRows,
        counts: np.ndarray,
        K: int,
        suffix_length: int,
        classes: WordClasses | None = None,
    ) -> tuple[Guesser, np.ndarray, np.ndarray]:
        """Learn from words, of which some are `rare` (a mask), their tags and counts.

        Also returns a sample of the rare words, and for each of their entries the probability guessed from all other
        words.
        """
        owners, tags = rows.owners, rows.tags
        total = np.bincount(owners, weights=counts, minlength=len(rare))
        share = counts / total[owners]
        by_tag = np.argsort(tags, kind="stable")  # entries
        of_rare = by_tag[rare[owners[by_tag]]]  # entries of rare words
        prior = np.bincount(tags[of_rare], weights=share[of_rare], minlength=K) + 1 / K
        prior /= prior.sum()
        keys = spelling_keys(letters, suffix_length, classes)
        models = []
        for name, of_model in keys.items():
            use = by_tag if name == WHOLE_WORD else of_rare  # frequent words are evidence for their capitalised forms
            models.append(learn_levels(of_model, owners[use], tags[use], share[use], prior))
        # The weights are fitted to the rarest words, which are most like unknown ones.
        rarest = rare & (total == total[rare].min())
        fitted = sample_words(rarest, K)
        sample = np.concatenate([fitted, sample_words(rare & ~rarest, K)])
        own_shares = tag_shares(rows, counts, sample).dense(len(sample), K)
        guesser = cls(prior, models, np.ones(1 + len(models)), classes)
        width = max(FIT_TAGS, int(rows.widths[sample].max()))
        scores, gold = guesser.likely_scores(take_words(keys.values(), sample), own_shares, width)
        guesser.weights = fit_weights(scores[: len(fitted)], gold[: len(fitted)])
        P, _ = pool(guesser.weights, scores)
        return guesser, sample, P[gold > 0]

    def keys(self, letters: Letters) -> dict[str, SpellingKeys]:
        """Describe each word by each spelling model."""
        return spelling_keys(letters, self.suffix_length, self.classes)

    def __call__(self, letters: Letters, own: OwnShares | None = None) -> np.ndarray:
        """Compute P(tag) (words, K); `own`, the words' own part of the counts, is left out."""
        own = own or OwnShares.none()
        if self.few_tags:
            return self.dense(letters, own)
        P = np.empty((len(letters), len(self.prior)))
        for block, guess in self.sparse(letters, own, 1):
            P[block] = guess.dense()
        return P

    def dense(self, letters: Letters, own: OwnShares) -> np.ndarray:
        """Compute P(tag) (words, K) from the scores of all models for all tags."""
        words, K = len(letters), len(self.prior)
        P, own_shares = np.empty((words, K)), own.dense(words, K)
        if not words:
            return P
        if words <= FEW_WORDS and self.joint_levels.fits:
            few_keys = keys_of_few(letters, self.suffix_length, PREFIX_LENGTH)
            if self.classes is not None:
                few_keys = np.concatenate([few_keys, class_keys(letters.words, few_keys[0], self.classes)])
            return pool(self.weights, self.joint_levels.expert_scores(self.prior, few_keys, own_shares))[0]
        keys = self.keys(letters).values()
        for block in self.blocks(words):
            P[block], _ = pool(self.weights, self.expert_scores(take_words(keys, block), own_shares[block]))
        return P

    def sparse(self, letters: Letters, own: OwnShares, width: int) -> Iterator[tuple[slice, SparseGuess]]:
        """Yield the guesses of blocks of words, with the `width` likeliest tags of each word among their rows."""
        keys = self.keys(letters)
        found = [self.find(i, of_model, NESTED_LEVELS.get(name)) for i, (name, of_model) in enumerate(keys.items())]
        for block in self.blocks(len(letters), SPARSE_CELLS):
            pool = SparsePool(self.prior, self.weights, own.block(block.start, block.stop), block.stop - block.start)
            for i, (name, levels) in enumerate(zip(keys, self.spelling_models, strict=True)):
                pool.add_model(i, levels, [index[block] for index in found[i]], GENERAL_LEVELS.get(name, 0))
            yield block, pool.evaluate(width)

    def find(self, model: int, keys: SpellingKeys, nested: int | None) -> list[np.ndarray]:
        """Find the descriptions (words,) of each level, -1 where there is none.

        From level `nested` on, descriptions are affixes: where one is unseen, all longer ones are.
        """
        found: list[np.ndarray] = []
        for k, (level, key) in enumerate(zip(self.spelling_models[model], keys, strict=True)):
            if nested is None or k <= nested:
                found.append(level.find(key))
                continue
            seen = np.flatnonzero(found[-1] >= 0)
            found.append(np.full(len(key), -1, np.int64))
            found[-1][seen] = level.find(key[seen])
        return found

    def blocks(self, words: int, cells: int = BLOCK_CELLS) -> list[slice]:
        """Cut words into blocks whose arrays stay in the processor's cache."""
        size = max(1, cells // len(self.prior))
        return [slice(i, min(i + size, words)) for i in range(0, words, size)]

    def expert_scores(self, keys: list[SpellingKeys], own_shares: np.ndarray | None) -> np.ndarray:
        """Compute the scores (words, 1 + models, K) of the pool: log P_0, and log P_i / P_0 of each spelling model."""
        words, log_prior = len(keys[0][0]), np.log(self.prior)
        scores = np.empty((words, 1 + len(keys), len(log_prior)))
        scores[:, 0] = log_prior
        P = np.empty((words, len(log_prior)))
        for i, (levels, of_model) in enumerate(zip(self.spelling_models, keys, strict=True), 1):
            P[:], scale = self.prior, np.ones(words)
            for level, key in zip(levels, of_model, strict=True):
                level.refine(P, scale, key, own_shares)
            np.add(np.log(P, out=P), np.log(scale)[:, None] - log_prior, out=scores[:, i])
        return scores

    def likely_scores(self, keys: list[SpellingKeys], gold: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Compute the scores of the `width` likeliest tags of each word, and cut `gold`, its own shares, to those."""
        if width >= len(self.prior):
            return self.expert_scores(keys, gold), gold
        blocks = ((take_words(keys, block), gold[block]) for block in self.blocks(len(gold)))
        narrow_blocks = [keep_likely_tags(self.expert_scores(*block), block[1], width) for block in blocks]
        scores, gold = map(np.concatenate, zip(*narrow_blocks, strict=True))
        return scores, gold

    def arrays(self) -> Arrays:
        levels = [level for levels in self.spelling_models for level in levels]
        widths = np.concatenate([level.rows.widths for level in levels])
        rows = RaggedRows(widths, np.concatenate([level.rows.tags for level in levels]))
        arrays = {
            "guesser.sizes": narrow(np.array([len(level.keys) for level in levels])),
            "guesser.levels": narrow(np.array([len(levels) for levels in self.spelling_models])),
            "guesser.counts": np.concatenate([level.counts for level in levels]),
            "guesser.kappas": np.array([level.kappa for level in levels]),
            "guesser.weights": self.weights,
            "guesser.prior": self.prior,
        }
        classes = {} if self.classes is None else self.classes.arrays()
        return key_arrays(levels) | arrays | rows.arrays("guesser") | classes

    @classmethod
    def restore(cls, archive: Archive, K: int) -> Guesser:
        sizes = archive.take("guesser.sizes", "u", None)
        keys = restore_keys(archive, sizes)
        rows = RaggedRows.restore(archive, "guesser", len(keys), K)
        counts = archive.take("guesser.counts", "f", len(rows.tags))
        kappas, prior = archive.take("guesser.kappas", "f", len(sizes)), archive.take("guesser.prior", "f", K)
        classes = WordClasses.restore(archive) if archive.has("classes.sizes") else None
        models = len(spelling_keys(Letters([]), 0, classes))
        levels = archive.take("guesser.levels", "u", models).astype(np.int64)
        weights = archive.take("guesser.weights", "f", 1 + models)
        suffix_length = int(levels[1])
        fits = (
            sums_to(levels, len(sizes))
            and suffix_length <= MAX_WORD_LENGTH
            and [*map(len, spelling_keys(Letters([]), suffix_length, classes).values())] == levels.tolist()
        )
        archive.check(fits, "expected levels of its guesser that match its suffix length")
        positive = within(counts, MIN_POSITIVE, MAX_COUNT) and within(prior, MIN_POSITIVE, 2)
        archive.check(positive, "expected positive finite counts in its guesser")
        sane = within(kappas, 1e-4, 1e4) and within(weights, -1000, 1000)
        archive.check(sane, "expected κ from 0.0001 to 10,000 and weights from -1,000 to 1,000 in its guesser")
        return cls(prior, split_levels(keys, sizes.astype(np.int64), rows, counts, kappas, levels), weights, classes)


def take_words(keys: Iterable[SpellingKeys], words: slice | np.ndarray) -> list[SpellingKeys]:
    """Select the keys of some words."""
    return [[key[words] for key in of_model] for of_model in keys]


def within(numbers: np.ndarray, low: float, high: float) -> bool:
    """Return True if all numbers lie between two bounds, whatever their floating-point type."""
    return not numbers.size or (low < float(numbers.min()) and float(numbers.max()) < high)


def sample_words(mask: np.ndarray, K: int) -> np.ndarray:
    """Choose evenly spaced words among those that are True, at most FIT_WORDS and FIT_CELLS."""
    words = np.flatnonzero(mask)
    most = max(1, min(FIT_WORDS, FIT_CELLS // K))
    return words if len(words) <= most else words[np.linspace(0, len(words) - 1, most).astype(np.int64)]


def tag_shares(rows: RaggedRows, counts: np.ndarray, words: np.ndarray) -> OwnShares:
    """Compute the share of each tag in a word's tokens; there is none where the word is -1, unknown."""
    entries, owners = rows.known_entries(words)
    total = np.bincount(owners, weights=counts[entries], minlength=len(words))
    return OwnShares(owners, rows.tags[entries], counts[entries] / total[owners])
