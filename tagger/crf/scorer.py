"""The scorer: emission scores of new text from the weights of features, each distinct word scored once.

The features of one word make a row of K scores for that word at that offset; a token's emissions are the sum of one
such row per offset, plus the weights of its features of several words. Rows are computed when a word first appears, for
all new words of a block together, and kept in a cache. A template of several words that has few features (a pair of
shapes, say) gets a table of such rows too, as soon as a text has more tokens than the table rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tagger.arrays.caching import cached_property
from tagger.arrays.keyed import AscendingKeys
from tagger.chain.pack import Pack
from tagger.chain.scores import StepTransitions, block_rows
from tagger.crf.few_tokens import FEW_TOKENS, FEW_WORDS, FewTokens
from tagger.features.encoder import Features
from tagger.features.keys import token_keys, word_keys
from tagger.features.parameter_index import ParameterIndex
from tagger.features.tag_parts import TagParts
from tagger.features.template import functions_of, token_values
from tagger.features.token_values import TokenValues, Triples
from tagger.words.cache import WordCache
from tagger.words.windows import MARKS, Windows, laid_out

if TYPE_CHECKING:
    from tagger.chain.candidate_lattice import Candidates

TABLE_CELLS = 1 << 18  # the largest table of a template of several words
STEP_CELLS = 1 << 22  # of the transitions of the tokens that are decoded together, if each step has its own
VALUES_TOGETHER = 1 << 16  # features with values that are looked up together
BEFORE, AFTER = range(MARKS)  # the rows of the marks in the cache


class FeatureScorer:
    """A function from sentences to their emissions (N, K), in the rows of a pack."""

    def __init__(self, features: Features, weights: np.ndarray, tag_parts: TagParts) -> None:
        self.features, self.weights, self.tag_parts, self.K = features, weights, tag_parts, tag_parts.K
        self.by_offset = {
            offset: [t for t in self.of_tokens(features) if features.templates[t].offset == offset]
            for offset in features.offsets
        }
        several = [t for t in self.of_tokens(features) if features.templates[t].offset is None]
        self.of_several_words = [t for t in several if not features.templates[t].valued]
        by_token = [features.templates[t] for t in (*several, *features.step_templates)]
        self.functions_of_several = {c.function for template in by_token for c in functions_of([template])}
        self.keys = [AscendingKeys(keys) for keys in features.keys]  # of each template
        self.cells: dict[int, TemplateCells] = {}  # of a template of several words
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
        if (valued := token_values(self.features.templates, sentences)) is not None:
            self.add_valued(E, self.triples(windows, valued.at(pack.tokens)))
        return E

    def triples(self, windows: Windows, valued: TokenValues) -> Triples:
        """Find the features with values of tokens."""
        values = {name: self.cache.arrays[name] for name in self.functions_of_several}
        return self.features.triples(values | self.features.name_values(valued), windows, valued)

    def add_valued(self, E: np.ndarray, triples: Triples) -> None:
        """Add the weights of features, times their values, to the emissions (N, K)."""
        for begin in range(0, len(triples.ids), VALUES_TOGETHER):
            rows, ids, values = triples.only(slice(begin, begin + VALUES_TOGETHER))
            params, widths = self.features.rows.entries(ids)
            # Triples are ordered by row, so that a block touches few of them.
            first, last = int(rows[0]), int(rows[-1]) + 1
            cells = np.repeat((rows - first) * self.K, widths) + self.features.rows.tags[params]
            amounts = self.weights[params] * np.repeat(values, widths)
            E[first:last] += np.bincount(cells, amounts, minlength=(last - first) * self.K).reshape(-1, self.K)

    @staticmethod
    def of_tokens(features: Features) -> range:
        """Return the templates whose features have weights for tags, not for steps."""
        return range(len(features.templates) - len(features.step_templates))

    @property
    def steps(self) -> Callable[[list[Sequence[str]], Pack], StepTransitions] | None:
        """The function that scores steps, for models with features of steps."""
        return self.step_scores if self.features.step_templates else None

    def step_scores(self, sentences: list[Sequence[str]], pack: Pack) -> StepTransitions:
        """Find the features of the step to each row but the first ones; their weights are added up block by block."""
        features, cells = self.features.rows, self.K**2
        ids = [row[pack.tokens[pack.first :]] for row in self.step_features(sentences)]

        def make(rows: slice) -> np.ndarray:
            scores = np.zeros(cells * (rows.stop - rows.start), np.float32)
            for feature in ids:
                here = feature[rows]
                there = np.flatnonzero(here >= 0)
                params, widths = features.entries(here[there])
                pairs = features.tags[params] - self.tag_parts.columns
                scores[np.repeat(there * cells, widths) + pairs] += self.weights[params]
            return scores.reshape(-1, self.K, self.K)

        return StepTransitions(len(pack.before), block_rows(self.K), make)

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
        chosen = np.flatnonzero(candidates.widths > 1)  # tokens
        nodes = np.flatnonzero(candidates.widths[candidates.tokens] > 1)
        tags, owners = candidates.tags[nodes], np.repeat(np.arange(len(chosen)), candidates.widths[chosen])
        places, around = laid_out(rows, lengths, self.features.margin, (BEFORE, AFTER))
        windows = Windows((), places[chosen][owners], around)
        scores = self.one_word_scores(windows, tags)
        self.add_several_at(scores, Windows((), places[chosen], around), owners, tags)
        if (valued := token_values(self.features.templates, sentences)) is not None:
            triples = self.triples(windows, valued.at(chosen[owners]))  # their rows are nodes
            params, places = self.parameters.find([triples.ids], tags[triples.rows])
            amounts = self.weights[params] * triples.values[places]
            scores += np.bincount(triples.rows[places], weights=amounts, minlength=len(nodes))
        out = np.zeros(len(candidates.tags))
        out[nodes] = scores
        return out

    def add_several_at(self, scores: np.ndarray, windows: Windows, owners: np.ndarray, tags: np.ndarray) -> None:
        """Add the weights of the features of several words to the scores of nodes, of which `owners` are the tokens."""
        values = {name: self.cache.arrays[name] for name in self.functions_of_several}
        if self.few and self.of_several_words and len(windows.places) <= FEW_TOKENS:
            all_tags = np.zeros((len(windows.places), self.K))
            all_tags[owners, tags] = scores
            self.few.add_several(all_tags, windows, values)
            scores[:] = all_tags[owners, tags]
            return
        for t in self.of_several_words:
            ids = self.ids(t, token_keys(self.features.templates[t], values, windows, self.features.radix))
            if self.has_table(t, len(ids)):
                scores += self.table(t)[self.table_rows(t, ids)[owners], tags]
                continue
            feature = ids[owners]
            there = np.flatnonzero(feature >= 0)
            self.cells[t] = self.cells.get(t) or TemplateCells(self.features, t, self.tag_parts.columns)
            params = self.cells[t].find(feature[there], tags[there])
            found = np.flatnonzero(params >= 0)
            scores[there[found]] += self.weights[params[found]]

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
            ids = self.ids(t, token_keys(features.templates[t], values, windows, features.radix))
            if self.has_table(t, len(E)):
                E += np.take(self.table(t), self.table_rows(t, ids), axis=0)
                continue
            # Each feature adds its weights to the cells (token, tag). They have no weights of tag parts.
            there = np.flatnonzero(ids >= 0)
            params, widths = features.rows.entries(ids[there])
            flat[np.repeat(there * self.K, widths) + features.rows.tags[params]] += self.weights[params]

    def has_table(self, t: int, tokens: int) -> bool:
        """Return whether template t has a table, or is small enough to get one for this number of tokens."""
        size = len(self.features.keys[t])
        return t in self.tables or (size * self.K <= TABLE_CELLS and size <= tokens)

    def table(self, t: int) -> np.ndarray:
        """Return the scores (features + 1, K) of template t; the last row is for no feature."""
        if t not in self.tables:
            rows = self.sums([t], [self.features.keys[t]])
            self.tables[t] = np.append(rows, np.zeros((1, self.K), np.float32), axis=0)
        return self.tables[t]

    def table_rows(self, t: int, ids: np.ndarray) -> np.ndarray:
        """Return the row of each feature of template t, -1 for none, in its table."""
        return np.where(ids < 0, len(self.features.keys[t]), ids - self.features.bases[t])

    def ids(self, t: int, keys: np.ndarray) -> np.ndarray:
        """Find the features with these keys of template t, -1 where there is none."""
        place = self.keys[t].find(keys)
        return np.where(place < 0, -1, self.features.bases[t] + place)

    def score(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """For the two marks, then the words, compute values of functions, and a row of scores (K,) for each offset."""
        features = self.features
        ids = np.empty((len(features.functions), MARKS + len(words)), np.int64)
        ids[:, :MARKS], ids[:, MARKS:] = features.radix - MARKS + np.arange(MARKS), features.value_ids(words)
        values = {conjunct.function: row for conjunct, row in zip(features.functions, ids, strict=True)}
        of_several = {name: values[name] for name in self.functions_of_several}
        if not self.by_offset:
            return of_several or {"no function": np.zeros(len(words) + MARKS, bool)}
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


class TemplateCells:
    """The parameters of a template, found by feature and tag."""

    def __init__(self, features: Features, t: int, columns: int) -> None:
        first, end = features.bases[t : t + 2].tolist()
        bounds = features.rows.bounds[first : end + 1]
        self.first, self.columns = int(bounds[0]), columns  # the first parameter
        tags = features.rows.tags[bounds[0] : bounds[-1]]
        self.keys = AscendingKeys(np.repeat(np.arange(first, end, dtype=np.int64) * columns, np.diff(bounds)) + tags)

    def find(self, features: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """Return the parameter of each feature with a tag, -1 where there is none."""
        place = self.keys.find(features * self.columns + tags)
        return np.where(place < 0, -1, self.first + place)


def step_tokens(features: Features, K: int, tokens: int) -> int:
    """Return how many tokens to decode together, at most `tokens`: fewer if each step has transitions of its own."""
    return min(tokens, max(1, STEP_CELLS // K**2)) if features.step_templates else tokens
