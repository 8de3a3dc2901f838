"""Counts of an HMM: merged over the parts of a corpus they are those of the whole."""

from itertools import pairwise

import numpy as np
import pytest
from paths import TEST

from tagger import HMMTagger, Sentence, read_corpus
from tagger.arrays.string_table import StringTable
from tagger.corpus.labels import training_sentences
from tagger.hmm.counting.counts import CellCounts, HMMCounts
from tagger.hmm.counting.frequent import EntryCounts, EntryTokens, entry_counter
from tagger.hmm.counting.tagged_text import TaggedText


def texts(bounds):
    """The parts of a corpus between these bounds, each with a tag set of its own."""
    sentences = training_sentences(read_corpus(TEST), None)
    sentences = [Sentence(s.words, [f"{tag}{i % 3}" for tag in s.tags]) for i, s in enumerate(sentences)]
    ends = [*bounds, len(sentences)]
    return sentences, [TaggedText.of(sentences[a:b], False) for a, b in pairwise([0, *ends])]


def assert_same(a, b):
    assert a.tag_set == b.tag_set and (a.sentences, a.tokens) == (b.sentences, b.tokens)
    assert a.lexicon.words.strings() == b.lexicon.words.strings()
    for name in ("inside", "frequency", "unigrams", "bigrams", "seen"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for one, other in ((a.lexicon.rows.tags, b.lexicon.rows.tags), (a.lexicon.counts, b.lexicon.counts)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(a.trigrams.keys, b.trigrams.keys)
    np.testing.assert_array_equal(a.trigrams.counts, b.trigrams.counts)


@pytest.mark.parametrize("bounds", [[1], [10, 30, 60], [2, 3, 5]])
def test_merged_counts_are_those_of_the_whole(bounds):
    """Also if they are merged in another order."""
    sentences, parts = texts(bounds)
    whole = HMMCounts.of(TaggedText.of(sentences, False))
    counts = [HMMCounts.of(part) for part in parts]
    assert len({len(one.tag_set) for one in counts}) > 1
    assert_same(HMMCounts.merged(counts), whole)
    assert_same(HMMCounts.merged([HMMCounts.merged(counts[1:]), counts[0]]), whole)


def test_a_model_of_merged_counts_is_that_of_the_whole_corpus():
    sentences, parts = texts([20, 50])
    counts = HMMCounts.merged([HMMCounts.of(part) for part in parts])
    text, model = TaggedText.of(sentences, False), HMMTagger(rare_count=2)
    model.estimate(counts, counts.lexicon.words.strings(), entry_counter(text))
    whole = HMMTagger(rare_count=2).fit(sentences)
    assert len(whole.transition_model_.entries) > 20
    assert {name: a.tolist() for name, a in model.arrays().items()} == {
        name: a.tolist() for name, a in whole.arrays().items()
    }


def test_entries_are_counted_part_by_part():
    """Two parts with one tag set and lexicon: their tokens are those of the whole, in order."""
    sentences, _ = texts([1])
    text = TaggedText.of(sentences, False)
    entries = text.lexicon.rows.owners[::3] * text.K + text.lexicon.rows.tags[::3]
    whole = entry_counter(text)(entries)
    assert isinstance(whole, EntryCounts) and whole.before.counts.sum() == whole.after.counts.sum() == len(whole.sample)
    tokens = EntryTokens.of(text.steps, text.words, entries)
    halves = [tokens.at(slice(0, 50)), tokens.at(slice(50, None))]
    before, after = zip(*(half.counts(len(entries), text.K + 1) for half in halves), strict=True)
    for merged, one in ((CellCounts.merged(before), whole.before), (CellCounts.merged(after), whole.after)):
        np.testing.assert_array_equal(merged.keys, one.keys)
        np.testing.assert_array_equal(merged.counts, one.counts)
    np.testing.assert_array_equal(EntryTokens.joined(halves).u, tokens.u)


def test_strings_of_another_table_are_found():
    table, _ = StringTable.build(["a", "b", "c", "", "dog"])
    other, _ = StringTable.build(["dog", "x", "", "a"])
    assert [i if i < 0 else table[i] for i in table.ids_of(other).tolist()] == [
        -1 if string == "x" else string for string in other.strings()
    ]
    assert StringTable.build([])[0].ids_of(other).tolist() == [-1] * 4
