"""The HMM: probabilities that are probabilities, and parameters that come back from sampled text."""

from collections import Counter
from itertools import product
from math import log

import numpy as np
import pytest

from tagger import HMMTagger, Sentence, load_model, save_model
from tagger.arrays.ragged import RaggedRows
from tagger.errors import TrainingError
from tagger.hmm import guesser, sparse_guess
from tagger.hmm.affixes import MULTIPLIER, Letters, shorten_keys
from tagger.hmm.emissions import initial_kinds
from tagger.hmm.guesser import Guesser, tag_shares
from tagger.hmm.opinion_pool import fit_weights, keep_likely_tags, pool
from tagger.hmm.smoothing import GRID, best_kappa, smooth
from tagger.hmm.sparse_guess import OwnShares
from tagger.hmm.spelling_levels import Level, learn_levels
from tagger.hmm.transitions import Steps, Transitions, interpolation_weights
from tagger.hmm.word_tags import FirstWord

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
    words = ["dog", "xyzzy", "A", "3", "", "日本", "a" * 50, "-", "Dog", "\nDog"]
    letters = Letters(words, np.array([0] * 8 + [2, 0]))
    np.testing.assert_allclose(model.emission_model_.guesser(letters).sum(axis=1), 1.0, atol=1e-12)


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
    np.testing.assert_allclose(np.exp(model.emission_model_(["a", "b", "c"])[0]).T, B, atol=0.02)


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
        entries = np.flatnonzero(model.transitions_.pairs == u * 3 + v)
        seen_only[model.transitions_.keys[entries] % 3] = model.transitions_.seen[entries] / counted[2]
        np.testing.assert_allclose(seen_only, table[u, v], atol=0.05)


def test_b_holds_the_share_of_each_word_among_its_tags_words():
    model = fitted([("a b", "X X"), ("a c", "X Y")] * 500)
    entries = {
        (model.lexicon_.words[int(w)], model.classes_[int(t)]): p
        for w, t, p in zip(model.lexicon_.rows.owners, model.lexicon_.rows.tags, model.emission_model_.B, strict=True)
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
    assert model.emission_model_.forms([["Green", "Green"], ["Anna"], ["Zoe"], [], ["USA"]]) == [
        [FirstWord("Green"), "Green"],
        ["Anna"],
        [FirstWord("Zoe")],
        [],
        ["USA"],
    ]
    assert initial_kinds(
        model.lexicon_, ["Green", "Zoe", "USA", "Zoe"], np.array([True, True, True, False])
    ).tolist() == [
        1,
        2,
        0,
        0,
    ]


def test_leaving_one_out_picks_the_likeliest_kappa():
    """Nothing but the prior explains the data: κ as large as possible. Nothing but the counts: as small."""
    prior, weights = np.array([0.5, 0.5]), np.ones(2)
    large = best_kappa(np.zeros(2), np.full(2, 10.0), prior, weights)
    small = best_kappa(np.full(2, 10.0), np.full(2, 10.0), prior, weights)
    assert large > 1000 and small < 0.1
    p = smooth(np.array([10.0, -1e-9]), np.array([10.0, 10.0]), prior, small)
    np.testing.assert_allclose(p, [(10 + small * 0.5) / (10 + small), small * 0.5 / (10 + small)])


def likeliest(terms):
    """The κ of the grid that maximises Σ weight · log((of_tag + κ · guess) / (of_all + κ)), in plain Python."""
    return max(GRID, key=lambda k: sum(w * log((max(a, 0) + k * g) / (max(b, 0) + k)) for w, a, b, g in terms))


def test_every_kappa_of_a_witness_judges_each_word_by_the_others():
    """Six words with keys of two precisions; what a word has counted itself is taken away by hand."""
    vague, precise = [1, 1, 1, 1, 2, 2], [3, 3, 4, 4, 5, 0]  # 0: nothing to say
    entries = [(0, 0, 1.0), (1, 0, 0.5), (4, 0, 1.0), (1, 1, 0.5), (2, 1, 1.0), (3, 1, 1.0), (5, 2, 1.0)]  # by tag
    prior = [0.5, 0.3, 0.2]
    guess = {(word, tag): prior[tag] for word, tag, _ in entries}
    expected = []
    for keys in (vague, precise):
        terms = {}
        for word, tag, share in entries:
            alike = [(w, t, n) for w, t, n in entries if keys[w] == keys[word] != 0 and w != word]
            here = sum(n for _, t, n in alike if t == tag), sum(n for *_, n in alike)
            if keys[word]:
                terms[word, tag] = share, *here, guess[word, tag]
        expected.append(k := likeliest(terms.values()))
        guess |= {at: (a + k * g) / (b + k) for at, (_, a, b, g) in terms.items()}
    words, tags, shares = (np.array(column) for column in zip(*entries, strict=True))
    said = [np.array(keys, np.uint64) for keys in (vague, precise)]
    levels = learn_levels(said, words, tags, shares, np.array(prior))
    assert [level.kappa for level in levels] == pytest.approx(expected)
    for level, keys in zip(levels, (vague, precise), strict=True):
        counted = Counter()
        for word, tag, share in entries:
            counted[int(shorten_keys(np.array([keys[word]], np.uint64))[0]), tag] += share * (keys[word] > 0)
        found = zip(level.keys[level.rows.owners].tolist(), level.rows.tags.tolist(), strict=True)
        assert dict(zip(found, level.counts.tolist(), strict=True)) == +counted
        assert level.keys.tolist() == sorted({key for key, _ in +counted})


def test_descriptions_keep_each_tag_once():
    suffixes = {"ing": "V", "ed": "A", "ng": "N"}
    text = [(f"{stem}{end} a", f"{tag} D") for stem in "bcdfgh" for end, tag in suffixes.items()]
    levels = [level for witness in fitted(text).emission_model_.guesser.spelling_models for level in witness]
    assert any((level.rows.widths > 1).any() for level in levels)
    for level in levels:
        assert (np.diff(level.rows.owners * 4 + level.rows.tags) > 0).all()


def test_what_is_estimated_leaves_each_token_out():
    """λ, κ and κ' of a small text, against counting in plain Python."""
    random = np.random.default_rng(4)
    text = [tuple(" ".join(random.choice([*some], 6)) for some in ("aaabbcdefgh", "XXY")) for _ in range(40)]
    text += [(f"w{i} a w{i} b", "X Y Y X" if i % 3 else "X Y X X") for i in range(12)]
    model = fitted(text, rare_count=3)
    steps = [[("#", "#"), *zip(words.split(), tags.split(), strict=True), ("#", "#")] for words, tags in text]
    tokens = [(u, x, v, w) for line in steps for (_, u), (x, v), (_, w) in zip(line, line[1:], line[2:], strict=False)]
    frequent = {x for x, n in Counter(x for _, x, *_ in tokens).items() if n > 3}
    scores = {x: np.exp(model.emission_model_([x])[0][0]) for x in frequent}
    of_tag = Counter(v for _, _, v, _ in tokens)
    others = {v: (sum(x not in frequent for _, x, t, _ in tokens if t == v) + 0.5) / (of_tag[v] + 1) for v in of_tag}
    pairs = Counter((u, v) for u, _, v, _ in tokens)
    triples = Counter((u, v, x if x in frequent else None) for u, x, v, _ in tokens)
    number = {name: k for k, name in enumerate([*model.classes_, "#"])}
    P = {(v, x): scores[x][number[v]] if x else others[v] for _, v, x in triples}
    arriving = [(n, n - 1, pairs[u, v] - 1, P[v, x]) for (u, v, x), n in triples.items()]
    assert model.transition_model_.kappas[0] == pytest.approx(likeliest(arriving))
    onward, leaving = Counter((v, x, w) for _, x, v, w in tokens), Counter((v, x) for _, x, v, _ in tokens)
    follows = model.transitions_.probabilities(*np.divmod(np.arange(27), 3)).reshape(3, 3, 3)
    chances = {(u, v, w): follows[number[u], number[v], number[w]] for u, _, v, w in tokens}
    going = [(1, onward[v, x, w] - 1, leaving[v, x] - 1, chances[u, v, w]) for u, x, v, w in tokens if x in frequent]
    assert model.transition_model_.kappas[1] == pytest.approx(likeliest(going))
    rare = [x for x in leaving if x[1] not in frequent]
    guess = {
        x: model.emission_model_.guesser(Letters([x]), own_shares(own))[0]
        for x, own in owns(rare, leaving, model.classes_).items()
    }
    total = Counter(x for _, x, *_ in tokens)
    terms = [(leaving[v, x], leaving[v, x] - 1, total[x] - 1, guess[x][number[v]]) for v, x in rare]
    assert model.emission_model_.strength == pytest.approx(likeliest(terms))


def own_shares(rows):
    """As the guesser takes them, from an array (words, K)."""
    return OwnShares(*np.nonzero(rows), rows[rows > 0])


def owns(cells, counts, classes):
    """For each word the share of each tag in its tokens, as a row."""
    rows = {x: np.array([[counts[v, x] for v in classes]], float) for _, x in cells}
    return {x: row / row.sum() for x, row in rows.items()}


def test_where_no_first_tag_is_known_no_sentence_ends_before_it_began():
    model = fitted([("q a b", "? X Y"), ("q b a", "? Y X")], partial=True, em_iterations=0)
    assert model.transitions_.A[-1, -1] == 0
    assert model.pi_.sum() == pytest.approx(1.0, abs=1e-12)


def test_rare_words_are_guessed_from_all_others_entry_by_entry():
    words, tags = ["sings", "walks", "walked", "talked", "talks"], [[1, 2], [1], [0], [0], [1, 2]]
    rows = RaggedRows(np.array([len(own) for own in tags]), np.array([tag for own in tags for tag in own]))
    counts = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0])
    learned, judged, guess = Guesser.learn(Letters(words), np.ones(5, bool), rows, counts, 3, 2)
    own = np.array([[0, 1 / 3, 2 / 3], [0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 2 / 3, 1 / 3]])
    alone = learned(Letters(words), own_shares(own))
    assert guess.tolist() == pytest.approx([alone[i, tag] for i in judged.tolist() for tag in tags[i]])


def test_a_tag_that_nothing_follows_leans_on_all_tags():
    """With open tags, Z is followed by nothing known: its row is that of all tags, and sums to one."""
    text = [("a b", "X Y"), ("b a", "Y X"), ("z q", "Z ?"), ("q z q", "? Z ?")]
    model = fitted(text, partial=True, em_iterations=0)
    z = model.classes_.index("Z")
    np.testing.assert_allclose(model.A_.sum(axis=1) + model.end_, 1.0, atol=1e-12)
    tags = Counter(tag for _, tags in text for tag in [*tags.split(), "#"] if tag != "?")
    want = [tags[name] / tags.total() for name in model.classes_]
    np.testing.assert_allclose(model.A_[z], want, rtol=1e-12)


def test_a_text_whose_trigrams_are_all_open_gives_a_model_that_loads(tmp_path):
    model = fitted([("the dog", "? N"), ("a b", "? V")] * 3, partial=True)
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").predict([["the", "dog"]]) == model.predict([["the", "dog"]])


def test_a_lexicon_and_a_choice_that_exclude_each_other_are_refused():
    text = [Sentence(["a", "zig", "b"], ["X", "X|Y", "Y"]), Sentence(["zag"], ["Z"])]
    with pytest.raises(TrainingError, match=r"'zig'.*X\|Y.*Z"):
        HMMTagger(partial=True).fit(text, lexicon={"zig": ["Z"]})
    assert HMMTagger(partial=True).fit(text, lexicon={"zig": ["Z", "Y"]}).predict([["a", "zig", "b"]])[0][1] in "YZ"


def test_successive_abstraction_by_hand():
    """Two levels, κ = 1 and 2: the vague one leans on the prior, the precise one on that."""
    vague = Level(np.array([5], np.uint64), RaggedRows(np.array([2]), np.array([0, 1])), np.array([3.0, 1.0]), 1.0)
    precise = Level(
        np.array([7, 9], np.uint64), RaggedRows(np.array([1, 1]), np.array([1, 0])), np.array([2.0, 8.0]), 2.0
    )
    P, scale = np.tile([0.5, 0.5], (3, 1)), np.ones(3)
    vague.refine(P, scale, np.array([5, 5, 6], np.uint64))
    precise.refine(P, scale, np.array([7, 8, 8], np.uint64))
    first = np.array([(3 + 0.5) / 5, (1 + 0.5) / 5])
    np.testing.assert_allclose(P * scale[:, None], [(np.array([0, 2]) + 2 * first) / 4, first, [0.5, 0.5]], rtol=1e-12)


def test_what_a_word_taught_can_be_taken_back():
    level = Level(np.array([5], np.uint64), RaggedRows(np.array([2]), np.array([0, 1])), np.array([3.0, 1.0]), 1.0)
    P, scale = np.array([[0.5, 0.5]]), np.ones(1)
    level.refine(P, scale, np.array([5], np.uint64), np.array([[0.0, 1.0]]))
    np.testing.assert_allclose(P * scale[:, None], [[3.5 / 4, 0.5 / 4]], rtol=1e-12)


def test_weights_of_witnesses_come_back_from_what_they_pooled():
    random = np.random.default_rng(0)
    opinions = random.normal(size=(400, 3, 5))
    weights = np.array([0.9, 0.3, 0.6])
    P, log_Z = pool(weights, opinions)
    sums = np.einsum("i,nik->nk", weights, opinions)
    np.testing.assert_allclose(P, np.exp(sums) / np.exp(sums).sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(log_Z, np.log(np.exp(sums).sum(axis=1)), rtol=1e-12)
    np.testing.assert_allclose(fit_weights(opinions, P), weights, atol=1e-3)


def test_weights_of_few_words_stay_near_the_usual_ones():
    """No step away from the weights found raises likelihood less penalty."""
    random = np.random.default_rng(1)
    opinions, gold = random.normal(size=(6, 3, 4)), np.eye(4)[random.integers(4, size=6)]

    def objective(a):
        return (gold * np.log(pool(a, opinions)[0])).sum() - ((a - [1.0, 0.5, 0.5]) ** 2).sum() / 2

    found = fit_weights(opinions, gold)
    slopes = [objective(found + step) - objective(found - step) for step in 1e-4 * np.eye(3)]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6)


def test_of_many_tags_the_true_and_the_likeliest_are_judged():
    """With the usual weights, 1 and 1/2, tags 3 and 1 of the first word seem likeliest, of the second 4 and 3."""
    opinions = np.array([[[0.0, 2, 1, 1, 0], [0, 0, 0, 4, 0]], [[0.0, 1, 2, 3, 4], [0, 0, 0, 0, 0]]])
    gold = np.array([[0.5, 0, 0, 0.5, 0], [0, 0, 0, 0, 1.0]])
    few, true = keep_likely_tags(opinions, gold, 3)
    np.testing.assert_array_equal(few, [opinions[0][:, [0, 1, 3]], opinions[1][:, [2, 3, 4]]])
    np.testing.assert_array_equal(true, [[0.5, 0, 0.5], [0, 0, 1]])


def test_a_word_may_have_more_tags_than_are_judged_of_others(monkeypatch):
    text = [("a b c d a b", "X Y Z X Y Z"), ("e f g e", "X Y Z Y")]
    exact = fitted(text).emission_model_
    monkeypatch.setattr(guesser, "FIT_TAGS", 1)
    monkeypatch.setattr(guesser, "BLOCK_CELLS", 6)  # two words at a time
    near = fitted(text).emission_model_
    assert near.strength == exact.strength  # words of two tags are judged by those two
    assert np.abs(near.guesser.weights - exact.guesser.weights).max() < 0.3


def test_the_weights_are_judged_by_the_rarest_words():
    """Endings tell the tags of words seen once; words seen twice have endings that lie, and do not count."""

    def learned(often):
        once = [f"{stem}{end}" for stem in ("wo", "fi", "ka", "lu", "me", "ta") for end in ("ing", "ed")]
        twice = [f"{stem}{end}" for stem in ("po", "ri", "sa", "nu", "ge", "va") for end in ("ing", "ed")]
        words, tags = [*once, *twice], [0, 1] * 6 + [1, 0] * 6
        counts = np.array([1.0] * 12 + [often] * 12)
        rows = RaggedRows(np.ones(24, np.int64), np.array(tags))
        return Guesser.learn(Letters(words), np.ones(24, bool), rows, counts, 2, 3)[0].weights

    assert not np.allclose(learned(2.0), learned(1.0))


def pieces(word, initial=0):
    """Everything the witnesses see of a word."""
    letters = Letters([word], np.array([initial]))
    found = [*letters.suffixes(3), *letters.prefixes(2), letters.lower_case(), letters.number_pattern()]
    return [int(key[0]) for key in found], int(letters.shape()[0]), int(letters.case()[0])


def test_letters_tell_alike_what_is_alike():
    (ox_endings, ox_shape, ox_case), (hen_endings, hen_shape, hen_case) = pieces("Oxen"), pieces("hen")
    assert ox_endings[:2] == hen_endings[:2] and ox_endings[2] != hen_endings[2]  # -n, -en; -xen, -hen
    assert ox_shape != hen_shape and ox_case != hen_case
    assert pieces("OXEN")[0] == ox_endings and pieces("OXEN")[2] != ox_case
    assert pieces("Mid-1990s")[1] == pieces("Post-20s")[1] and pieces("Mid-1990s")[1] != pieces("Mid1990s")[1]
    assert pieces("1990s")[0][-1] == pieces("20s")[0][-1] != pieces("20th")[0][-1]
    assert pieces("en")[0][2] == 0 and pieces("en")[0][-1] == 0  # no third letter, no number
    assert pieces("Oxen", 1)[0] == ox_endings and len({ox_case, pieces("Oxen", 1)[2], pieces("Oxen", 2)[2]}) == 3
    assert pieces("abc")[0][-2] != pieces("acb")[0][-2]
    assert pieces("")[1] == 0


def test_short_keys_are_spread_and_none_is_the_key_of_nothing():
    """The keys of single letters and of case are small numbers; their highest bits would all be 0."""
    keys = np.arange(100_000, dtype=np.uint64)
    short = shorten_keys(keys)
    assert short.dtype == np.uint32 and short[0] == 0 and len(set(short.tolist())) > 99_990
    assert 0.24 < (short[1:] < 1 << 30).mean() < 0.26
    vanishing = np.array([pow(MULTIPLIER, -1, 2**64)], np.uint64)  # its product is 1, and the highest bits of that 0
    assert shorten_keys(vanishing).tolist() == [1]


def test_of_descriptions_with_one_short_key_one_is_kept():
    keys = np.array([7, 9, 12], np.uint64)
    same = keys[1] + np.uint64(pow(MULTIPLIER, -1, 2**64))  # its product is greater by 1: the highest bits are the same
    rows = RaggedRows(np.array([1, 2, 1, 1]), np.array([0, 0, 1, 2, 3]))
    level = Level(np.append(keys, same), rows, np.arange(1.0, 6.0), 2.0).shortened()
    assert len(level.keys) == 3 and (np.diff(level.keys.astype(int)) > 0).all()
    found = level.find(np.append(keys, [same, np.uint64(5), np.uint64(0)]))
    assert found[1] == found[3] and sorted(found[:3].tolist()) == [0, 1, 2] and found[4:].tolist() == [-1, -1]
    cells = {int(i): level.rows.tags[level.rows.bounds[i] : level.rows.bounds[i + 1]].tolist() for i in found[:3]}
    assert [cells[int(i)] for i in found[:3]] == [[0], [0, 1], [2]]


def test_many_words_at_once_are_the_same_as_one_by_one():
    words = ["", "hen", "hen", "12", "3", "Oxen", "3rd", "日本", "a" * 50, "-", "", "U.S.", "The", "É-1"]
    initial = np.array([2 * (word == "The") for word in words])
    letters = Letters(words, initial)
    for i, word in enumerate(words):
        suffixes, shape, case = pieces(word, initial[i])
        many = [*letters.suffixes(3), *letters.prefixes(2), letters.lower_case(), letters.number_pattern()]
        assert [int(key[i]) for key in many] == suffixes
        assert (int(letters.shape()[i]), int(letters.case()[i])) == (shape, case)


@pytest.mark.parametrize("mark", ["\n", "\r"])
def test_no_letter_of_a_word_makes_it_a_first_word(mark):
    """A line feed or carriage return is a letter as any other mark that was never seen."""
    model = fitted()
    words = [f"{letter}Dog" for letter in (mark, "\x0b")]
    np.testing.assert_array_equal(*model.emission_model_(words)[0])
    np.testing.assert_array_equal(*model.predict_marginals([["the", word, "barks"] for word in words]))
    assert Letters([words[0]]).length() == Letters(["xDog"]).length()


def test_interpolation_by_hand():
    """Tags X Y X, X Y: the trigrams are (##X) 2, (#XY) 2, (XYX) 1, (XY#) 1, (YX#) 1.

    Left out once: ##X has f3 1/1, f2 1/1, f1 2/6; #XY 1/1, 1/2, 1/6; the others 0, and XYX f1 2/6, XY# and YX# 1/6.
    A tie goes to the simpler one: ##X votes twice for f2, #XY twice for f3, the three others for f1. With the
    vote that everybody has: λ = 4/10, 3/10, 3/10.
    """
    X, Y, M = 0, 1, 2
    steps = Steps.of(np.array([X, Y, X, X, Y]), np.array([3, 2]), 2)
    assert list(zip(steps.u.tolist(), steps.v.tolist(), steps.w.tolist(), strict=True)) == [
        (M, M, X), (M, X, Y), (X, Y, X), (Y, X, M), (M, M, X), (M, X, Y), (X, Y, M)
    ]  # fmt: skip
    unigrams = np.array([3, 2, 2])
    bigrams = np.array([[0, 2, 1], [1, 0, 1], [2, 0, 0]])
    keys, counts = np.unique((steps.u * 3 + steps.v) * 3 + steps.w, return_counts=True)
    model = Transitions.estimate(keys, counts, unigrams, bigrams, 2)
    np.testing.assert_allclose(model.weights, [0.4, 0.3, 0.3])
    # P(X | X, Y) = λ3 · 1/2 + λ2 · 1/2 + λ1 · 3/7
    assert model.probabilities(np.array([X * 3 + Y]), np.array([X]))[0] == pytest.approx(0.15 + 0.15 + 0.4 * 3 / 7)
    # (Y, Y) was never seen: f2 and f1 share what λ3 leaves
    assert model.probabilities(np.array([Y * 3 + Y]), np.array([X]))[0] == pytest.approx((0.15 + 0.4 * 3 / 7) / 0.7)


def test_votes_of_the_first_order_have_no_third():
    assert interpolation_weights(*(np.array([5.0]),) * 4, np.array([5.0]), 100, 1).tolist() == pytest.approx(
        [1 / 7, 6 / 7, 0.0]
    )


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dense", [True, False])
def test_transitions_sum_to_one_for_every_context(order, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr("tagger.arrays.keyed.MAX_DENSE_CELLS", 0)
    model = fitted(TEXT * 20, order=order)
    K = len(model.classes_)
    for u, v in product(range(K + 1), range(K + 1)):
        if u != K and v == K:
            continue  # nothing comes before the mark but the mark
        pair, every = np.full(K + 1, u * (K + 1) + v), np.arange(K + 1)
        P = model.transitions_.probabilities(pair, every)
        assert P.sum() == pytest.approx(1.0, abs=1e-12) and (P[:K] > 0).all()
        for place in range(-1, len(model.transition_model_.entries)):
            if place < 0 or model.transition_model_.entries[place] % K == v:
                with np.errstate(divide="ignore"):  # log of P(end | start) = 0
                    scores = model.transition_model_.onward(pair, every, np.full(K + 1, place))
                assert np.exp(scores).sum() == pytest.approx(1.0, abs=1e-12)


def test_words_given_two_tags_share_what_they_share_given_one():
    """The frequent words of a tag and all others together have probability 1, whatever tag comes before."""
    model = fitted([*TEXT * 20, ("the owl sings", "D N V"), ("3 emus", "C N"), ("a newt", "D N"), ("eels swim", "N V")])
    near, K = model.transition_model_, len(model.classes_)
    assert len(near.entries) > 5
    pairs = np.arange((K + 1) ** 2)
    np.testing.assert_allclose(near.arrivals(pairs, np.zeros(len(pairs)), pairs * 0 - 2), np.log(near.other_share))
    for u, v in product(range(K + 1), range(K)):
        own = np.flatnonzero(near.entries % K == v)
        words = [model.lexicon_.words[int(e) // K] for e in near.entries[own]]
        base = np.exp(model.emission_model_(words)[0][:, v])
        pairs = np.full(len(own), u * (K + 1) + v)
        given = np.exp(near.arrivals(pairs, np.log(base), own)).sum()
        total = given + near.others[v] * near.other_share[u * (K + 1) + v]
        # base and others add up to about 1, the rest is counted exactly
        share = near.before_backoff[u * (K + 1) + v]
        assert total - share * (base.sum() + near.others[v]) == pytest.approx(1 - share, abs=1e-12)


def test_the_lattice_of_a_model_equals_its_formulas_path_by_path():
    """Counts of neighbours are made again here, in plain Python; all paths over the candidates are added up."""
    text = [*TEXT * 20, ("the owl sings", "D N V"), ("dogs dog dogs", "N V N"), ("3 emus", "C N")] * 2
    model = fitted(text)
    names, near = [*model.classes_, "#"], model.transition_model_
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
        P = np.exp(model.emission_model_([x])[0][0, names.index(v)])
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
        found = next(model.lattices([words]))[1]
        nodes = found.candidates
        choices = [[names[k] for k in nodes.tags[nodes.tokens == t]] for t in range(len(words))]
        every = []
        for path in product(*choices):
            tags, xs = ["#", "#", *path, "#"], [None, *words]
            P = np.prod([step(*tags[i : i + 3], xs[i]) for i in range(len(words) + 1)])
            every.append(P * np.prod([word(*tags[i + 1 : i + 3], x) for i, x in enumerate(words)]))
        assert len(every) > 1 or len(words) == 1
        assert found.path_scores(found.best())[0] == pytest.approx(np.log(max(every)), abs=1e-9)
        assert found.log_z()[0] == pytest.approx(np.log(sum(every)), abs=1e-9)
        for path, P in zip(product(*choices), every, strict=True):
            tags = np.array([model.classes_.index(tag) for tag in path])
            alone = found.restrict(tags[:, None] == np.arange(K))
            assert alone.best().tolist() == tags.tolist()
            assert alone.log_z()[0] == pytest.approx(np.log(P), abs=1e-9)
            for lattice in (found, alone):
                assert lattice.path_scores(tags)[0] == pytest.approx(np.log(P), abs=1e-9)


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


def test_numbers_dates_addresses_and_marks_are_known_by_their_looks():
    """None of these was seen; others of their kind were."""
    kinds = {
        "CD": ["17", "2,500", "3.14", "1999", "42", "80,000"],
        "DATE": ["12/24/2001", "1/2/1998", "11/30/2010", "3/7/2004"],
        "URL": ["http://www.a.org", "http://example.com/x", "http://b.net/y", "http://www.tea.org/list"],
        ".": ["!!", "...", "?!", "!!!"],
        "NN": ["house", "tree", "stone", "window", "letter", "garden"],
    }
    text = [(" ".join(["see", word, "now"]), f"V {tag} A") for tag, words in kinds.items() for word in words]
    model = fitted(text)
    unseen = {"61": "CD", "7,300": "CD", "5/9/2003": "DATE", "http://www.c.org/z": "URL", "!!!!": ".", "gardens": "NN"}
    assert {word: model.predict([["see", word, "now"]])[0][1] for word in unseen} == unseen


def test_hundreds_of_tags_need_no_table_of_all_triples():
    """As many triples as 301³ are never laid out, so what is there is found by searching."""
    names = [f"T{i:03}" for i in range(300)]
    text = [
        (f"w{i} w{(i * 7) % 300} w{(i * 11 + 3) % 300}", " ".join(names[int(j) % 300] for j in (i, i * 7, i * 11 + 3)))
        for i in range(300)
    ]
    model = fitted(text)
    assert model.transitions_.lookup.table is None
    words = ["w5", "w35", "w58", "new"]
    assert model.predict([words])[0][:3] == ["T005", "T035", "T058"]
    (P,) = model.predict_marginals([words])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    best = model.predict_nbest([words], 3)[0]
    assert len(best) == 3 and best[0][0] >= best[1][0] >= best[2][0] and best[0][1] == model.predict([words])[0]
    pairs = np.arange(301 * 301)[::977]
    rows = np.array(
        [[model.transitions_.probabilities(np.array([pair]), np.array([w]))[0] for w in range(301)] for pair in pairs]
    )
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)


@pytest.fixture
def many_tags(monkeypatch):
    """Makes models of 28 tags that take them for many, in several blocks; words of one case or length share most."""
    monkeypatch.setattr(guesser, "DENSE_TAGS", 5)
    monkeypatch.setattr(guesser, "SPARSE_CELLS", 30 * 28)
    monkeypatch.setattr(sparse_guess, "WIDE", 2)
    random = np.random.default_rng(3)
    text = []
    for _ in range(150):
        words = ["".join(random.choice([*"abcdeAB-1"], random.integers(1, 6))) for _ in range(6)]
        tags = [
            f"T{random.integers(4) if len(word) < 3 else ord(word[-1]) % 13 + random.integers(14)}" for word in words
        ]
        text.append((" ".join([*words, "the"]), " ".join([*tags, "D"])))
    sentences = [Sentence(words.split(), tags.split()) for words, tags in text]

    def make(partly=(), **settings):
        opened = [Sentence(list(partly), ["?"] * len(partly))] if partly else []
        return HMMTagger(rare_count=3, partial=True).fit([*sentences, *opened], **settings)

    return make


STRANGE = ["", "abab", "eee", "dcbaA", "-1-", "Abc", "zzz", "xyz-", "a" * 30, "日本", "the", "1", "BABA"]


def test_many_tags_are_guessed_as_few_are(many_tags):
    emissions = many_tags().emission_model_
    known = emissions.lexicon.words.strings()
    words = [*known[:100], *STRANGE, *known[100:]]
    initial = np.arange(len(words)) % 3
    own = tag_shares(emissions.lexicon.rows, emissions.lexicon.counts, emissions.lexicon.words.find(words))
    for letters, shares in ((Letters(words, initial), own), (Letters(words, initial), OwnShares.none())):
        P = emissions.guesser(letters, shares)
        np.testing.assert_allclose(P, emissions.guesser.dense(letters, shares), rtol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)


def test_a_tag_that_no_description_of_a_word_has_is_evaluated_if_the_word_was_seen_with_it(many_tags):
    """Files may hold such words; elsewhere the whole word is a description."""
    emissions = many_tags().emission_model_
    letters = Letters(["abab", "zzz", "xyz-"])
    unlikely = np.argsort(emissions.guesser.dense(letters, OwnShares.none()), axis=1)[1:, 0]
    own = OwnShares(np.array([1, 2]), unlikely, np.ones(2))
    ((_, guess),) = emissions.guesser.sparse(letters, own, 1)
    np.testing.assert_allclose(guess.dense(), emissions.guesser.dense(letters, own), rtol=1e-12)
    cells = set(zip(guess.rows.owners.tolist(), guess.rows.tags.tolist(), strict=True))
    assert cells >= {(1, int(unlikely[0])), (2, int(unlikely[1]))}


def test_words_of_a_group_are_evaluated_at_their_own_tags_only(many_tags):
    letters = Letters(STRANGE)
    (_, guess), *_ = many_tags().emission_model_.guesser.sparse(letters, OwnShares.none(), 2)
    assert guess.rows.widths.min() == 2 and guess.rows.widths.mean() < 20  # of 28
    assert 1 < len(guess.base) < len(guess.groups)


@pytest.mark.parametrize("settings", [{}, {"lexicon": {"zzz": ["T1", "T2"]}}, {"partly": ["zzz", "abc", "the"]}])
def test_likely_tags_are_the_best_of_all(many_tags, settings):
    """Of frequent, rare and unknown words, inside and at the start of sentences."""
    emissions = many_tags(**settings).emission_model_
    forms = [*emissions.lexicon.words.strings(), *STRANGE, *map(FirstWord, ["Zab", "Eda"])]
    every, places = emissions(forms)
    tags, scores, ids = emissions.likely_tags(forms, 4, 0.05)
    np.testing.assert_array_equal(ids, places)
    for i, row in enumerate(every + np.log(emissions.prior)):
        likely = [int(tag) for tag in np.argsort(-row, kind="stable")[:4] if row[tag] >= row.max() + log(0.05)]
        kept = tags[i][tags[i] >= 0]
        np.testing.assert_allclose(row[kept], row[likely], rtol=1e-12)  # ties may change places
        np.testing.assert_allclose(scores[i][: len(kept)], every[i][kept], rtol=1e-12)
        assert np.isneginf(scores[i][len(kept) :]).all() and len(set(kept.tolist())) == len(kept)


@pytest.mark.parametrize("dense_tags", [0, 128])
def test_no_words_and_few_tags_have_likely_tags(monkeypatch, dense_tags):
    monkeypatch.setattr(guesser, "DENSE_TAGS", dense_tags)
    emissions = fitted().emission_model_
    tags, scores, ids = emissions.likely_tags([], 10, 0.01)
    assert tags.shape == scores.shape == (0, 4) and len(ids) == 0
    tags, scores, _ = emissions.likely_tags(["dog", "xyzzy"], 10, 1e-9)
    assert tags[0, 0] == 2 and [sorted(row) for row in tags.tolist()] == [[0, 1, 2, 3]] * 2
    assert np.isfinite(scores).all()
