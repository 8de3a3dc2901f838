"""What an HMM has learned, told to a person: weights, the likeliest steps, the endings that say most.

The guesser keeps endings as numbers that cannot be turned back into letters. But every ending it knows is the ending of
a word of the lexicon, so asking it about those finds them all again.
"""

from __future__ import annotations

import numpy as np

from tagger.arrays.keyed import find_keys
from tagger.hmm.affixes import Letters
from tagger.hmm.emissions import EmissionModel
from tagger.hmm.guesser import testimony
from tagger.hmm.lexicalized import LexicalizedTransitions
from tagger.models.summary import FormattedNumber, Section

SHOWN = 20  # rows of a table
LEAST_WORDS = 5  # an ending must have been seen on so many rare words
LONGEST_ENDING = 4


def hmm_summary(classes: list[str], neighbours: LexicalizedTransitions, words: EmissionModel) -> list[Section]:
    return [
        sizes(neighbours, words),
        weights(neighbours, words),
        steps(classes, neighbours),
        *([pairs(classes, neighbours)] if len(neighbours.transitions.seen) else []),
        endings(classes, words),
    ]


def sizes(neighbours: LexicalizedTransitions, words: EmissionModel) -> Section:
    descriptions = sum(len(level.keys) for levels in words.guesser.witnesses for level in levels)
    rows = {
        "trigrams": len(neighbours.transitions.seen),
        "words with neighbours of their own": len(neighbours.frequent),
        "what words with a tag come after": len(neighbours.before_counts),
        "what comes after words with a tag": len(neighbours.after_counts),
        "spellings": descriptions,
        "words of a lexicon": len(words.allowed.words),
        "words of untagged text": len(words.raw),
    }
    return Section("sizes", [list(row) for row in rows.items()])


def weights(neighbours: LexicalizedTransitions, words: EmissionModel) -> Section:
    rows = [
        [f"λ{i} of {name}", FormattedNumber(own, ".3f")] for i, (name, own) in enumerate(named_lambdas(neighbours), 1)
    ]
    kappa, kappa_after = neighbours.kappas.tolist()
    if len(neighbours.entries):
        rows.append(["κ of a word given two tags", FormattedNumber(kappa, ".1f")])
        rows.append(["κ of a tag after a word", FormattedNumber(kappa_after, ".1f")])
    rows.append(["λ of the spelling, for rare words", FormattedNumber(words.strength, ".2f")])
    names = ["tags of rare words", *testimony(Letters([]), 0)]
    told = zip(names, words.guesser.weights.tolist(), strict=True)
    rows += [[f"weight of the witness: {name}", FormattedNumber(weight, ".2f")] for name, weight in told]
    return Section("weights", rows)


def named_lambdas(neighbours: LexicalizedTransitions) -> list[tuple[str, float]]:
    names = ("a tag's own frequency", "the tag before", "the two tags before")
    return [
        (name, weight) for name, weight in zip(names, neighbours.transitions.weights.tolist(), strict=True) if weight
    ]


def steps(classes: list[str], neighbours: LexicalizedTransitions) -> Section:
    """The likeliest tag after each of the most frequent ones."""
    K, A = neighbours.K, neighbours.transitions.A
    names = [*classes, "·"]
    count = neighbours.transitions.totals.reshape(K + 1, K + 1).sum(axis=0)  # as v
    rows = []
    for v in [K, *np.argsort(-count[:K], kind="stable").tolist()][:SHOWN]:
        after = np.argsort(-A[v], kind="stable")[:5].tolist()
        rows.append([names[v], [(names[w], FormattedNumber(A[v, w], ".2f")) for w in after]])
    return Section("likeliest tags after a tag (· is a sentence's edge)", rows)


def pairs(classes: list[str], neighbours: LexicalizedTransitions) -> Section:
    """The most frequent pairs of tags, and the likeliest tags after them."""
    transitions, names = neighbours.transitions, [*classes, "·"]
    width = neighbours.K + 1
    rows = []
    for pair in np.argsort(-transitions.totals, kind="stable")[:SHOWN].tolist():
        if not transitions.totals[pair]:
            break
        P = transitions.probabilities(np.full(width, pair), np.arange(width))
        after = np.argsort(-P, kind="stable")[:4].tolist()
        told = [(names[w], FormattedNumber(P[w], ".2f")) for w in after]
        rows.append([f"{names[pair // width]} {names[pair % width]}", told])
    return Section("likeliest tags after two", rows)


def endings(classes: list[str], words: EmissionModel) -> Section:
    """The endings of rare words whose tag can be told best: seen often, and hardly with other tags."""
    strings = words.lexicon.words.strings()
    levels = words.guesser.witnesses[1]
    rows = []
    keys = Letters(strings).endings(min(len(levels), LONGEST_ENDING))
    for n, (key, level) in enumerate(zip(keys, levels, strict=False), 1):
        _, first = np.unique(key, return_index=True)
        bounds = level.rows.bounds
        for i, place in zip(first.tolist(), find_keys(level.keys, key[first]).tolist(), strict=True):
            if place < 0:
                continue
            inside = slice(int(bounds[place]), int(bounds[place + 1]))
            counts, tags = level.counts[inside], level.rows.tags[inside]
            total, best = float(counts.sum()), int(counts.argmax())
            if total >= LEAST_WORDS:
                share = float(counts[best]) / total
                gain = total * share * np.log(share / words.guesser.prior[tags[best]])
                rows.append((gain, f"-{strings[i].lower()[-n:]}", classes[tags[best]], share, total))
    rows.sort(key=lambda row: (-row[0], row[1]))
    shown = [
        [ending, tag, FormattedNumber(share, ".0%"), FormattedNumber(total, ",.0f")]
        for _, ending, tag, share, total in rows[:SHOWN]
    ]
    return Section("endings that say most about rare words", shown, ["ending", "tag", "share", "words"])
