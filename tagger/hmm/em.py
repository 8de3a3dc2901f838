"""Learning from text whose tags are not, or not all, known: Baum–Welch, with the counted model as a prior.

Every round asks the present model how often each trigram of tags and each word with each tag is to be expected in the
text, and adds that to what was counted in tagged text (MAP-EM, Dempster, Laird & Rubin 1977):

    P'(w | u, v) ∝ n(u, v) · P(w | u, v) + ω · expected(u, v, w)        n: how often it was seen in tagged text
    P'(x | v)    ∝ n(v)    · P(x | v)    + ω · expected(x, v)

That maximises  ω · log p(text) + log of a Dirichlet prior  a little more in every round, never less.

Partly tagged text teaches all of that. Text without any tags is known to do harm where much is known already (Merialdo
1994), and measurements here agree: so it teaches no transitions and nothing about frequent words, which keep their
share of each tag, and it weighs no more than the tagged text (ω ≤ 1). What frequent words do to their neighbours always
stays as it was counted: those formulas are mixtures, and of each only the part that rests on the probabilities above is
put down to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagger.arrays.keyed import sum_by_key
from tagger.arrays.ragged import consecutive
from tagger.chain.candidate_kernels import CandidateSum
from tagger.chain.candidates import CandidateStep, Trellis
from tagger.chain.forward_backward import forward_backward
from tagger.chain.lattice import CandidateLattice
from tagger.chain.pack import Pack, batches
from tagger.hmm.emissions import EmissionModel, WordForm
from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.words.windows import Windows

EMCallback = Callable[[str, int, float], None]  # the text's name, the round, log p(text) + log prior
Candidates = Callable[[Sequence[WordForm]], dict[str, np.ndarray]]


@dataclass(frozen=True)
class EMText:
    """Sentences to learn from, what each token may be, and how much they weigh."""

    name: str
    sentences: list[Sequence[WordForm]]
    allowed: list[np.ndarray] | None = None  # for each sentence (T, K); None: anything, there are no tags
    weight: float = 1.0  # ω


@dataclass
class Expected:
    """What a model expects to find in a text."""

    trigrams: list[tuple[np.ndarray, np.ndarray]]  # keys and numbers, to be added up
    words: np.ndarray  # (V, K)
    score: float  # ω · log p(text)


class EMTrainer:
    """Goes through a text again and again. Candidates are those of the first model, so that rounds can be compared."""

    def __init__(
        self, text: EMText, neighbours: LexicalizedTransitions, words: EmissionModel, candidates: Candidates
    ) -> None:
        self.text, self.first, self.words = text, neighbours, words
        windows = Windows.of(text.sentences, 0)
        self.strings, self.ids = windows.words, windows.at(0)
        known = candidates(self.strings)
        self.numbers, self.candidates, self.places = known["words"], known["candidates"], known["places"]
        self.counted = np.exp(known["scores"])  # (V, K) P(x | v) as the first model has it
        self.apart = text.allowed is None  # frequent words are a group of their own, about which nothing is learned
        self.group = words.frequent(self.numbers) & self.apart  # (V,)
        lexicon = words.lexicon
        self.n = lexicon.tag_counts(neighbours.K)
        here = set(self.strings)
        strings = [word for word in lexicon.words.strings() if word not in here]
        scores, ids = words(strings)
        every = np.concatenate([self.counted, np.exp(scores)])
        self.mass = self.n * by_group(every, np.append(self.group, words.frequent(ids) & self.apart))
        # (2, K) the prior's pseudo-counts of all words, tagged and raw

    def learn(self, rounds: int, watch: EMCallback) -> tuple[LexicalizedTransitions, EmissionModel]:
        neighbours, factor, added, prior = self.first, np.ones_like(self.mass), np.zeros_like(self.counted), 0.0
        for iteration in range(rounds + 1):
            found = self.expect(neighbours, (self.counted + added) * factor[self.group.astype(int)])
            watch(self.text.name, iteration, found.score + prior)
            if iteration == rounds:
                break
            if self.apart:
                found.words[self.group] = 0.0
            else:
                keys, numbers = add_up(found.trigrams, (neighbours.K + 1) ** 3)
                neighbours = replace(self.first, transitions=self.first.transitions.learn(keys, numbers))
            more = by_group(found.words, self.group)
            factor = np.divide(self.mass, self.mass + more, out=np.ones_like(more), where=self.mass > 0)
            added = found.words / self.n
            prior = (
                self.trigram_prior(neighbours) - self.trigram_prior(self.first) + self.word_prior(found.words, factor)
            )
        return neighbours, self.words.learn_raw(self.strings, added, factor if self.apart else factor[[0, 0]])

    def expect(self, neighbours: LexicalizedTransitions, P: np.ndarray) -> Expected:
        """What these probabilities, with P (V, K) for words, expect of the text."""
        with np.errstate(divide="ignore"):
            scores = np.log(P)
        found = Expected([], np.zeros_like(P), 0.0)
        lengths = np.array([len(words) for words in self.text.sentences], np.int64)
        begins = np.cumsum(lengths) - lengths
        for group in batches(lengths):
            pack = Pack.of(lengths[group])
            tokens = consecutive(begins[group], lengths[group])
            lines = self.ids[tokens[pack.tokens]]
            lattice = CandidateLattice(pack, neighbours, lines, self.numbers, scores, self.candidates, self.places)
            if self.text.allowed is not None:
                lattice = lattice.restrict(np.concatenate([self.text.allowed[i] for i in group.tolist()]))
            observe(lattice.trellis, lines, self.text.weight, neighbours, found)
        return found

    def trigram_prior(self, now: LexicalizedTransitions) -> float:
        """Σ n(u, v) · P(w | u, v) · log P'(w | u, v), up to a constant.

        Where only A speaks, P' = rest · A; all w together have Σ P · log rest, and the entries what they differ by.
        """
        first, new = self.first.transitions, now.transitions
        n, rest = first.totals + 1, new.rest
        pairs, w = new.pairs, new.keys % (new.K + 1)
        base = rest[pairs] * new.A[pairs % (new.K + 1), w]
        P = first.probabilities(pairs, w)
        return float((n[pairs] * P * np.log1p(new.seen / base)).sum() + (n * np.log(rest)).sum())

    def word_prior(self, expected: np.ndarray, factor: np.ndarray) -> float:
        """Σ n(v) · P(x | v) · log P'(x | v), less what it was at first."""
        pseudo = self.n * self.counted
        gain = pseudo * np.log1p(np.divide(expected, pseudo, out=np.zeros_like(pseudo), where=pseudo > 0))
        return float(gain.sum() + (self.mass * np.log(factor)).sum())


def by_group(numbers: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(2, K) the sum of the rows that are False in `group`, and of those that are True."""
    return np.stack([numbers[~group].sum(axis=0), numbers[group].sum(axis=0)])


def observe(
    trellis: Trellis, lines: np.ndarray, weight: float, neighbours: LexicalizedTransitions, found: Expected
) -> None:
    """Add what is expected of some sentences."""
    K, width = neighbours.K, neighbours.K + 1
    keys, numbers = [], []

    def put(pairs: np.ndarray, w: np.ndarray, places: np.ndarray, scores: np.ndarray, P: np.ndarray) -> None:
        """Triples (u, v, w), and which share of each probability is P(w | u, v)'s."""
        own = neighbours.after_rest[np.maximum(places, -1)] * neighbours.transitions.probabilities(pairs, w)
        keys.append(pairs * width + w)
        numbers.append(weight * P * own / np.exp(scores))

    def see(step: CandidateStep, P: np.ndarray) -> None:
        w = np.repeat(trellis.tags[trellis.here[step.pairs]], step.widths)
        put(trellis.keys[step.before], w, trellis.places[trellis.here[step.before]], step.scores, P)

    posterior = forward_backward(CandidateSum(trellis), see)
    ends, first = trellis.ends[0], len(trellis.starting)
    P, places = posterior.states, trellis.places[trellis.here]  # (pairs,)
    put(trellis.keys[ends], np.full(len(ends), K), places[ends], trellis.ending, P[ends])
    keys.append(np.full(first, (K * width + K) * width) + trellis.tags[:first])
    numbers.append(weight * P[:first])
    found.trigrams.append(add_up(list(zip(keys, numbers, strict=True)), width**3))

    emissions = trellis.emissions[trellis.here]
    own = np.where(places >= 0, neighbours.before_rest[trellis.keys] * np.exp(emissions - trellis.arrivals), 1.0)
    node = trellis.here
    cells = lines[trellis.rows[node]] * K + trellis.tags[node]
    share = np.where(P > 0, own, 0.0) * P
    found.words += weight * np.bincount(cells, weights=share, minlength=found.words.size).reshape(found.words.shape)
    found.score += weight * float(posterior.log_z.sum())


def add_up(parts: list[tuple[np.ndarray, np.ndarray]], cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys, ascending, and the sum of the numbers of each."""
    keys, numbers = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    there = numbers > 0
    return sum_by_key(keys[there], numbers[there], cells)[:2]
