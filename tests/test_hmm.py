"""The HMM: probabilities that are probabilities, and parameters that come back from sampled text."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from tagger import HMMTagger, Sentence
from tagger.guesser import Level
from tagger.leaning import best_kappa, leaning
from tagger.letters import Letters
from tagger.pooling import pool_weights, pooled
from tagger.rows import Rows
from tagger.transitions import Steps, Transitions, votes

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
    words = ["dog", "xyzzy", "A", "3", "", "日本", "a" * 50, "-", "\nDog"]
    np.testing.assert_allclose(model.words_.guesser(words).sum(axis=1), 1.0, atol=1e-12)


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
    model = HMMTagger(order=1).fit(sentences)
    # P(w | v) = λ_2 · f(w | v) + λ_1 · f(w): what interpolation mixed in is taken out again
    a, b, _ = model.transitions_.weights
    steps = np.array([0.0, 0.0, len(sentences)])
    for sentence in sentences:
        steps[:2] += [sentence.tags.count("X"), sentence.tags.count("Y")]
    prior = steps / steps.sum()
    np.testing.assert_allclose((model.pi_ - a * prior[:2] / prior[:2].sum()) / b, pi, atol=0.02)
    np.testing.assert_allclose((model.A_ - a * prior[:2]) / b, A, atol=0.02)
    np.testing.assert_allclose((model.end_ - a * prior[2]) / b, end, atol=0.02)
    np.testing.assert_allclose(np.exp(model.word_scores(["a", "b", "c"])).T, B, atol=0.02)


def test_known_trigrams_come_back_from_sampled_text():
    random = np.random.default_rng(8)
    table = random.dirichlet([1.0, 1.0, 0.3], size=(3, 3))  # [u, v, w], 2 is the mark
    table[2, 2] = [0.4, 0.6, 0.0]
    sentences = []
    for _ in range(6000):
        tags, u, v = [], 2, 2
        while (w := random.choice(3, p=table[u, v])) < 2 and len(tags) < 60:
            tags.append(w)
            u, v = v, w
        sentences.append(Sentence(["ab"[tag] for tag in tags] or ["a"], ["XY"[tag] for tag in tags] or ["X"]))
    model = HMMTagger().fit(sentences)
    seen = [(u, v) for u, v in product(range(3), range(2)) if model.transitions_.totals[u * 3 + v] > 500]
    assert len(seen) >= 4
    for u, v in seen:
        found = model.transitions_.probabilities(np.full(3, u * 3 + v), np.arange(3))
        counted = model.transitions_.weights
        shared = counted[1] + counted[0]  # what interpolation gives away
        assert np.abs(found - table[u, v]).max() < 0.03 + shared
        seen_only = np.zeros(3)
        entries, _ = model.transitions_.rows.entries(np.array([u * 3 + v]))
        seen_only[model.transitions_.rows.tags[entries]] = model.transitions_.seen[entries] / counted[2]
        np.testing.assert_allclose(seen_only, table[u, v], atol=0.05)


def test_b_holds_the_share_of_each_word_among_its_tags_words():
    model = fitted([("a b", "X X"), ("a c", "X Y")] * 500)
    entries = {
        (model.lexicon_.words[int(w)], model.classes_[int(t)]): p
        for w, t, p in zip(model.lexicon_.rows.owners, model.lexicon_.rows.tags, model.words_.B, strict=True)
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


def test_a_capital_at_the_start_of_a_sentence_means_what_it_meant_in_training():
    """Ten sentences begin with a capital that their first word has nowhere else; names have theirs everywhere."""
    names = [(f"we met {name} today", "P V E A") for name in ("Anna", "Bert", "Carla", "Dora", "Emil", "Fritz", "Gerd")]
    firsts = [(f"{word.title()} ideas sleep", "J N V") for word in ("small", "quick", "bold", "wise", "calm", "shy")]
    inside = [(f"we had {word} ideas", "P V J N") for word in ("green", "bold", "wise", "quick")]
    model = fitted(names + firsts + inside)
    assert model.predict([["Green", "ideas", "sleep"]]) == [["J", "N", "V"]]
    assert model.predict([["we", "met", "Hugo", "today"]])[0][2] == "E"
    assert model.marked([["Green", "Green"], ["Anna"], ["Zoe"], [], ["USA"]]) == [
        ["\nGreen", "Green"],
        ["Anna"],
        ["\rZoe"],
        [],
        ["USA"],
    ]


def test_leaving_one_out_picks_the_likeliest_kappa():
    """Nothing but the prior explains the data: κ as large as possible. Nothing but the counts: as small."""
    prior, weights = np.array([0.5, 0.5]), np.ones(2)
    large = best_kappa(np.zeros(2), np.full(2, 10.0), prior, weights)
    small = best_kappa(np.full(2, 10.0), np.full(2, 10.0), prior, weights)
    assert large > 1000 and small < 0.1
    p = leaning(np.array([10.0, -1e-9]), np.array([10.0, 10.0]), prior, small)
    np.testing.assert_allclose(p, [(10 + small * 0.5) / (10 + small), small * 0.5 / (10 + small)])


def test_successive_abstraction_by_hand():
    """Two levels, κ = 1 and 2: the vague one leans on the prior, the precise one on that."""
    vague = Level(np.array([5], np.uint64), Rows(np.array([2]), np.array([0, 1])), np.array([3.0, 1.0]), 1.0)
    precise = Level(np.array([7, 9], np.uint64), Rows(np.array([1, 1]), np.array([1, 0])), np.array([2.0, 8.0]), 2.0)
    P, scale = np.tile([0.5, 0.5], (3, 1)), np.ones(3)
    vague.refine(P, scale, np.array([5, 5, 6], np.uint64))
    precise.refine(P, scale, np.array([7, 8, 8], np.uint64))
    first = np.array([(3 + 0.5) / 5, (1 + 0.5) / 5])
    np.testing.assert_allclose(P * scale[:, None], [(np.array([0, 2]) + 2 * first) / 4, first, [0.5, 0.5]], rtol=1e-12)


def test_what_a_word_taught_can_be_taken_back():
    level = Level(np.array([5], np.uint64), Rows(np.array([2]), np.array([0, 1])), np.array([3.0, 1.0]), 1.0)
    P, scale = np.array([[0.5, 0.5]]), np.ones(1)
    level.refine(P, scale, np.array([5], np.uint64), np.array([[0.0, 1.0]]))
    np.testing.assert_allclose(P * scale[:, None], [[3.5 / 4, 0.5 / 4]], rtol=1e-12)


def test_weights_of_witnesses_come_back_from_what_they_pooled():
    random = np.random.default_rng(0)
    opinions = random.normal(size=(400, 3, 5))
    weights = np.array([0.9, 0.3, 0.6])
    P, log_Z = pooled(weights, opinions)
    sums = np.einsum("i,nik->nk", weights, opinions)
    np.testing.assert_allclose(P, np.exp(sums) / np.exp(sums).sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(log_Z, np.log(np.exp(sums).sum(axis=1)), rtol=1e-12)
    np.testing.assert_allclose(pool_weights(opinions, P), weights, atol=1e-3)


def pieces(word):
    """Everything the witnesses see of a word."""
    letters = Letters([word])
    found = [*letters.endings(3), *letters.beginnings(2), letters.whole(), letters.numbered()]
    return [int(key[0]) for key in found], int(letters.shape()[0]), int(letters.case()[0])


def test_letters_tell_alike_what_is_alike():
    (ox_endings, ox_shape, ox_case), (hen_endings, hen_shape, hen_case) = pieces("Oxen"), pieces("hen")
    assert ox_endings[:2] == hen_endings[:2] and ox_endings[2] != hen_endings[2]  # -n, -en; -xen, -hen
    assert ox_shape != hen_shape and ox_case != hen_case
    assert pieces("OXEN")[0] == ox_endings and pieces("OXEN")[2] != ox_case
    assert pieces("Mid-1990s")[1] == pieces("Post-20s")[1] and pieces("Mid-1990s")[1] != pieces("Mid1990s")[1]
    assert pieces("1990s")[0][-1] == pieces("20s")[0][-1] != pieces("20th")[0][-1]
    assert pieces("en")[0][2] == 0 and pieces("en")[0][-1] == 0  # no third letter, no number
    assert pieces("\nOxen")[0] == ox_endings and len({ox_case, pieces("\nOxen")[2], pieces("\rOxen")[2]}) == 3
    assert pieces("abc")[0][-2] != pieces("acb")[0][-2]
    assert pieces("")[1] == 0


def test_many_words_at_once_are_the_same_as_one_by_one():
    words = ["", "hen", "hen", "12", "3", "Oxen", "3rd", "日本", "a" * 50, "-", "", "U.S.", "\nThe", "É-1"]
    letters = Letters(words)
    for i, word in enumerate(words):
        endings, shape, case = pieces(word)
        many = [*letters.endings(3), *letters.beginnings(2), letters.whole(), letters.numbered()]
        assert [int(key[i]) for key in many] == endings
        assert (int(letters.shape()[i]), int(letters.case()[i])) == (shape, case)


def test_interpolation_by_hand():
    """Tags X Y X, X Y: the trigrams are (##X) 2, (#XY) 2, (XYX) 1, (XY#) 1, (YX#) 1.

    Left out once: ##X has f3 1/1, f2 1/1, f1 2/6; #XY 1/1, 1/2, 1/6; the others 0, and XYX f1 2/6, XY# and YX# 1/6.
    A tie goes to the simpler one: ##X votes twice for f2, #XY twice for f3, the three others for f1. With the
    vote that everybody has: λ = 4/8, 3/8, ... of 3 + 1, 2 + 1, 2 + 1.
    """
    X, Y, M = 0, 1, 2
    steps = Steps.of(np.array([X, Y, X, X, Y]), np.array([3, 2]), 2)
    assert list(zip(steps.u.tolist(), steps.v.tolist(), steps.w.tolist(), strict=True)) == [
        (M, M, X), (M, X, Y), (X, Y, X), (Y, X, M), (M, M, X), (M, X, Y), (X, Y, M)
    ]  # fmt: skip
    unigrams = np.array([3, 2, 2])
    bigrams = np.array([[0, 2, 1], [1, 0, 1], [2, 0, 0]])
    model = Transitions.count(steps, unigrams, bigrams, 2)
    np.testing.assert_allclose(model.weights, [0.4, 0.3, 0.3])
    # P(X | X, Y) = λ3 · 1/2 + λ2 · 1/2 + λ1 · 3/7
    assert model.probabilities(np.array([X * 3 + Y]), np.array([X]))[0] == pytest.approx(0.15 + 0.15 + 0.4 * 3 / 7)
    # (Y, Y) was never seen: f2 and f1 share what λ3 leaves
    assert model.probabilities(np.array([Y * 3 + Y]), np.array([X]))[0] == pytest.approx((0.15 + 0.4 * 3 / 7) / 0.7)


def test_votes_of_the_first_order_have_no_third():
    assert votes(*(np.array([5.0]),) * 4, np.array([5.0]), 100, 1).tolist() == pytest.approx([1 / 7, 6 / 7, 0.0])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dense", [True, False])
def test_transitions_sum_to_one_for_every_context(order, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr("tagger.transitions.DENSE", 0)
    model = fitted(TEXT * 20, order=order)
    K = len(model.classes_)
    for u, v in product(range(K + 1), range(K + 1)):
        if u != K and v == K:
            continue  # nothing comes before the mark but the mark
        pair, every = np.full(K + 1, u * (K + 1) + v), np.arange(K + 1)
        P = model.transitions_.probabilities(pair, every)
        assert P.sum() == pytest.approx(1.0, abs=1e-12) and (P[:K] > 0).all()
        for place in range(-1, len(model.neighbours_.entries)):
            if place < 0 or model.neighbours_.entries[place] % K == v:
                with np.errstate(divide="ignore"):  # log of P(end | start) = 0
                    scores = model.neighbours_.onward(pair, every, np.full(K + 1, place))
                assert np.exp(scores).sum() == pytest.approx(1.0, abs=1e-12)


def test_words_given_two_tags_share_what_they_share_given_one():
    """The frequent words of a tag and all others together have probability 1, whatever tag comes before."""
    model = fitted([*TEXT * 20, ("the owl sings", "D N V"), ("3 emus", "C N"), ("a newt", "D N"), ("eels swim", "N V")])
    near, K = model.neighbours_, len(model.classes_)
    assert len(near.entries) > 5
    pairs = np.arange((K + 1) ** 2)
    np.testing.assert_allclose(near.arrivals(pairs, np.zeros(len(pairs)), pairs * 0 - 2), np.log(near.other_share))
    for u, v in product(range(K + 1), range(K)):
        own = np.flatnonzero(near.entries % K == v)
        words = [model.lexicon_.words[int(e) // K] for e in near.entries[own]]
        base = np.exp(model.word_scores(words)[:, v])
        pairs = np.full(len(own), u * (K + 1) + v)
        given = np.exp(near.arrivals(pairs, np.log(base), own)).sum()
        total = given + near.others[v] * near.other_share[u * (K + 1) + v]
        # base and others add up to about 1, the rest is counted exactly
        share = near.before_rest[u * (K + 1) + v]
        assert total - share * (base.sum() + near.others[v]) == pytest.approx(1 - share, abs=1e-12)


def test_the_lattice_of_a_model_equals_its_formulas_path_by_path():
    """Counts of neighbours are made again here, in plain Python; all paths over the candidates are added up."""
    text = [*TEXT * 20, ("the owl sings", "D N V"), ("dogs dog dogs", "N V N"), ("3 emus", "C N")] * 2
    model = fitted(text)
    names, near = [*model.classes_, "#"], model.neighbours_
    K, (kappa, kappa_after) = len(model.classes_), near.kappas
    seen, before, after, pairs = Counter(), Counter(), Counter(), Counter()
    for words, tags in text:
        seen.update(words.split())
        chain = ["#", *tags.split(), "#"]
        for i, x in enumerate(words.split(), 1):
            before[chain[i - 1], chain[i], x] += 1
            after[chain[i], x, chain[i + 1]] += 1
            pairs[chain[i - 1], chain[i]] += 1
    often = {x for x, count in seen.items() if count > 10}
    assert "owl" not in often and "dogs" in often

    def word(u, v, x):
        P = np.exp(model.word_scores([x])[0, names.index(v)])
        if x in often:
            return (before[u, v, x] + kappa * P) / (pairs[u, v] + kappa)
        rest = pairs[u, v] - sum(count for (a, b, y), count in before.items() if (a, b) == (u, v) and y in often)
        return P * (rest / near.others[names.index(v)] + kappa) / (pairs[u, v] + kappa)

    def step(u, v, w, x):
        numbers = [names.index(tag) for tag in (u, v, w)]
        P = model.transitions_.probabilities(np.array([numbers[0] * (K + 1) + numbers[1]]), np.array([numbers[2]]))[0]
        total = sum(count for (a, y, _), count in after.items() if (a, y) == (v, x))
        return (after[v, x, w] + kappa_after * P) / (total + kappa_after) if x in often and total else P

    for words in (["the", "owl", "dog"], ["dogs", "dog", "emus"], ["dogs"]):
        trellis = next(model.lattices([words]))[1].trellis
        bounds = np.append(trellis.nodes, len(trellis.tags))
        choices = [[names[k] for k in trellis.tags[bounds[t] : bounds[t + 1]]] for t in range(len(words))]
        every = []
        for path in product(*choices):
            tags, xs = ["#", "#", *path, "#"], [None, *words]
            P = np.prod([step(*tags[i : i + 3], xs[i]) for i in range(len(words) + 1)])
            every.append(P * np.prod([word(*tags[i + 1 : i + 3], x) for i, x in enumerate(words)]))
        found = next(model.lattices([words]))[1]
        assert len(every) > 1 or len(words) == 1
        assert found.best()[1][0] == pytest.approx(np.log(max(every)), abs=1e-9)
        assert found.log_z()[0] == pytest.approx(np.log(sum(every)), abs=1e-9)
        for path, P in zip(product(*choices), every, strict=True):
            told = np.array([[name == tag for name in model.classes_] for tag in path])
            assert found.restrict(told).best()[1][0] == pytest.approx(np.log(P), abs=1e-9)


def test_frequent_words_know_their_neighbours():
    """After *to*/T comes V, after all other T comes N; two tags alone could not tell."""
    text = [("go to run", "V T V"), ("go at run", "V T N")] * 20
    model = fitted(text, rare_count=5)
    assert model.predict([["go", "to", "run"], ["go", "at", "run"]]) == [["V", "T", "V"], ["V", "T", "N"]]


def test_a_third_tag_decides():
    """x is A after A B and C after C B: only trigrams know."""
    text = [("a b x", "A B A"), ("c b x", "C B C")] * 20
    second, first = fitted(text, rare_count=1000), fitted(text, order=1)
    words = [["a", "b", "x"], ["c", "b", "x"]]
    assert second.predict(words) == [["A", "B", "A"], ["C", "B", "C"]]
    assert first.predict(words)[0][2] == first.predict(words)[1][2]


@pytest.mark.parametrize("text", [[("a", "X")], [("a a a", "X X X")], [("a b", "X Y")]])
def test_the_smallest_corpora_work(text):
    model = fitted(text)
    assert len(model.predict([["a", "b", "unseen"]])[0]) == 3
