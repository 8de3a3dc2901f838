"""Baum–Welch: learning from partly tagged text, with the counted model as a prior.

Every iteration computes the expected counts of tag trigrams and of words with tags under the present model, and adds
them to the counts of tagged text (MAP-EM, Dempster, Laird & Rubin 1977):

    P'(w | u, v) ∝ n(u, v) · P(w | u, v) + expected(u, v, w)        n: the counts in tagged text
    P'(x | v)    ∝ n(v)    · P(x | v)    + expected(x, v)

The objective  log p(text) + log of a Dirichlet prior  never falls.

The lexicalised counts of frequent words never change. Their formulas are mixtures with P(w | u, v) and P(x | v), and of
each expected count only the share of these terms is added. Untagged text teaches word classes instead: EM on it brings
less, and does harm where much is tagged (Merialdo 1994; docs/lab-notes/raw-text.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tagger.arrays.keyed import sum_by_key
from tagger.arrays.ragged import consecutive
from tagger.chain.candidate_kernels import Step, candidate_sum
from tagger.chain.candidate_lattice import CandidateLattice
from tagger.chain.forward_backward import forward_backward
from tagger.chain.pack import batches
from tagger.corpus.partial import Choices
from tagger.hmm.emissions import EmissionModel
from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.hmm.scorer import PathScores, candidate_lattice, candidates
from tagger.hmm.word_tags import WordForm
from tagger.sentence import Sentence
from tagger.words.windows import Windows

EMCallback = Callable[[str, int, float], None]  # the text's name, the iteration, log p(text) + log prior


@dataclass(frozen=True)
class EMText:
    """Sentences to learn from, and the tags allowed at each token."""

    name: str
    sentences: list[Sequence[WordForm]]
    allowed: list[np.ndarray]  # for each sentence (T, K)


@dataclass
class ExpectedCounts:
    """The expected counts of a text under a model."""

    trigrams: list[tuple[np.ndarray, np.ndarray]]  # keys and counts, to be summed by key
    words: np.ndarray  # (V, K)
    score: float  # log p(text)


class EMTrainer:
    """EM on one text. All iterations use the candidate tags of the first model, so their objectives compare."""

    def __init__(self, text: EMText, transitions: LexicalizedTransitions, emissions: EmissionModel) -> None:
        self.text, self.transitions, self.emissions = text, transitions, emissions
        windows = Windows.of(text.sentences, 0)
        self.forms, self.ids = windows.words, windows.at(0)
        scored = candidates(emissions, transitions)(self.forms)
        self.numbers, self.candidates, self.places = scored["words"], scored["candidates"], scored["places"]
        self.counted = np.exp(emissions(self.forms)[0])  # (V, K) P(x | v) of the first model
        lexicon = emissions.lexicon
        self.n = lexicon.tag_counts(transitions.K)
        # (K,) the prior's pseudo-counts of all words, in the text or not
        in_text = set(self.forms)
        scores, _ = emissions([word for word in lexicon.words.strings() if word not in in_text])
        self.mass = self.n * (self.counted.sum(axis=0) + np.exp(scores).sum(axis=0))

    def learn(self, iterations: int, watch: EMCallback) -> tuple[LexicalizedTransitions, EmissionModel]:
        """Run EM and return the new transitions and emissions."""
        transitions, factor, added, prior = self.transitions, np.ones_like(self.mass), np.zeros_like(self.counted), 0.0
        for iteration in range(iterations + 1):
            expected = self.expect(transitions, (self.counted + added) * factor)
            watch(self.text.name, iteration, expected.score + prior)
            if iteration == iterations:
                break
            keys, counts = sum_counts(expected.trigrams, (transitions.K + 1) ** 3)
            new = self.transitions.transitions.add_expected(keys, counts)
            transitions = replace(self.transitions, transitions=new)
            # P'(x | v) = factor · (P(x | v) + added): the factor makes room for the added counts
            more = expected.words.sum(axis=0)
            factor = np.divide(self.mass, self.mass + more, out=np.ones_like(more), where=self.mass > 0)
            added = expected.words / self.n
            gain = self.trigram_prior(transitions) - self.trigram_prior(self.transitions)
            prior = gain + self.word_prior(expected.words, factor)
        return transitions, self.emissions.add_expected(self.forms, added, factor)

    def expect(self, transitions: LexicalizedTransitions, P: np.ndarray) -> ExpectedCounts:
        """Compute the expected counts under these transitions and the emissions P (V, K)."""
        with np.errstate(divide="ignore"):
            scores = np.log(P)
        likely = np.take_along_axis(scores, np.maximum(self.candidates, 0), axis=1)  # (V, C)
        expected = ExpectedCounts([], np.zeros_like(P), 0.0)
        lengths = np.array([len(words) for words in self.text.sentences], np.int64)
        begins = np.cumsum(lengths) - lengths
        for group in batches(lengths):
            lines = self.ids[consecutive(begins[group], lengths[group])]
            rows = (lines, self.numbers, likely, self.candidates, self.places)
            lattice = candidate_lattice(lengths[group], transitions, *rows, partial(gather, scores, lines))
            lattice = lattice.restrict(np.concatenate([self.text.allowed[i] for i in group.tolist()]))
            observe(lattice, lines, transitions, expected)
        return expected

    def trigram_prior(self, now: LexicalizedTransitions) -> float:
        """Compute Σ n(u, v) · P(w | u, v) · log P'(w | u, v), up to a constant.

        P' = backoff · A + seen = backoff · A · (1 + seen / (backoff · A)): the first factor is summed over all w at
        once, as Σ n · log backoff, the second over the entries of `seen`.
        """
        first, new = self.transitions.transitions, now.transitions
        n, pairs, w = first.totals + 1, new.pairs, new.keys % (new.K + 1)
        base = new.backoff[pairs] * new.A[pairs % (new.K + 1), w]
        P = first.probabilities(pairs, w)
        return float((n[pairs] * P * np.log1p(new.seen / base)).sum() + (n * np.log(new.backoff)).sum())

    def word_prior(self, expected: np.ndarray, factor: np.ndarray) -> float:
        """Compute Σ n(v) · P(x | v) · log (P'(x | v) / P(x | v))."""
        pseudo = self.n * self.counted
        gain = pseudo * np.log1p(np.divide(expected, pseudo, out=np.zeros_like(pseudo), where=pseudo > 0))
        return float(gain.sum() + (self.mass * np.log(factor)).sum())


def partial_text(
    sentences: Sequence[Sentence], choices: Choices, tag_set: list[str], emissions: EmissionModel
) -> list[EMText]:
    """Collect the sentences with open tags, each with its allowed tags (T, K); no text if there are none."""
    if not len(choices.tokens):
        return []
    numbers = {tag: k for k, tag in enumerate(tag_set)}
    lengths = np.array([len(sentence) for sentence in sentences])
    begins = np.cumsum(lengths) - lengths
    owner = np.repeat(np.arange(len(lengths)), lengths)[choices.tokens]  # the sentence of each open token
    allowed = {}
    for i in sorted(set(owner.tolist())):
        allowed[i] = np.zeros((int(lengths[i]), len(numbers)), bool)
        for t, tag in enumerate(sentences[i].tags or ()):
            if tag in numbers:
                allowed[i][t, numbers[tag]] = True
    forms = dict(zip(allowed, emissions.forms([sentences[i].words for i in allowed]), strict=True))
    places = list(zip(owner.tolist(), (choices.tokens - begins[owner]).tolist(), strict=True))
    for (i, t), row in zip(places, choices.allowed, strict=True):
        allowed[i][t] = row
    emissions.check_choices([forms[i][t] for i, t in places], choices.allowed, tag_set)
    return [EMText("partly tagged text", list(forms.values()), list(allowed.values()))]


def gather(scores: np.ndarray, lines: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the scores of the lines of some tokens, (tokens, K)."""
    return np.asarray(scores[lines[tokens]])


def observe(
    lattice: CandidateLattice, lines: np.ndarray, model: LexicalizedTransitions, expected: ExpectedCounts
) -> None:
    """Add the expected counts of the sentences of a lattice; `lines` (N,) are the words of its tokens."""
    candidates, scores = lattice.proposal
    assert isinstance(scores, PathScores)
    K, width = model.K, model.K + 1
    trellis = lattice.trellis(cut=False)
    of_pairs = scores.on(trellis)
    pairs, places, node = of_pairs.pairs, of_pairs.places, trellis.nodes[trellis.here]  # of each state
    keys, counts = [], []

    def add_step(step: Step, P: np.ndarray) -> None:
        """Count triples (u, v, w) of probability P, each by the share of P(w | u, v) in its transition."""
        before, w = step.arcs.before, pairs[step.arcs.after] % width
        share = model.backoff_onward(pairs[before], w, places[before])
        keys.append(pairs[before] * width + w)
        counts.append(P * share / np.exp(of_pairs.arcs(step.arcs)))

    posterior = forward_backward(candidate_sum(trellis, of_pairs), add_step)
    expected.trigrams.append(sum_counts(list(zip(keys, counts, strict=True)), width**3))

    # The share of P(x | v) in each emission: backoff · P(x | v) / P(x | u, v) of entries, all of other words.
    inside = np.flatnonzero(node != trellis.mark)
    P, node = posterior.states[inside], node[inside]
    with np.errstate(invalid="ignore"):  # of impossible nodes
        ratio = np.exp(scores.emissions[node] - of_pairs.arrivals[inside])
    backoff = np.where(places[inside] >= 0, model.before_backoff[pairs[inside]] * ratio, 1.0)
    share = np.where(P > 0, backoff, 0.0) * P
    cells = lines[candidates.tokens[node]] * K + candidates.tags[node]
    words = np.bincount(cells, weights=share, minlength=expected.words.size)
    expected.words += words.reshape(expected.words.shape)
    expected.score += float(posterior.log_z.sum())


def sum_counts(counts: list[tuple[np.ndarray, np.ndarray]], cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum (keys, counts) by key; return the distinct keys with a count, ascending, and their sums."""
    keys, numbers = (np.concatenate(arrays) for arrays in zip(*counts, strict=True))
    positive = numbers > 0
    return sum_by_key(keys[positive], numbers[positive], cells)[:2]
