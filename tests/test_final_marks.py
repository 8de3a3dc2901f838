"""The last word of a sentence without a final mark is tagged by what it is, not by where it stands."""

from pathlib import Path

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, Sentence, read_corpus
from tagger.corpus.final_marks import SHARE, bare_length, trained_lengths
from tagger.corpus.partial import OPEN, Choices
from tagger.experiments.search import Setting
from tagger.experiments.trials import SettingTrials
from tagger.words.overlap import overlap
from tagger.words.windows import Windows

DATA = Path(__file__).parent.parent / "data"
MARKED = [["it", "works", "."]] * 20


def cut(sentence):
    n = bare_length(sentence.words)
    return Sentence(sentence.words[:n], sentence.tags[:n])


@pytest.fixture(scope="module")
def chinese():
    """Sentences that end in a mark, all of them."""
    return [s for s in read_corpus(DATA / "chinese-train.txt") if bare_length(s.words) < len(s)]


@pytest.mark.parametrize("make", [HMMTagger, CRFTagger], ids=["hmm", "crf"])
def test_last_words_are_no_marks_though_every_training_sentence_ends_in_one(chinese, make):
    bare = [cut(sentence) for sentence in read_corpus(DATA / "chinese-test.txt")]
    found = make().fit(chinese).predict(bare)
    assert sum(tags[-1] == "w" for tags in found) <= 2  # of 45; a CRF trained on marked sentences only: 11
    assert sum(tags[-1] == s.tags[-1] for tags, s in zip(found, bare, strict=True)) >= 32  # 26


@pytest.mark.parametrize("make", [HMMTagger, CRFTagger], ids=["hmm", "crf"])
def test_the_sentence_of_the_demo(make):
    words = ["我", "爱", "北京", "天安门"]
    assert (
        words == next(s for s in (DATA.parent / "scripts/demo.sh").read_text("utf-8").splitlines() if "天" in s).split()
    )
    assert make().fit(read_corpus(DATA / "chinese-train.txt")).predict([words]) == [["r", "v", "ns", "ns"]]


def test_the_missing_share_is_cut_evenly():
    lengths = trained_lengths(MARKED)
    assert (lengths == 2).sum() == SHARE * len(MARKED) and (lengths < 3).sum() == (lengths == 2).sum()
    halves = [(trained_lengths(MARKED * 50)[half] == 2).mean() for half in (slice(500), slice(500, None))]
    assert halves == pytest.approx([SHARE, SHARE], abs=0.01)
    every_fifth = trained_lengths(MARKED * 50)[2::5] == 2  # as the warm-up of training chooses
    assert every_fifth.mean() == pytest.approx(SHARE, abs=0.02)


def test_sentences_that_end_in_a_word_count():
    titles = [["a", "title"]] * 4
    assert trained_lengths(MARKED + titles).tolist() == [3] * 20 + [2] * 4  # 4 of 24 are as many as int(4.8)
    assert (trained_lengths(MARKED + titles[:3])[:20] == 2).sum() == 1


@pytest.mark.parametrize("ending", ["!", ". )"])
def test_rare_endings_and_lone_marks_stay(ending):
    rare = [["so", *ending.split()], ["..."]]
    assert trained_lengths(rare + MARKED)[:2].tolist() == [len(words) for words in rare]
    alone = [["..."]] * 20
    assert (trained_lengths(alone) == 1).all() and trained_lengths([]).tolist() == []


def test_all_marks_at_the_end_go_together():
    assert bare_length(["she", "said", "so", ".", '"', ")"]) == 3
    assert bare_length(["1.5", "€"]) == 1 and bare_length(["?", "!"]) == 0 and bare_length([]) == 0


def test_what_a_model_knows_of_words_and_sentences_is_of_the_whole_corpus(chinese):
    model = CRFTagger(max_iterations=1).fit(chinese)
    words = [sentence.words for sentence in chinese]
    assert model.lexicon_.frequency(["。"]).tolist() == [sum(own.count("。") for own in words)]
    assert overlap(words, model.seen_) == sum(len(own) >= 5 for own in words)
    assert model.summary_["tokens"] == sum(map(len, words))


def test_tokens_and_choices_that_stay_are_numbered_anew():
    kept = np.array([True, False, True, True])
    choices = Choices(np.array([1, 3]), np.array([[True, True], [True, False]])).only(kept)
    assert choices.tokens.tolist() == [2] and choices.allowed.tolist() == [[True, False]]
    windows = Windows.of([["a", "."], ["b", "a"]], 1).only(kept, np.array([1, 2]), 1)
    assert windows.at(0).tolist() == [0, 2, 0] and windows.at(1).tolist() == [4, 0, 4]
    assert windows.at(-1).tolist() == [3, 3, 2]


def test_partly_tagged_sentences_lose_their_marks_too():
    partly = [Sentence(["it", "works", "."], ["?", "V", tag]) for tag in ("?", ".")] * 10
    corpus, _ = CRFTagger(partial=True).encode(partly)
    assert corpus.lengths.tolist() == trained_lengths([s.words for s in partly]).tolist()
    assert len(corpus.tags) == corpus.lengths.sum() == len(corpus.windows.places)
    assert corpus.choices.tokens.tolist() == np.flatnonzero(corpus.tags == OPEN).tolist()
    model = CRFTagger(partial=True).fit(partly)
    assert model.predict([["it", "works"], ["it", "works", "."]])[1][1:] == ["V", "."]


def test_settings_are_judged_on_whole_sentences(chinese):
    rehearsal = SettingTrials(CRFTagger(max_iterations=3, threads=1), chinese[:60])
    judged = [sentence for own in rehearsal.test_sets.values() for sentence in own]
    assert sum(map(len, judged)) == sum(map(len, chinese[:60]))
    assert 0 < rehearsal.evaluate(Setting(0.25, 0.0, 1)).score < 1
