"""EM, lexicons and partly tagged text: the objective never falls, what is told is kept, full labels are counting."""

import numpy as np
import pytest

from tagger import HMMTagger, Sentence, load_model, save_model
from tagger.corpus.partial import read_choices
from tagger.errors import TrainingError
from tagger.hmm.affixes import Letters
from tagger.hmm.em import EMText, EMTrainer, ExpectedCounts, observe
from tagger.hmm.emissions import restrict_guess
from tagger.hmm.word_tags import FirstWord, WordTagTable, lower_first_words, split_forms

TEXT = [
    ("the dog barks .", "D N V ."),
    ("a cat sleeps .", "D N V ."),
    ("the old dog sleeps", "D J N V"),
    ("dogs bark", "N V"),
    ("the bark of dogs", "D N P N"),
] * 4
PARTLY = [("the zig barks .", "D ? V ."), ("the bark sleeps", "? N|V V"), ("dogs zag", "N N|V"), ("a zig", "? ?")] * 3
RAW = ["the zig sleeps .", "a zag barks .", "the old zig", "zigs bark at dogs", "Sleeping zigs bark", "dogs"] * 3


def sentences(text):
    return [Sentence(words.split(), tags.split()) for words, tags in text]


def opened(lines):
    """Sentences of which every tag is open."""
    return [Sentence(line.split(" "), ["?"] * len(line.split(" "))) for line in lines]


def climb(partly, rare_count=3):
    """The model and the objectives of a training on partly tagged sentences, after the tagged ones."""
    seen = []
    model = HMMTagger(rare_count=rare_count, em_iterations=8, partial=True)
    model.fit([*sentences(TEXT), *partly], watch=lambda name, i, value: seen.append(value))
    return model, seen


@pytest.mark.parametrize("rare_count", [1, 3, 100])
@pytest.mark.parametrize("dense", [True, False])
def test_em_never_lowers_its_objective(rare_count, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr("tagger.arrays.keyed.MAX_DENSE_CELLS", 0)
    _, seen = climb([*sentences(PARTLY), *opened(RAW)], rare_count)
    assert len(seen) == 9
    assert (np.diff(seen) > -1e-9 * abs(seen[0])).all() and seen[-1] > seen[0] + 0.01


def test_the_prior_is_that_of_the_probabilities():
    """What `trigram_prior` and `word_prior` say equals the sum over every context, tag and word, written out."""
    model = HMMTagger(rare_count=3).fit(sentences(TEXT))
    K = len(model.classes_)
    text = EMText("some", [["the", "zig", "barks"], ["dogs"]], [np.ones((3, K), bool), np.ones((1, K), bool)])
    teacher = EMTrainer(text, model.transition_model_, model.emission_model_)
    near, words = teacher.learn(2, lambda *told: None)
    pairs, w = np.divmod(np.arange((K + 1) ** 3), K + 1)
    old, new = (t.transitions.probabilities(pairs, w) for t in (model.transition_model_, near))
    some = old > 0
    n = model.transitions_.totals[pairs] + 1
    difference = (n * old)[some] @ np.log(new[some] / old[some])
    assert teacher.trigram_prior(near) - teacher.trigram_prior(model.transition_model_) == pytest.approx(difference)
    np.testing.assert_allclose(new.reshape(-1, K + 1).sum(axis=1), 1.0, atol=1e-12)
    every = [*dict.fromkeys([*teacher.forms, *model.lexicon_.words.strings()])]
    before, after = (np.exp(m(every)[0]) for m in (model.emission_model_, words))
    np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0), rtol=1e-9)  # each tag keeps its mass
    added = after / words.scale[0] - before
    assert teacher.word_prior(teacher.n * added[: len(teacher.forms)], words.scale[0]) == pytest.approx(
        ((teacher.n * before) * np.log(after / before)).sum()
    )


def test_with_all_tags_told_expectation_is_counting():
    model = HMMTagger(rare_count=100).fit(sentences(TEXT))
    numbers = {name: k for k, name in enumerate(model.classes_)}
    K, told = len(numbers), sentences(TEXT)
    allowed = [np.eye(K, dtype=bool)[[numbers[tag] for tag in sentence.tags]] for sentence in told]
    text = EMText("told", [sentence.words for sentence in told], allowed)
    teacher = EMTrainer(text, model.transition_model_, model.emission_model_)
    found = teacher.expect(model.transition_model_, teacher.counted)
    keys, numbers3 = (np.concatenate(part) for part in zip(*found.trigrams, strict=True))
    counts = np.bincount(keys, weights=numbers3, minlength=(K + 1) ** 3)
    expected = np.zeros((K + 1, K + 1, K + 1))
    for sentence in told:
        tags = [K, K, *(numbers[tag] for tag in sentence.tags), K]
        for u, v, w in zip(tags, tags[1:], tags[2:], strict=False):
            expected[u, v, w] += 1
    np.testing.assert_allclose(counts, expected.ravel(), atol=1e-9)
    for word, row in zip(teacher.forms, found.words, strict=True):
        tags = [tag for s in told for w, tag in zip(s.words, s.tags, strict=True) if w == word]
        np.testing.assert_allclose(row, [tags.count(name) for name in model.classes_], atol=1e-9)


def test_a_fully_tagged_corpus_is_only_counted(tmp_path):
    for partial in (False, True):
        model = HMMTagger(partial=partial).fit(sentences(TEXT))
        model.partial = False
        save_model(model, tmp_path / f"{partial}.npz")
    assert (tmp_path / "True.npz").read_bytes() == (tmp_path / "False.npz").read_bytes()


def test_what_frequent_words_explain_is_not_put_down_to_others():
    """Mixtures: the shares of all parts of a probability add up to what is expected."""
    model = HMMTagger(rare_count=2).fit(sentences(TEXT))
    assert len(model.transition_model_.entries)
    found = ExpectedCounts([], np.zeros((3, len(model.classes_))), 0.0)
    _, lattice = next(model.lattices([["the", "dog", "barks"]]))
    observe(lattice, np.arange(3), model.transition_model_, found)
    assert 0 < found.words.sum() < 3 and 0 < found.trigrams[0][1].sum() < 4


def test_open_words_are_learned_from_what_surrounds_them():
    partly, _ = climb(sentences(PARTLY + [("zig barks", "? V"), ("dogs of zig", "N P ?")] * 3))
    assert partly.predict([["the", "zig", "sleeps"]]) == [["D", "N", "V"]]
    assert partly.lexicon_.known(["dog", "zig"]).tolist() == [True, False]
    assert set(partly.classes_) == set(read_choices(sentences(TEXT + PARTLY))[0]) == {"D", "N", "V", ".", "P", "J"}


def test_open_words_and_first_words_are_kept_apart(tmp_path):
    """Also where a word begins with what once marked first words."""
    raw = ["Zig barks .", "the Zig barks .", "\nZig barks .", "a \nZig"]
    model, _ = climb(opened(raw))
    forms = ["Zig", FirstWord("Zig"), "\nZig", "\n\nZig"]
    scores = model.emission_model_(forms)[0]
    assert len({row.tobytes() for row in scores}) == 4
    save_model(model, tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").emission_model_(forms)[0], scores)


def test_a_file_of_an_earlier_version_with_marked_first_words_is_read(tmp_path):
    model, _ = climb(opened([*RAW, "Zig barks .", "The zig"]))
    K, raw = len(model.classes_), model.emission_model_.raw
    assert set(raw.first.words.strings()) >= {"Zig", "Sleeping"}
    words, first = split_forms(raw.forms())
    marked = ["\r" * is_first + word for word, is_first in zip(words, first.tolist(), strict=True)]
    earlier = WordTagTable.from_dense(marked, raw.dense(words, first, K))
    save_model(model, tmp_path / "new.npz")
    arrays = {name: array for name, array in np.load(tmp_path / "new.npz").items() if not name.startswith("raw.first")}
    np.savez(tmp_path / "old.npz", **(arrays | earlier.arrays("raw")))
    old, new = (load_model(tmp_path / name) for name in ("old.npz", "new.npz"))
    assert set(old.emission_model_.raw.forms()) == set(raw.forms())
    text = [["Zig", "barks"], ["the", "Zig"], ["Sleeping", "zigs"]]
    for a, b in zip(old.predict_marginals(text), new.predict_marginals(text), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_lexicon_confines_words_and_is_stored(tmp_path):
    lexicon = {"zig": ["V"], "dog": ["V"], "sleep": ("N", "V"), "green": ["J"]}
    model = HMMTagger().fit(sentences(TEXT), lexicon=lexicon)
    save_model(model, tmp_path / "model.npz")
    for tagger in (model, load_model(tmp_path / "model.npz")):
        assert tagger.predict([["the", "zig"], ["Green", "dogs"]]) == [["D", "V"], ["J", "N"]]
        possible = np.isfinite(tagger.emission_model_(["zig", "dog", "sleep", "other", FirstWord("Green")])[0])
        names = [[name for name, may in zip(tagger.classes_, row, strict=True) if may] for row in possible]
        assert names == [["V"], ["N", "V"], ["N", "V"], tagger.classes_, ["J"]]  # dog was seen as N
    assert not model.lexicon_.known(["zig"])[0]
    _, lattice = next(model.lattices([["the", "zig"]]))
    allowed = np.ones((2, len(model.classes_)), bool)
    allowed[1, model.classes_.index("V")] = False
    narrowed = lattice.restrict(allowed)
    assert narrowed.path_scores(narrowed.best())[0] == -np.inf


@pytest.mark.parametrize("lexicon", [{}, {"xyzzy": ["N", "V"], "dog": ["J"], "A": ["D"]}])
def test_guesses_sum_to_one_with_and_without_a_lexicon(lexicon):
    model = HMMTagger().fit(sentences(TEXT), lexicon=lexicon)
    words, first = split_forms(["dog", "xyzzy", "A", "3", "日本", FirstWord("Xyzzy")])
    guess = model.emission_model_.guesser(Letters(words, 2 * first))
    restrict_guess(
        guess,
        model.emission_model_.allowed.dense(
            lower_first_words(words, first, model.emission_model_.allowed.words), len(model.classes_)
        ),
    )
    np.testing.assert_allclose(guess.sum(axis=1), 1.0, atol=1e-12)
    assert (guess[1] > 0).sum() == (2 if lexicon else len(model.classes_))
    assert (guess[5] > 0).sum() == (guess[1] > 0).sum()


def test_what_cannot_be_is_refused():
    with pytest.raises(TrainingError, match=r"'zig'.*'Q'"):
        HMMTagger().fit(sentences(TEXT), lexicon={"zig": ["N", "Q"]})
    with pytest.raises(ValueError, match=r"order.*3"):
        HMMTagger(order=3).fit(sentences(TEXT))
    with pytest.raises(ValueError, match="order"):
        HMMTagger(order=1, partial=True).fit(sentences(TEXT))
