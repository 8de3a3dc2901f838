"""The textbook HMM against a reference of thirty lines, and every mixture of its parts with the default ones."""

from collections import Counter
from itertools import pairwise
from math import log, sqrt

import numpy as np
import oracle
import pytest
from paths import TEST, TRAIN
from program import run

from tagger import HMMTagger, load_model, read_corpus, save_model
from tagger.hmm.textbook.settings import SMOOTHING, UNKNOWN

TEXTBOOK = {"order": 1, "smoothing": "none", "unknown": "floor"}
FLOOR = 1e-8
MIXTURES = [(s, u, o) for s in SMOOTHING for u in UNKNOWN for o in (1, 2) if o == 1 or s not in ("none", "add-k")]
WORDS = [["the", "dog", "barks"], ["a", "dog"], ["Dogs", "bark"], ["The", "cats", "sleep"], ["sleep"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["N", "V"], ["D", "N", "V"], ["V"]]


class Reference:
    """Counts, relative frequencies, a floor for zero, Viterbi: written from the formulas."""

    def __init__(self, corpus):
        self.tags = sorted({tag for sentence in corpus for tag in sentence.tags})
        first = Counter(sentence.tags[0] for sentence in corpus)
        steps = Counter(step for sentence in corpus for step in pairwise(sentence.tags))
        words = Counter(pair for s in corpus for pair in zip(s.tags, s.words, strict=True))
        leaving, of_tag = Counter(), Counter()
        for (i, _), count in steps.items():
            leaving[i] += count
        for (j, _), count in words.items():
            of_tag[j] += count
        self.pi = {j: first[j] / len(corpus) for j in self.tags}
        self.A = {(i, j): steps[i, j] / max(1, leaving[i]) for i in self.tags for j in self.tags}
        self.B = {(j, x): count / of_tag[j] for (j, x), count in words.items()}

    def tag(self, words):
        delta = {j: self.log(self.pi[j]) + self.log(self.B.get((j, words[0]), 0)) for j in self.tags}
        pointers = []
        for x in words[1:]:
            before = {j: max(self.tags, key=lambda i, j=j: delta[i] + self.log(self.A[i, j])) for j in self.tags}
            pointers.append(before)
            delta = {
                j: delta[before[j]] + self.log(self.A[before[j], j]) + self.log(self.B.get((j, x), 0))
                for j in self.tags
            }
        path = [max(self.tags, key=delta.get)]
        for before in reversed(pointers):
            path.append(before[path[-1]])
        return path[::-1]

    @staticmethod
    def log(P):
        return log(P or FLOOR)


@pytest.fixture(scope="module")
def corpus():
    return read_corpus(TRAIN)


@pytest.fixture(scope="module")
def reference(corpus):
    return Reference(corpus)


@pytest.fixture(scope="module")
def model(corpus):
    return HMMTagger(**TEXTBOOK).fit(corpus)


def test_its_tables_are_those_of_the_reference(model, reference):
    tags = model.classes_
    assert tags == reference.tags
    np.testing.assert_allclose(model.pi_, [reference.pi[j] for j in tags], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.A_, [[reference.A[i, j] for j in tags] for i in tags], rtol=0, atol=1e-12)
    B = {(tag, word): P for tag, word, P in model.B_.labeled().rows}
    assert B.keys() == reference.B.keys()
    assert max(abs(B[pair] - reference.B[pair]) for pair in B) < 1e-12


def test_its_tags_are_those_of_the_reference(model, reference):
    gold = read_corpus(TEST)
    assert model.predict(gold) == [reference.tag(sentence.words) for sentence in gold]


def test_zeros_stay_in_the_tables_and_rows_sum_to_one(model):
    assert (model.A_ == 0).any() and (model.pi_ == 0).any() and set(model.end_) == {1.0}
    assert model.pi_.sum() == pytest.approx(1, abs=1e-12)
    sums = model.A_.sum(axis=1)
    assert sums[sums > 0] == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(model.B_.toarray().sum(axis=1), 1, atol=1e-12)
    assert model.B_["DT", "the"] > 0 and model.B_["NN", "the"] == 0


def test_a_tie_goes_to_the_first_tag():
    model = HMMTagger(**TEXTBOOK).fit([["x", "x"], ["y", "y"]], [["A", "A"], ["B", "B"]])
    assert model.predict([["new"], ["new", "new", "new"]]) == [["A"], ["A", "A", "A"]]


@pytest.mark.parametrize("floor", [1e-8, 1e-3])
def test_the_floor_is_the_score_of_what_was_never_seen(floor):
    model = HMMTagger(**TEXTBOOK, floor=floor).fit(WORDS, TAGS)
    tables = model.trellis(["dog", "new"]).tables
    D, N, V = range(3)
    state = {(int(p), int(t)): i for i, (p, t) in enumerate(zip(tables.positions, tables.tags[:, -1], strict=True))}
    assert tables.emissions[state[1, N]] == pytest.approx(log(2 / 4))
    assert tables.emissions[[state[1, D], state[1, V], *(state[2, k] for k in (D, N, V))]] == pytest.approx(log(floor))
    steps = {(int(b), int(a)): s for b, a, s in zip(tables.before, tables.after, tables.steps, strict=True)}
    assert steps[state[1, D], state[2, N]] == 0.0 and steps[state[1, V], state[2, V]] == pytest.approx(log(floor))


def test_its_answers_are_those_of_all_paths():
    model = HMMTagger(**TEXTBOOK).fit(WORDS, TAGS)
    for words in (["dog"], ["new"], ["the", "new", "sleep"], ["sleep", "dog", "the", "new"]):
        floored = [np.where(table > 0, table, FLOOR) for table in (model.pi_, model.A_)]
        B = [[model.B_[tag, word] if word != "new" else 0.0 for tag in model.classes_] for word in words]
        pi, A, E = (np.log(table).tolist() for table in (*floored, np.where(np.array(B) > 0, B, FLOOR)))
        every = oracle.paths(pi, A, [0.0] * 3, E)
        trellis = model.trellis(words)
        assert trellis.log_z == pytest.approx(oracle.log_z(every), abs=1e-10)
        assert trellis.best.score == pytest.approx(every[0][0], abs=1e-10)
        np.testing.assert_allclose(model.predict_marginals([words])[0], oracle.node_marginals(every, 3), atol=1e-10)


def test_add_k_adds_k_to_every_count():
    model = HMMTagger(order=1, smoothing="add-k", unknown="floor", pseudo_count=0.5).fit(WORDS, TAGS)
    assert model.pi_ == pytest.approx([(3 + 0.5) / 6.5, (1 + 0.5) / 6.5, (1 + 0.5) / 6.5])
    assert model.A_[0] == pytest.approx([0.5 / 4.5, 3.5 / 4.5, 0.5 / 4.5])
    assert model.A_[2] == pytest.approx([1 / 3] * 3)  # nothing follows V
    V = len({word for words in WORDS for word in words})
    assert model.B_["N", "dog"] == pytest.approx(2.5 / (4 + V / 2))
    assert model.B_["N", "the"] == pytest.approx(0.5 / (4 + V / 2))
    np.testing.assert_allclose(model.B_.toarray().sum(axis=1), 1, atol=1e-12)


def test_unknown_words_are_guessed_from_their_suffixes():
    """Brants 2000, section 2.3, by hand: θ is the standard deviation of the tags, longer suffixes count more."""
    model = HMMTagger(order=1, smoothing="none", unknown="suffix", suffix_length=2).fit(WORDS, TAGS)
    prior = np.array([3, 4, 4]) / 11
    theta = sqrt(((prior - prior.mean()) ** 2).sum() / 2)
    of_s, of_ts = np.array([0, 1, 1]), np.array([0, 1, 0])  # barks/V, cats/N; only cats ends in -ts
    one = (of_s / 2 + theta * prior) / (1 + theta)
    two = (of_ts + theta * one) / (1 + theta)
    scores, _ = model.emission_model_(["rats", "Rats", "s", "zzz", ""])
    N = 11
    np.testing.assert_allclose(np.exp(scores[0]), two / prior / N, rtol=1e-12)
    capital = (np.array([0, 1, 0]) + theta * prior) / (1 + theta)  # Dogs/N alone is capitalised and ends in -s
    np.testing.assert_allclose(np.exp(scores[1]), capital / prior / N, rtol=1e-12)
    np.testing.assert_allclose(np.exp(scores[2]), one / prior / N, rtol=1e-12)
    np.testing.assert_allclose(np.exp(scores[3:]), 1 / N, rtol=1e-12)


@pytest.mark.parametrize("smoothing, unknown, order", MIXTURES)
def test_each_part_is_the_one_that_was_asked_for(smoothing, unknown, order):
    settings = {"smoothing": smoothing, "unknown": unknown, "order": order}
    model, default = HMMTagger(**settings).fit(WORDS, TAGS), HMMTagger(order=order).fit(WORDS, TAGS)
    known, new = ["dog", "sleep"], ["walks", "Xyz"]
    scores, normal = model.emission_model_(known)[0], default.emission_model_(known)[0]
    if smoothing == "default":
        np.testing.assert_allclose(scores, normal)
        np.testing.assert_array_equal(model.A_, default.A_)
    else:
        counted = np.exp(scores[0, 1])
        assert counted == pytest.approx(3 / (4 + 9) if smoothing == "add-k" else 2 / 4)
    guesses = model.emission_model_(new)[0]
    assert (guesses == log(FLOOR)).all() == (unknown == "floor")
    assert np.allclose(guesses, default.emission_model_(new)[0]) == (unknown == "default")
    if smoothing == "interpolation":
        np.testing.assert_array_equal(model.A_, default.A_)
        assert not len(model.transition_model_.entries)


@pytest.mark.parametrize("smoothing, unknown, order", MIXTURES)
def test_every_mixture_is_a_model_like_others(smoothing, unknown, order, tmp_path):
    model = HMMTagger(smoothing=smoothing, unknown=unknown, order=order, floor=1e-6).fit(WORDS, TAGS)
    for name in ("a.npz", "b.npz"):
        save_model(model, tmp_path / name)
    loaded = load_model(tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    text = [["the", "Rats", "barks"], ["sleep"], []]
    assert loaded.predict(text) == model.predict(text)
    assert loaded.stored_settings() == model.stored_settings()
    np.testing.assert_array_equal(loaded.B_.toarray(), model.B_.toarray())
    for words, P in zip(text, loaded.predict_marginals(text), strict=True):
        np.testing.assert_allclose(P.sum(axis=1), np.ones(len(words)))
    trellis = loaded.trellis(text[0])
    assert trellis.best.tags == model.predict(text)[0]
    assert [section.title for section in loaded.summarize()] == [section.title for section in model.summarize()]


def test_the_default_model_is_stored_as_before(tmp_path):
    assert not {"smoothing", "unknown", "floor", "pseudo_count"} & HMMTagger().fit(WORDS, TAGS).stored_settings().keys()


def test_the_table_of_words_of_the_default_model_has_what_it_scores(corpus):
    model = HMMTagger().fit(corpus)
    B, at = model.B_, model.classes_.index("NN")
    assert B["NN", "book"] == pytest.approx(np.exp(model.emission_model_(["book"])[0][0, at]))
    assert np.isnan(B["DT", "book"]) and B.shape == (44, len(model.lexicon_.words)) and "44 ×" in repr(B)


@pytest.mark.parametrize(
    "settings, given, message",
    [
        ({"smoothing": "some"}, {}, "smoothing: expected none, add-k, interpolation or default, got 'some'"),
        ({"unknown": "some"}, {}, "unknown: expected floor, suffix or default"),
        ({"smoothing": "none"}, {}, "with order 2"),
        ({"order": 1, "floor": 0.0}, {}, "floor=0.0"),
        ({"order": 1, "pseudo_count": -1.0}, {}, "pseudo_count=-1.0"),
        ({"unknown": "suffix", "partial": True}, {}, "partial: expected none with"),
        ({"unknown": "suffix"}, {"lexicon": {"dog": ["N"]}}, "lexicon: expected none with"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, given, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        HMMTagger(**settings).fit(WORDS, TAGS, **given)


# The commands


@pytest.mark.parametrize(
    "options, message",
    [
        (["--smoothing", "none"], "--smoothing none: expected --order 1, got --order 2"),
        (["--unknown", "suffix", "--partial"], "--unknown suffix: expected no --lexicon and no --partial"),
        (["--unknown", "floor", "--unlabeled", TRAIN], "--unknown floor: expected no --classes and no --unlabeled"),
        (["--floor", "0"], "--floor"),
        (["--pseudo-count", "nan"], "finite"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path, options, message):
    done = run(tmp_path, "train-hmm", TRAIN, *options)
    assert done.code == 2 and message in done.err and not list(tmp_path.iterdir())


def test_tables_are_written_as_tsv(tmp_path, model):
    save_model(model, tmp_path / "model.npz")
    tables = {}
    for name in ("pi", "A", "B"):
        done = run(tmp_path, "inspect", "--table", name)
        assert done.code == 0 and done.err == ""
        head, *rows = [line.split("\t") for line in done.out.splitlines()]
        tables[name] = [float(row[-1]) for row in rows]
        assert all(len(row) == len(head) for row in rows)
    assert tables["pi"] == model.pi_.tolist() and tables["A"] == model.A_.ravel().tolist()
    assert tables["B"] == [P for _, _, P in model.B_.labeled().rows]
    done = run(tmp_path, "inspect", "--table", "weights")
    assert done.code == 1 and "of kind hmm, which has the tables pi, A, B" in done.err
    assert run(tmp_path, "inspect", "--table", "pi", "--json").code == 2


def test_explanations_and_pages_of_a_model_with_zeros(tmp_path, model):
    save_model(model, tmp_path / "model.npz")
    assert "known word can" in run(tmp_path, "explain", input="They can fish .\n").out
    assert run(tmp_path, "inspect", "--report", "page.html").code == 0
    shown = run(tmp_path, "inspect").out
    assert "smoothing" in shown and "· 1.00" not in shown
