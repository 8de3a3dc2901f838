"""The candidate tags of each token, proposed by an HMM: all tags above a threshold, and always its best.

    candidates(t) = { k : p_HMM(tag k at t) > τ } ∪ { argmax_k p_HMM(tag k at t) }

(Coarse-to-fine pruning: Charniak & Johnson 2005; Weiss & Taskar 2010; for CRF taggers Müller, Schmid & Schütze 2013.)
Most tokens have one candidate. The logarithm of the HMM's probability is one more feature of each candidate, so that
the CRF begins where the HMM ends. For training, the probabilities come from HMMs that have not seen the sentence.
A fold of the corpus is made of blocks from all over it: sentence by sentence, parts of one document would be on both
sides; in one stretch, a fold would be a kind of text that the others lack. The right tag joins the candidates where the
HMM has missed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagger.arrays.ragged import consecutive
from tagger.chain.candidate_lattice import CandidateLattice, Candidates
from tagger.corpus.partial import OPEN, Choices
from tagger.features.word_classes import WordClasses
from tagger.files.resources import useful_threads
from tagger.hmm.counting.tagged_text import TaggedText
from tagger.hmm.tagger import HMMTagger
from tagger.sentence import ANY, NO_TAG, Sentence, Words

FOLDS, BLOCKS = 5, 50  # block i belongs to fold i % FOLDS
DEFAULT_THRESHOLD = 1e-3  # lowest probability of a candidate: 1.8 a token on EWT, 99.2 % have the right tag
TOKENS_TOGETHER = 1 << 15  # in one lattice
FLOOR = 0.1  # of the threshold: a candidate with a lower probability has this one


@dataclass(frozen=True)
class Proposal:
    """Candidates, and the logarithm of the HMM's probability of each, (nodes,)."""

    candidates: Candidates
    log_posterior: np.ndarray
    possible: np.ndarray  # (nodes,) False where a constraint leaves a token no tag

    def only(self, tokens: np.ndarray) -> Proposal:
        """Return the proposal for some of the tokens, in this order."""
        widths, first = self.candidates.widths, np.cumsum(self.candidates.widths) - self.candidates.widths
        nodes = consecutive(first[tokens], widths[tokens])
        candidates = Candidates(self.candidates.tags[nodes], widths[tokens])
        return Proposal(candidates, self.log_posterior[nodes], self.possible[nodes])


def propose(lattice: CandidateLattice, threshold: float, with_path: bool = False) -> Proposal:
    """Choose the candidates from the lattice of an HMM.

    Where steps are forbidden, its best path is among them (`with_path`), so that every sentence has one.
    """
    nodes, P = lattice.candidates, lattice.node_marginals
    begins = np.cumsum(nodes.widths) - nodes.widths
    best = np.maximum.reduceat(P, begins) if len(begins) else P
    kept = (threshold < P) | (best[nodes.tokens] == P)
    if with_path:
        kept |= nodes.tags == lattice.best()[nodes.tokens]
    keep = np.flatnonzero(kept)
    chosen = Candidates(nodes.tags[keep], np.bincount(nodes.tokens[keep], minlength=len(nodes.widths)))
    return Proposal(chosen, log_posteriors(P[keep], threshold), lattice.proposal[1].possible()[keep])


def log_posteriors(P: np.ndarray, threshold: float) -> np.ndarray:
    """Compute the feature of nodes from the HMM's probabilities."""
    return np.asarray(np.log(np.maximum(P, FLOOR * threshold)))


def cross_fit(
    settings: dict[str, Any],
    sentences: Sequence[Sentence],
    lengths: np.ndarray,
    tag_set: list[str],
    threshold: float,
    threads: int = 1,
    text: TaggedText | None = None,
    classes: WordClasses | None = None,
) -> tuple[HMMTagger, Proposal]:
    """Train an HMM with these settings, and propose candidates for the first `lengths` tokens of each sentence.

    The candidates of a fold come from an HMM that is trained on the other folds. `text` is that of the sentences, if
    there is one already.
    """
    folds = block_folds(len(sentences))
    # Words and tags are numbered once for all folds, unless tags are open: then a part may lack tags of a choice.
    text = None if settings.get("partial") else text or TaggedText.of(sentences, partial=False)

    def propose_for(fold: np.ndarray) -> list[Proposal]:
        others = np.setdiff1d(np.arange(len(sentences)), fold)
        rest = [sentences[i] for i in others.tolist()]
        if text is None:
            rest = with_choices_among(rest, tag_set)
        if not any(map(is_tagged, rest)):
            others, rest = np.arange(len(sentences)), list(sentences)
        words = [sentences[i].words[: lengths[i]] for i in fold.tolist()]
        hmm = HMMTagger(**settings).learn(rest, classes=classes, text=text and text.only(others))
        return [renumbered(p, hmm.classes_, tag_set) for p in propose_all(hmm, words, threshold)]

    with ThreadPoolExecutor(useful_threads(threads, int(lengths.sum()), len(tag_set))) as pool:
        proposer = pool.submit(lambda: HMMTagger(**settings).learn(list(sentences), classes=classes, text=text))
        of_folds = pool.map(propose_for, folds)
        hmm = proposer.result()
        proposals = joined([proposal for fold in of_folds for proposal in fold])
        # From the tokens fold by fold to the tokens sentence by sentence.
        begins = np.cumsum(lengths) - lengths
        tokens = np.concatenate([consecutive(begins[fold], lengths[fold]) for fold in folds])
        return hmm, proposals.only(np.argsort(tokens))


def block_folds(sentences: int) -> list[np.ndarray]:
    """Divide sentences into folds, given as their numbers; there are fewer folds than FOLDS if sentences are fewer."""
    fold = np.arange(sentences, dtype=np.int64) * min(BLOCKS, sentences) // max(1, sentences) % FOLDS
    return [np.flatnonzero(fold == number) for number in range(min(FOLDS, sentences))]


def propose_all(hmm: HMMTagger, words: Sequence[Words], threshold: float) -> list[Proposal]:
    """Propose candidates for sentences, in their order, one proposal for each group of sentences."""
    score = hmm.scorer()
    before = np.cumsum([0, *map(len, words)])[:-1] // TOKENS_TOGETHER  # groups before each sentence
    groups = np.split(np.arange(len(words)), np.flatnonzero(np.diff(before)) + 1)
    lattices = (score([words[i] for i in group.tolist()]) for group in groups)
    with_path = hmm.scheme_ is not None
    return [propose(lattice, threshold, with_path) for lattice in lattices if isinstance(lattice, CandidateLattice)]


def is_tagged(sentence: Sentence) -> bool:
    """Return whether some word of a sentence has a tag that is not open."""
    return any(tag not in (ANY, NO_TAG) for tag in sentence.tags or ())


def with_choices_among(sentences: Sequence[Sentence], tag_set: list[str]) -> list[Sentence]:
    """Limit each choice `A|B` to the tags that some word of these sentences has alone; a choice of none is open.

    `tag_set` is that of the whole corpus: what is not in it is a choice.
    """
    given = {tag for sentence in sentences for tag in sentence.tags or ()}.intersection(tag_set)

    def limited(tag: str) -> str:
        if tag in given or tag in (ANY, NO_TAG):
            return tag
        return "|".join(option for option in tag.split("|") if option in given) or ANY

    return [Sentence(sentence.words, [limited(tag) for tag in sentence.tags or ()]) for sentence in sentences]


def renumbered(proposal: Proposal, old: list[str], new: list[str]) -> Proposal:
    """Convert the tags of a proposal to a larger tag set; both are sorted, so that tags stay in order."""
    tags = np.searchsorted(new, old)[proposal.candidates.tags]
    return Proposal(Candidates(tags, proposal.candidates.widths), proposal.log_posterior, proposal.possible)


def joined(proposals: Sequence[Proposal]) -> Proposal:
    """Join the proposals of consecutive tokens."""
    candidates = [proposal.candidates for proposal in proposals]
    return Proposal(
        Candidates(np.concatenate([c.tags for c in candidates]), np.concatenate([c.widths for c in candidates])),
        np.concatenate([proposal.log_posterior for proposal in proposals]),
        np.concatenate([proposal.possible for proposal in proposals]),
    )


def with_gold(
    proposal: Proposal, tags: np.ndarray, choices: Choices, threshold: float
) -> tuple[Proposal, np.ndarray, int]:
    """Add the right tags (N,) where they are missing, and the tags of a choice.

    Returned are the candidates by ascending tag, whether each node is right, or allowed where the tag is OPEN, and the
    number of tokens whose right tag was missing.
    """
    K, nodes = choices.allowed.shape[1], proposal.candidates
    tokens, event_tags = choices.events(tags)  # a token that is wholly open has no events
    given, right = nodes.tokens * K + nodes.tags, tokens * K + event_tags  # cells of an array (N, K); `right` ascends
    order = np.argsort(given, kind="stable")
    given = given[order]
    places = np.searchsorted(given, right)
    missing = np.append(given, -1)[places] != right
    cells = np.insert(given, places[missing], right[missing])
    floor = log_posteriors(np.zeros(1), threshold)
    log_posterior = np.insert(proposal.log_posterior[order], places[missing], floor)
    wholly_open = np.ones(len(tags), bool)
    wholly_open[tokens] = False
    is_right = wholly_open[cells // K]
    is_right[np.searchsorted(cells, right)] = True
    missed = int((missing & (tags[tokens] != OPEN)).sum())
    candidates = Candidates(cells % K, np.bincount(cells // K, minlength=len(tags)))
    return Proposal(candidates, log_posterior, np.ones(len(cells), bool)), is_right, missed
