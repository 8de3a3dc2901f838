"""The scorer: emission scores of new text from the weights of features, each distinct word scored once.

The features of one word make a row of K scores for that word at that offset; a token's emissions are the sum of one
such row per offset, plus the weights of its features of several words. Rows are computed when a word first appears, for
all new words of a block together, and kept in a cache. A template of several words that has few features (a pair of
shapes, say) gets a table of such rows too, as soon as a text has more tokens than the table rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.hash_index import Keys
from tagger.chain.candidate_lattice import Candidates
from tagger.chain.pack import Pack
from tagger.crf.few_tokens import FEW_TOKENS, FEW_WORDS, FewTokens
from tagger.features.encoder import Features, token_keys, word_keys
from tagger.features.parameter_index import ParameterIndex
from tagger.features.tag_parts import TagParts
from tagger.words.cache import WordCache
from tagger.words.windows import MARKS, Windows, laid_out

TABLE_CELLS = 1 << 18  # the largest table of a template of several words
STEP_CELLS = 1 << 22  # of the transitions of the tokens that are decoded together, if each step has its own
BEFORE, AFTER = range(MARKS)  # the rows of the marks in the cache


class FeatureScorer:
    """A function from sentences to their emissions (N, K), in the rows of a pack."""

    def __init__(self, features: Features, weights: np.ndarray, tag_parts: TagParts) -> None:
        self.features, self.weights, self.tag_parts, self.K = features, weights, tag_parts, tag_parts.K
        self.by_offset = {
            offset: [t for t in self.of_tokens(features) if features.templates[t].offset == offset]
            for offset in features.offsets
        }
        self.of_several_words = [t for t in self.of_tokens(features) if features.templates[t].offset is None]
        by_token = [features.templates[t] for t in (*self.of_several_words, *features.step_templates)]
        self.functions_of_several = {c.function for template in by_token for c in template.conjuncts}
        self.indexes: dict[int, Keys] = {}  # hash index of a template's keys, made when many keys are looked up
        self.few = FewTokens.of(features, weights, tag_parts, self.by_offset, self.of_several_words)
        self.cache = WordCache(self.score)
        self.tables: dict[int, np.ndarray] = {}  # for a template of several words: (features + 1, K), the last row zero

    def __call__(self, sentences: list[Sequence[str]], pack: Pack) -> np.ndarray:
        rows, lengths = self.cache.find(sentences), np.array([len(words) for words in sentences], np.int64)
        places, around = laid_out(rows, lengths, self.features.margin, (BEFORE, AFTER))
        windows = Windows((), places[pack.tokens], around)
        E = np.zeros((len(places), self.K), np.float32)
        for offset in self.by_offset:
            E += np.take(self.cache.arrays[f"scores {offset}"], windows.at(offset), axis=0)
        if self.of_several_words:
            self.add_several(E, windows, {name: self.cache.arrays[name] for name in self.functions_of_several})
        return E

    @staticmethod
    def of_tokens(features: Features) -> range:
        """Return the templates whose features have weights for tags, not for steps."""
        return range(len(features.templates) - len(features.step_templates))

    @property
    def steps(self) -> Callable[[list[Sequence[str]], Pack], np.ndarray] | None:
        """The function that scores steps, for models with features of steps."""
        return self.step_scores if self.features.step_templates else None

    def step_scores(self, sentences: list[Sequence[str]], pack: Pack) -> np.ndarray:
        """Add up the weights of the features of the step to each row but the first ones, (N - first, K, K)."""
        rows, cells = self.features.rows, self.K**2
        ids = [row[pack.tokens[pack.first :]] for row in self.step_features(sentences)]
        scores = np.zeros(cells * len(pack.before), np.float32)
        for feature in ids:
            there = np.flatnonzero(feature >= 0)
            params, widths = rows.entries(feature[there])
            pairs = rows.tags[params] - self.tag_parts.columns
            scores[np.repeat(there * cells, widths) + pairs] += self.weights[params]
        return scores.reshape(-1, self.K, self.K)

    def step_features(self, sentences: list[Sequence[str]]) -> list[np.ndarray]:
        """Find the features of the step to each token (N,), by template, -1 for none."""
        rows, lengths = self.cache.find(sentences), np.array([len(words) for words in sentences], np.int64)
        windows = Windows((), *laid_out(rows, lengths, self.features.margin, (BEFORE, AFTER)))
        values = {name: self.cache.arrays[name] for name in self.functions_of_several}
        templates, radix = self.features.templates, self.features.radix
        return [self.ids(t, token_keys(templates[t], values, windows, radix)) for t in self.features.step_templates]

    def node_scores(self, sentences: list[Sequence[str]], candidates: Candidates) -> np.ndarray:
        """Compute the scores of nodes (nodes,): of tokens with a choice, 0 elsewhere."""
        rows, lengths = self.cache.find(sentences), np.array([len(words) for words in sentences], np.int64)
        nodes = np.flatnonzero(candidates.widths[candidates.tokens] > 1)
        tokens, tags = candidates.tokens[nodes], candidates.tags[nodes]
        places, around = laid_out(rows, lengths, self.features.margin, (BEFORE, AFTER))
        windows = Windows((), places[tokens], around)
        out = np.zeros(len(candidates.tags))
        out[nodes] = self.one_word_scores(windows, tags) + self.several_word_scores(windows, tags)
        return out

    def several_word_scores(self, windows: Windows, tags: np.ndarray) -> np.ndarray:
        """Add up the weights of the features of several words at each node, (nodes,)."""
        values = {name: self.cache.arrays[name] for name in self.functions_of_several}
        if self.few and len(tags) <= FEW_TOKENS:
            all_tags = np.zeros((len(tags), self.K))
            self.few.add_several(all_tags, windows, values)
            return all_tags[np.arange(len(tags)), tags]
        keys = (
            token_keys(self.features.templates[t], values, windows, self.features.radix) for t in self.of_several_words
        )
        ids = [self.ids(t, key) for t, key in zip(self.of_several_words, keys, strict=True)]
        params, owners = self.parameters.find(ids, tags)
        return np.bincount(owners, weights=self.weights[params], minlength=len(tags))

    def one_word_scores(self, windows: Windows, tags: np.ndarray) -> np.ndarray:
        """Add up the weights of the features of one word at each node, (nodes,)."""
        scores = np.zeros(len(tags))
        for offset in self.by_offset:
            scores += self.cache.arrays[f"scores {offset}"][windows.at(offset), tags]
        return scores

    @cached_property
    def parameters(self) -> ParameterIndex:
        """The index of parameters by feature and tag."""
        return ParameterIndex(self.features, self.tag_parts)

    def add_several(self, E: np.ndarray, windows: Windows, values: dict[str, np.ndarray]) -> None:
        """Add the weights of the features of several words to the emissions (N, K)."""
        if self.few and len(E) <= FEW_TOKENS:
            self.few.add_several(E, windows, values)
            return
        features, flat = self.features, E.reshape(-1)
        for t in self.of_several_words:
            keys, size = token_keys(features.templates[t], values, windows, features.radix), len(features.keys[t])
            ids = self.ids(t, keys)
            if size * self.K > TABLE_CELLS or (size > len(E) and t not in self.tables):
                # No table: each feature adds its weights to the cells (token, tag). They have no weights of tag parts.
                there = np.flatnonzero(ids >= 0)
                params, widths = features.rows.entries(ids[there])
                flat[np.repeat(there * self.K, widths) + features.rows.tags[params]] += self.weights[params]
                continue
            if t not in self.tables:
                self.tables[t] = np.append(
                    self.sums([t], [features.keys[t]]), np.zeros((1, self.K), np.float32), axis=0
                )
            E += np.take(self.tables[t], np.where(ids < 0, size, ids - features.bases[t]), axis=0)

    def ids(self, t: int, keys: np.ndarray) -> np.ndarray:
        """Find the features with these keys of template t, -1 where there is none."""
        known = self.features.keys[t]
        if t not in self.indexes and len(known) > len(keys):  # few keys are not worth an index
            return self.features.ids(t, keys)
        index = self.indexes[t] = self.indexes.get(t) or Keys(known)
        place = index.find(keys)
        return np.where(place < 0, -1, self.features.bases[t] + place)

    def score(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """For the two marks, then the words, compute values of functions, and a row of scores (K,) for each offset."""
        features = self.features
        ids = np.empty((len(features.functions), MARKS + len(words)), np.int64)
        ids[:, :MARKS], ids[:, MARKS:] = features.radix - MARKS + np.arange(MARKS), features.value_ids(words)
        values = {conjunct.function: row for conjunct, row in zip(features.functions, ids, strict=True)}
        of_several = {name: values[name] for name in self.functions_of_several}
        if self.few and len(words) <= FEW_WORDS:
            return of_several | self.few.word_scores(ids)
        rows = {}
        for offset, templates in self.by_offset.items():
            keys = [word_keys(features.templates[t], values, features.radix) for t in templates]
            rows[f"scores {offset}"] = self.sums(templates, keys)
        return of_several | rows

    def sums(self, templates: list[int], keys: list[np.ndarray]) -> np.ndarray:
        """Add up the weights (rows, K) of the features with these keys (rows,) of each template."""
        rows = len(keys[0])
        ids = np.concatenate([self.ids(t, key) for t, key in zip(templates, keys, strict=True)])
        there = np.flatnonzero(ids >= 0)
        params, widths = self.features.rows.entries(ids[there])
        columns = self.tag_parts.columns
        cells = np.repeat(there % rows * columns, widths) + self.features.rows.tags[params]
        sums = np.bincount(cells, weights=self.weights[params], minlength=rows * columns)
        return self.tag_parts.spread(sums.reshape(rows, columns)).astype(np.float32)


def step_tokens(features: Features, K: int, tokens: int) -> int:
    """Return how many tokens to decode together, at most `tokens`: fewer if each step has transitions of its own."""
    return min(tokens, max(1, STEP_CELLS // K**2)) if features.step_templates else tokens
