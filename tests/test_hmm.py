"""The HMM: probabilities that are probabilities, and parameters that come back from sampled text."""

import numpy as np
import pytest

from tagger import HMMTagger, Sentence
from tagger.guesser import Guesser, best_kappa, descriptions
from tagger.rows import Rows

TEXT = [("the dog barks", "D N V"), ("a dog", "D N"), ("dogs bark", "N V"), ("The 3 cats sleep", "D C N V")]


def fitted(text=TEXT, **settings):
    return HMMTagger(**settings).fit([Sentence(words.split(), tags.split()) for words, tags in text])


def test_start_and_every_row_of_transitions_with_its_end_sum_to_one():
    model = fitted()
    assert model.pi_.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(model.A_.sum(axis=1) + model.end_, 1.0, atol=1e-12)
    assert (model.A_ > 0).all() and (model.pi_ > 0).all() and (model.end_ > 0).all()


def test_guesses_sum_to_one_for_any_word():
    model = fitted()
    words = ["dog", "xyzzy", "A", "3", "", "日本", "a" * 50, "-"]
    np.testing.assert_allclose(model.guesser_(words).sum(axis=1), 1.0, atol=1e-12)


def test_transitions_are_counted_within_sentences_only():
    model = fitted([("a b", "X Y")] * 50)
    X, Y = 0, 1
    assert model.A_[X, Y] > 0.95 and model.end_[Y] > 0.95 and model.pi_[X] > 0.95
    assert model.A_[Y, X] < 0.05


def test_known_parameters_come_back_from_sampled_text():
    random = np.random.default_rng(7)
    pi, A, end = np.array([0.7, 0.3]), np.array([[0.2, 0.6], [0.5, 0.2]]), np.array([0.2, 0.3])
    B = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    sentences = []
    for _ in range(4000):
        tag, words, tags = random.choice(2, p=pi), [], []
        while tag < 2:
            tags.append("XY"[tag])
            words.append("abc"[random.choice(3, p=B[tag])])
            tag = random.choice(3, p=np.append(A[tag], end[tag]))
        sentences.append(Sentence(words, tags))
    model = HMMTagger().fit(sentences)
    np.testing.assert_allclose(model.pi_, pi, atol=0.02)
    np.testing.assert_allclose(model.A_, A, atol=0.02)
    np.testing.assert_allclose(model.end_, end, atol=0.02)
    np.testing.assert_allclose(np.exp(model.word_scores(["a", "b", "c"])).T, B, atol=0.02)


def test_b_holds_the_share_of_each_word_among_its_tags_words():
    model = fitted([("a b", "X X"), ("a c", "X Y")] * 500)
    entries = {
        (model.lexicon_.words[int(w)], model.classes_[int(t)]): p
        for w, t, p in zip(model.lexicon_.rows.owners, model.lexicon_.rows.tags, model.B_, strict=True)
    }
    assert entries == {
        ("a", "X"): pytest.approx(2 / 3, abs=0.01),
        ("b", "X"): pytest.approx(1 / 3, abs=0.01),
        ("c", "Y"): pytest.approx(1.0, abs=0.01),
    }


def test_endings_decide_unknown_words():
    stems = ["walk", "jump", "talk", "play", "look", "turn", "work", "call", "help", "open"]
    text = [(f"{stem}ing {stem}ed {stem}s", "G P S") for stem in stems]
    model = fitted(text)
    assert model.predict([["zapping", "zapped", "zaps"]]) == [["G", "P", "S"]]


def test_a_capital_at_the_start_of_a_sentence_is_forgiven():
    model = fitted(
        [("green ideas sleep", "J N V"), ("Anna sleeps", "E V"), ("Bert runs", "E V"), ("Carla hums", "E V")]
    )
    assert model.predict([["Green", "ideas", "sleep"]]) == [["J", "N", "V"]]
    assert model.uncapitalised([["Green", "Green"], ["Anna"], ["Zoe"], []]) == [
        ["green", "Green"],
        ["Anna"],
        ["Zoe"],
        [],
    ]


def test_leaving_one_out_picks_the_likeliest_kappa():
    """Nothing but the prior explains the data: κ as large as possible. Nothing but the counts: as small."""
    prior, weights = np.array([0.5, 0.5]), np.ones(2)
    large, _ = best_kappa(np.zeros(2), np.full(2, 10.0), prior, weights)
    small, p = best_kappa(np.full(2, 10.0), np.full(2, 10.0), prior, weights)
    assert large > 1000 and small < 0.1
    np.testing.assert_allclose(p, (10 + small * 0.5) / (10 + small))


def test_successive_abstraction_by_hand():
    """Two levels, κ = 1 and 2: ((3 + ½)/5 … leaned on uniform), then the class leans on that."""
    from tagger.vocab import StringTable

    table, ids = StringTable.build(["", "class x"])
    cells = np.sort(np.array([ids[0] * 2, ids[0] * 2 + 1, ids[1] * 2 + 1]))
    counts = np.array([{ids[0] * 2: 3.0, ids[0] * 2 + 1: 1.0, ids[1] * 2 + 1: 2.0}[c] for c in cells.tolist()])
    guess = Guesser(table, Rows.of(cells, 2, 2), counts, np.array([1.0, 2.0, 1.0]), 2)
    vague = np.array([(3 + 0.5) / 5, (1 + 0.5) / 5])
    precise = (np.array([0, 2]) + 2 * vague) / (2 + 2)
    np.testing.assert_allclose(guess(["dog"])[0], precise, rtol=1e-12)
    np.testing.assert_allclose(guess(["Dog"])[0], vague, rtol=1e-12)


def test_descriptions_go_from_vague_to_precise():
    assert descriptions("Oxen", 3) == ["", "class X", "shape Xx", "X -n", "X -en", "X -xen"]
    assert descriptions("a", 2)[-1] is None


@pytest.mark.parametrize("text", [[("a", "X")], [("a a a", "X X X")], [("a b", "X Y")]])
def test_the_smallest_corpora_work(text):
    model = fitted(text)
    assert len(model.predict([["a", "b", "unseen"]])[0]) == 3
