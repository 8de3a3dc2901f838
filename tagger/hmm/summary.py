"""Tables about an HMM, for `tagger inspect`: weights, likely transitions, informative suffixes.

The guesser keeps suffixes as hashes, which cannot be turned back into letters. But each of them is the suffix of a word
of the lexicon, so hashing the suffixes of these words finds them all again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagger.hmm.affixes import Letters
from tagger.hmm.emissions import EmissionModel
from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.hmm.textbook.emissions import TextbookEmissions
from tagger.hmm.textbook.tables import without_end
from tagger.models.labeled import LabeledRows, LabeledTables, SparseTable
from tagger.models.summary import FormattedNumber, Section

if TYPE_CHECKING:
    from tagger.hmm.tagger import HMMTagger

ROWS_SHOWN = 20
WORDS_AT_ONCE = 4096
NEXT_TAGS_SHOWN, NEXT_TAGS_OF_PAIR_SHOWN = 5, 4
MIN_WORDS = 5  # rare words with a suffix, for it to be shown
MAX_SUFFIX_LENGTH = 4
LAMBDAS = ("a tag's own frequency", "the tag before", "the two tags before")


def hmm_summary(
    classes: list[str], transitions: LexicalizedTransitions, emissions: EmissionModel | TextbookEmissions
) -> list[Section]:
    """Build all tables of an HMM; those of a textbook have no sizes and weights beyond their settings."""
    if not isinstance(emissions, EmissionModel):
        pairs = [likely_tags_of_pairs(classes, transitions)] if len(transitions.transitions.seen) else []
        return [likely_tags(classes, transitions), *pairs]
    return [
        sizes(transitions, emissions),
        weights(transitions, emissions),
        likely_tags(classes, transitions),
        *([likely_tags_of_pairs(classes, transitions)] if len(transitions.transitions.seen) else []),
        informative_suffixes(classes, emissions),
    ]


def shown_transitions(model: HMMTagger) -> LexicalizedTransitions:
    """Return the transitions for tables; a model without an end has 0 there."""
    return without_end(model.transition_model_) if model.textbook.counts_only else model.transition_model_


def word_table(classes: list[str], emissions: EmissionModel | TextbookEmissions) -> SparseTable:
    """Make the table of P(word | tag), tags × words, of all pairs that were seen in training."""
    lexicon, words = emissions.lexicon, emissions.lexicon.words.strings()
    owners, tags = lexicon.rows.owners, lexicon.rows.tags
    if isinstance(emissions, TextbookEmissions) and emissions.missing is not None:
        return SparseTable(classes, words, tags, owners, emissions.B, emissions.missing)
    values = np.empty(len(tags))
    for begin in range(0, len(words), WORDS_AT_ONCE):
        at = slice(*np.searchsorted(owners, [begin, begin + WORDS_AT_ONCE]))
        values[at] = np.exp(emissions(words[begin : begin + WORDS_AT_ONCE])[0])[owners[at] - begin, tags[at]]
    return SparseTable(classes, words, tags, owners, values, np.full(len(classes), np.nan))


def hmm_tables(model: HMMTagger) -> LabeledTables:
    """Return functions that make the tables pi, A and B."""
    tags = model.classes_

    def pi() -> LabeledRows:
        return LabeledRows(("tag", "probability"), zip(tags, model.pi_.tolist(), strict=True))

    def A() -> LabeledRows:
        cells = ((tags[i], tags[j], P) for i, row in enumerate(model.A_.tolist()) for j, P in enumerate(row))
        return LabeledRows(("tag", "next tag", "probability"), cells)

    return {"pi": pi, "A": A, "B": lambda: model.B_.labeled("tag", "word", "probability")}


def sizes(transitions: LexicalizedTransitions, emissions: EmissionModel) -> Section:
    """Count the parameters of each part."""
    descriptions = sum(len(level.keys) for levels in emissions.guesser.spelling_models for level in levels)
    rows = {
        "trigrams": len(transitions.transitions.seen),
        "words with lexicalized transitions": len(transitions.frequent),
        "tags seen before these words": len(transitions.before_counts),
        "tags seen after these words": len(transitions.after_counts),
        "spelling descriptions": descriptions,
        "words of a user's lexicon": len(emissions.allowed.words),
        "words learned by EM": len(emissions.raw),
    }
    return Section("sizes", [list(row) for row in rows.items()])


def weights(transitions: LexicalizedTransitions, emissions: EmissionModel) -> Section:
    """List the smoothing constants and the weights of the guesser."""
    lambdas = enumerate(zip(LAMBDAS, transitions.transitions.weights.tolist(), strict=True), 1)
    rows = [[f"λ{i} of {name}", FormattedNumber(weight, ".3f")] for i, (name, weight) in lambdas if weight]
    kappa, kappa_after = transitions.kappas.tolist()
    if len(transitions.entries):
        rows.append(["κ of a word given two tags", FormattedNumber(kappa, ".1f")])
        rows.append(["κ of a tag after a word", FormattedNumber(kappa_after, ".1f")])
    rows.append(["λ of the spelling, for rare words", FormattedNumber(emissions.strength, ".2f")])
    names = ["tags of rare words", *(f"spelling model: {name}" for name in emissions.guesser.keys(Letters([])))]
    pool = zip(names, emissions.guesser.weights.tolist(), strict=True)
    rows += [[f"weight of {name}", FormattedNumber(weight, ".2f")] for name, weight in pool]
    return Section("weights", rows)


def likely_tags(classes: list[str], transitions: LexicalizedTransitions) -> Section:
    """List the likeliest tags after each of the most frequent ones."""
    K, A = transitions.K, transitions.transitions.A
    names = [*classes, "·"]
    counts = transitions.transitions.totals.reshape(K + 1, K + 1).sum(axis=0)  # of v
    tags = [K, *np.argsort(-counts[:K], kind="stable").tolist()][:ROWS_SHOWN]
    rows = [[names[v], most_probable(names, A[v], NEXT_TAGS_SHOWN)] for v in tags]
    return Section("likeliest tags after a tag (· is a sentence's edge)", rows)


def likely_tags_of_pairs(classes: list[str], transitions: LexicalizedTransitions) -> Section:
    """List the likeliest tags after each of the most frequent pairs of tags."""
    model, names, width = transitions.transitions, [*classes, "·"], transitions.K + 1
    rows = []
    for pair in np.argsort(-model.totals, kind="stable")[:ROWS_SHOWN].tolist():
        if not model.totals[pair]:
            break
        P = model.probabilities(np.full(width, pair), np.arange(width))
        tags = f"{names[pair // width]} {names[pair % width]}"
        rows.append([tags, most_probable(names, P, NEXT_TAGS_OF_PAIR_SHOWN)])
    return Section("likeliest tags after two", rows)


def most_probable(names: list[str], P: np.ndarray, count: int) -> list[tuple[str, FormattedNumber]]:
    """Return the names and probabilities of the most probable tags."""
    return [(names[w], FormattedNumber(P[w], ".2f")) for w in np.argsort(-P, kind="stable")[:count].tolist()]


def informative_suffixes(classes: list[str], emissions: EmissionModel) -> Section:
    """List the suffixes of rare words that are most informative of their tag.

    The rank of a suffix is count(suffix, tag) · log (P(tag | suffix) / P(tag)) of its most frequent tag.
    """
    strings = emissions.lexicon.words.strings()
    levels = emissions.guesser.spelling_models[1]
    rows = []
    keys = Letters(strings).suffixes(min(len(levels), MAX_SUFFIX_LENGTH))
    for n, (key, level) in enumerate(zip(keys, levels, strict=False), 1):
        _, first = np.unique(key, return_index=True)
        bounds = level.rows.bounds
        for i, place in zip(first.tolist(), level.find(key[first]).tolist(), strict=True):
            if place < 0:
                continue
            inside = slice(int(bounds[place]), int(bounds[place + 1]))
            counts, tags = level.counts[inside], level.rows.tags[inside]
            total, best = float(counts.sum()), int(counts.argmax())
            if total >= MIN_WORDS:
                share = float(counts[best]) / total
                gain = total * share * np.log(share / emissions.guesser.prior[tags[best]])
                rows.append((gain, f"-{strings[i].lower()[-n:]}", classes[tags[best]], share, total))
    rows.sort(key=lambda row: (-row[0], row[1]))
    shown = [
        [suffix, tag, FormattedNumber(share, ".0%"), FormattedNumber(total, ",.0f")]
        for _, suffix, tag, share, total in rows[:ROWS_SHOWN]
    ]
    return Section("most informative suffixes of rare words", shown, ["suffix", "tag", "share", "words"])
