"""The objective of a CRF over candidates: against its definition, against differences, and against that of all tags."""

from math import log

import numpy as np
import oracle
import pytest
from feature_table import weight_table

from tagger import HMMTagger, Sentence
from tagger.chain.candidate_lattice import Candidates
from tagger.corpus.partial import read_choices
from tagger.crf import objective as module
from tagger.crf.candidates.objective import CandidateLikelihood
from tagger.crf.candidates.proposal import FLOOR, Proposal, cross_fit, propose, with_choices_among, with_gold
from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.parameters import EncodedCorpus, ParameterLayout
from tagger.experiments.fold_likelihood import CandidateFoldLikelihood
from tagger.features.encoder import learn_features
from tagger.features.tag_parts import TagParts
from tagger.features.template import describe, margin, parse_templates
from tagger.hmm.counting.tagged_text import TaggedText
from tagger.pooled.held_out import ParameterCounts
from tagger.words.windows import Windows

TEXTS = {
    "tagged": [
        ("ab c ad", "N N+J V+E"),
        ("c ab", "V N+J"),
        ("ad", "V+E"),
        ("ab ab c ad c", "N N+J V N+E V+E"),
        ("e c", "N+E V"),
    ],
    "partly tagged": [
        ("ab c ad", "N ? V+E"),
        ("c ab", "V|N N+J"),
        ("ad", "?"),
        ("ab ab c ad c", "N N+J|N+E V ? V+E|N"),
        ("e c", "N+E V"),
    ],
}
TEMPLATE = "word[0]\nsuffix:1[-1]\nsuffix:1[0] & word[1]\n"
THRESHOLD, L2 = 0.01, 0.3


def encoded(text, order, proposed="few", seed=0):
    """A corpus whose tokens have random candidates, or `all` tags, or `none` (a chain over all tags)."""
    sentences = [Sentence(words.split(), tags.split()) for words, tags in TEXTS[text]]
    names, tags, choices = read_choices(sentences)
    templates, K, N = parse_templates(TEMPLATE), len(names), len(tags)
    parts = TagParts(names, "+")
    windows = Windows.of([sentence.words for sentence in sentences], margin(templates))
    tokens, event_tags = choices.events(tags)
    events = Windows(windows.words, windows.places[tokens], windows.around)
    features, counts, values = learn_features(templates, events, event_tags, parts)
    proposal, is_right = None, None
    if proposed != "none":
        random = np.random.default_rng(seed)
        widths = np.full(N, K) if proposed == "all" else random.integers(1, 4, N)
        chosen = [np.sort(random.permutation(K)[:width]) for width in widths.tolist()]
        log_posterior = np.log(random.uniform(FLOOR * THRESHOLD, 1.0, widths.sum()))
        proposal = Proposal(Candidates(np.concatenate(chosen), widths), log_posterior, np.ones(widths.sum(), bool))
        proposal, is_right, _ = with_gold(proposal, tags, choices, THRESHOLD)
    lengths = np.array(list(map(len, sentences)))
    corpus = EncodedCorpus(features, values, windows, lengths, tags, choices, K, parts, proposal, is_right)
    return names, corpus, ParameterLayout(corpus, counts, order=order)


def build(text, order, proposed="few", threads=1, dtype=np.float64, groups=None, l2=L2):
    _, corpus, layout = encoded(text, order, proposed)
    kind = PenalizedLikelihood if proposed == "none" else CandidateLikelihood
    return kind(corpus, layout, l2, threads, dtype, groups=groups)


def random_weights(layout, seed=0):
    return np.random.default_rng(seed).normal(size=layout.size)


def by_definition(text, order, weights):
    """-Σ log p(right paths) + l2·‖w‖², with scores from the features as text, summed over all candidate paths."""
    names, corpus, layout = encoded(text, order)
    parts, K = layout.split(weights), len(names)
    table = np.zeros((K + 1,) * (order + 1))
    table[..., :K, :K] += parts.transitions
    table[..., K, :K] += parts.start
    table[..., :K, K] += parts.end
    if order == 2:
        for key, weight in zip(layout.trigrams.tolist(), parts.trigrams, strict=True):
            table[key // (K + 1) ** 2, key // (K + 1) % (K + 1), key % (K + 1)] += weight
    column_names = [*names, *corpus.tag_parts.names]
    by_feature = {(f, column_names[c]): w for (f, c), w in weight_table(corpus.features, parts.features).items()}
    nodes, first, total = corpus.proposal.candidates, 0, L2 * (weights @ weights)
    for words, tags in TEXTS[text]:
        rows = describe(words.split(), corpus.features.templates)
        candidates = []
        for t, row in enumerate(rows):
            own = np.flatnonzero(nodes.tokens == first + t)
            posterior = dict(zip(nodes.tags[own].tolist(), corpus.proposal.log_posterior[own], strict=True))
            candidates.append({
                k: parts.posterior[0] * p + sum(by_feature.get((f, c), 0.0) for f in row for c in columns(names, k))
                for k, p in posterior.items()
            })  # fmt: skip
        sets = [set(names) if tag == "?" else set(tag.split("|")) for tag in tags.split()]
        every = oracle.candidate_paths(order, table.tolist(), candidates)
        right = [(s, p) for s, p in every if all(names[k] in may for k, may in zip(p, sets, strict=True))]
        total += oracle.log_z(every) - oracle.log_z(right)
        first += len(rows)
    return total


def columns(names, k):
    """A tag and its parts: N+J has N+ and +J, and N has N+ and +N."""
    pieces = names[k].split("+")
    return [names[k], pieces[0] + "+", "+" + pieces[-1]]


CASES = [(text, order) for text in TEXTS for order in (1, 2)]


@pytest.mark.parametrize("text, order", CASES)
def test_the_loss_is_what_the_definition_says(text, order):
    loss = build(text, order)
    parts = loss.layout.split(random_weights(loss.layout))
    assert len(parts.posterior) == 1 and (len(parts.trigrams) > 0) == (order == 2)
    for seed in range(3):
        weights = random_weights(loss.layout, seed)
        assert loss(weights)[0] == pytest.approx(by_definition(text, order, weights), rel=1e-12)


@pytest.mark.parametrize("text, order", CASES)
def test_the_gradient_of_every_weight_equals_central_differences(text, order):
    loss = build(text, order)
    weights, step = random_weights(loss.layout), 1e-5
    _, gradient = loss(weights)
    assert (gradient - 2 * L2 * weights)[loss.layout.features_end :].any()  # the penalty's part is not all
    for i in range(loss.layout.size):
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        assert gradient[i] == pytest.approx((loss(up)[0] - loss(down)[0]) / (2 * step), abs=1e-7, rel=1e-7)


@pytest.mark.parametrize("text", TEXTS)
def test_with_all_tags_as_candidates_it_is_the_objective_of_all_tags(text):
    candidates, dense = build(text, 1, "all"), build(text, 1, "none")
    for seed in range(3):
        weights = random_weights(dense.layout, seed)
        loss, gradient = candidates(np.append(weights, 0.0))  # the last weight is that of the HMM's probability
        expected_loss, expected = dense(weights)
        assert loss == pytest.approx(expected_loss, rel=1e-9)
        np.testing.assert_allclose(gradient[:-1], expected, rtol=1e-9, atol=1e-12)


def test_curvature_is_the_diagonal_of_the_second_derivative_for_single_tokens():
    """Without neighbours nothing but p · (1 - p) bends the loss; the parts of tags share theirs."""
    alone = build("tagged", 2, groups=[np.array([2])])
    weights, step = random_weights(alone.layout), 1e-4
    found = alone.curvature(weights)
    parameters = alone.tables.parameters
    whole = np.flatnonzero(parameters.cells % parameters.W < alone.layout.K)
    for i in whole.tolist():
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        assert found[i] == pytest.approx((alone(up)[1][i] - alone(down)[1][i]) / (2 * step), abs=1e-6)
    assert (found[whole] > 2 * L2).any()


def one_by_one(lengths, tokens=0):
    return [np.array([i]) for i in range(len(lengths))]


@pytest.mark.usefixtures("threads_for_all")
@pytest.mark.parametrize("text, order", CASES)
def test_threads_change_no_bit(monkeypatch, text, order):
    monkeypatch.setattr(module, "batches", one_by_one)
    weights = random_weights(build(text, order).layout)
    results = [build(text, order, threads=threads, dtype=dtype)(weights) for threads in (1, 2) for dtype in "fd"]
    for a, b in ((0, 2), (1, 3)):
        assert results[a][0] == results[b][0]
        np.testing.assert_array_equal(results[a][1], results[b][1])
    (single, of_single), (double, of_double) = results[:2]
    assert single == pytest.approx(double, rel=1e-5)
    np.testing.assert_allclose(of_single, of_double, atol=1e-4)


@pytest.mark.parametrize("text, order", CASES)
def test_packs_change_nothing_and_parts_add_up_to_the_whole(monkeypatch, text, order):
    """Without the penalty, the loss is the mean of the estimates from parts, weighted by their tokens."""
    whole = build(text, order, l2=0.0)
    weights = random_weights(whole.layout)
    loss, gradient = whole(weights)
    parts = [build(text, order, l2=0.0, groups=[np.array(chosen)]) for chosen in ([0, 3], [1, 2, 4])]
    assert sum(part(weights)[0] / part.scale for part in parts) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(sum(part(weights)[1] / part.scale for part in parts), gradient, atol=1e-12)
    monkeypatch.setattr(module, "batches", one_by_one)
    single = build(text, order, l2=0.0)
    assert len(single.pieces) == len(TEXTS[text]) > len(whole.pieces)
    assert single(weights)[0] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(single(weights)[1], gradient, atol=1e-12)


@pytest.mark.parametrize("text, order", CASES)
def test_layout_in_small_blocks_changes_nothing(monkeypatch, text, order):
    from tagger.chain import candidates

    whole = build(text, order)
    weights = random_weights(whole.layout)
    loss, gradient = whole(weights)
    monkeypatch.setattr(candidates, "BLOCK_ARCS", 10)
    blocks = build(text, order)
    assert len(blocks.pieces[0].trellis.blocks) > 1
    assert blocks(weights)[0] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(blocks(weights)[1], gradient, atol=1e-12)


@pytest.mark.parametrize("text, order", CASES)
def test_a_fold_left_out_does_not_count(text, order):
    _, corpus, layout = encoded(text, order)
    folds = [np.array([0, 3]), np.array([1]), np.array([2, 4])]
    whole = CandidateFoldLikelihood(corpus, layout, L2, 1, np.float64, folds=folds)
    rest = build(text, order, groups=[np.array([0, 2, 3, 4])])
    weights = random_weights(layout)
    penalty, of_penalty = L2 * weights @ weights, 2 * L2 * weights
    expected_loss, expected = build(text, order)(weights)
    assert whole(weights)[0] == pytest.approx(expected_loss, rel=1e-12)
    whole.leave_out(1)
    loss, gradient = whole(weights)
    assert loss - penalty == pytest.approx((rest(weights)[0] - penalty) / rest.scale, rel=1e-12)
    np.testing.assert_allclose(gradient - of_penalty, (rest(weights)[1] - of_penalty) / rest.scale, atol=1e-12)
    whole.leave_out(None)
    np.testing.assert_allclose(whole(weights)[1], expected, atol=1e-12)


def test_observed_counts_are_those_of_the_sentences_in_use():
    _, corpus, layout = encoded("tagged", 2, "all")  # every token has a choice
    folds = [np.array([0, 3]), np.array([1, 2, 4])]
    parameters = ParameterCounts(corpus, layout)
    np.testing.assert_array_equal(parameters.of(np.arange(5))[:-1], layout.counts[:-1])
    parts = [parameters.of(fold)[:-1] for fold in folds]
    np.testing.assert_array_equal(sum(parts), layout.counts[:-1])
    assert (parts[0] != parts[1]).any()


def test_with_zero_weights_all_candidate_paths_are_equally_likely():
    loss = build("tagged", 2)
    _, corpus, _ = encoded("tagged", 2)
    paths = np.log(corpus.proposal.candidates.widths).sum()
    assert loss(np.zeros(loss.layout.size))[0] == pytest.approx(paths, rel=1e-12)


def test_the_right_tags_join_the_candidates():
    _, tags, choices = read_choices([Sentence(list("abcde"), ["X", "Y", "?", "X|Y", "Z"])])
    few = Proposal(Candidates(np.array([1, 0, 1, 1, 2, 2, 1]), np.array([1, 2, 2, 1, 1])), -np.arange(7.0), np.ones(7))
    found, is_right, missed = with_gold(few, tags, choices, 0.001)
    nodes = found.candidates
    by_token = [nodes.tags[nodes.tokens == t].tolist() for t in range(5)]
    assert by_token == [[0, 1], [0, 1], [1, 2], [0, 1, 2], [1, 2]]
    right = [nodes.tags[(nodes.tokens == t) & is_right].tolist() for t in range(5)]
    assert right == [[0], [1], [1, 2], [0, 1], [2]]
    assert missed == 2  # tokens a and e; the open one and the choice have no right tag to miss
    low = log(FLOOR * 0.001)
    assert found.log_posterior[(nodes.tokens == 0) & (nodes.tags == 0)] == pytest.approx(low)
    assert found.log_posterior[(nodes.tokens == 0) & (nodes.tags == 1)] == 0.0


CORPUS = [
    Sentence(words.split(), tags.split())
    for words, tags in [
        ("the dog barks", "D N V"),
        ("the bark of the dog", "D N P D N"),
        ("dogs bark at a dog", "N V P D N"),
        ("a bark", "D N"),
        ("they bark", "R V"),
        ("of bark", "P N"),
    ]
]


@pytest.mark.parametrize("threshold", [0.4, 0.01, 1e-9])
def test_candidates_are_the_tags_above_the_threshold_and_always_the_best(threshold):
    hmm = HMMTagger().fit(CORPUS)
    words = [["the", "bark", "zig"], [], ["zig"], ["they", "bark", "of", "bark"]]
    ((_, lattice),) = hmm.lattices(words)
    P, found = lattice.marginals(), propose(lattice, threshold)
    expected = {(t, k) for t, k in np.argwhere(threshold < P).tolist()} | set(enumerate(P.argmax(axis=1).tolist()))
    nodes = found.candidates
    assert set(zip(nodes.tokens.tolist(), nodes.tags.tolist(), strict=True)) == expected
    assert len(nodes.widths) == len(P) and found.possible.all()
    clipped = np.maximum(P[nodes.tokens, nodes.tags], FLOOR * threshold)
    np.testing.assert_allclose(found.log_posterior, np.log(clipped), atol=1e-12)


def test_candidates_for_training_come_from_models_that_have_not_seen_the_sentence():
    """*bark* in the fourth sentence is proposed by the HMM of the five others."""
    names = sorted({tag for sentence in CORPUS for tag in sentence.tags})
    lengths = np.array(list(map(len, CORPUS)))
    _, found = cross_fit({}, CORPUS, lengths, names, 0.01)
    assert found.candidates.widths.shape == (lengths.sum(),)
    hmm = HMMTagger().fit([*CORPUS[:3], *CORPUS[4:]])
    ((_, lattice),) = hmm.lattices([CORPUS[3].words])
    alone = propose(lattice, 0.01)
    own = np.flatnonzero(np.isin(found.candidates.tokens, np.arange(lengths[:3].sum(), lengths[:4].sum())))
    assert [names[k] for k in found.candidates.tags[own]] == [hmm.classes_[k] for k in alone.candidates.tags]
    np.testing.assert_allclose(found.log_posterior[own], alone.log_posterior, atol=1e-12)
    last = found.candidates.tags[found.candidates.tokens == lengths[:4].sum()]  # *they*, the only R
    assert names.index("R") not in last
    _, one = cross_fit({}, CORPUS[:1], lengths[:1], ["D", "N", "V"], 0.01)  # nothing is left to learn from
    ((_, lattice),) = HMMTagger().fit(CORPUS[:1]).lattices([CORPUS[0].words])
    np.testing.assert_array_equal(one.candidates.tags, propose(lattice, 0.01).candidates.tags)


def test_a_part_of_a_numbered_text_is_the_text_of_that_part():
    chosen = np.array([0, 2, 3])
    part, again = TaggedText.of(CORPUS, False).only(chosen), TaggedText.of([CORPUS[i] for i in chosen], False)
    assert (part.tag_set, part.strings) == (again.tag_set, again.strings)
    for name in ("tags", "lengths", "words", "seen"):
        np.testing.assert_array_equal(getattr(part, name), getattr(again, name))


def test_a_fold_without_a_tag_of_a_choice_proposes_tags_of_the_corpus():
    """Only the first sentence has R alone, so the HMM of the others does not take D|R for a choice of two tags."""
    corpus = [Sentence(["they", "bark"], ["R", "V"])]
    corpus += [Sentence(["the", "dog", "barks"], ["D|R", "N", "V"]), Sentence(["a", "dog"], ["D", "N"])] * 3
    names, lengths = ["D", "N", "R", "V"], np.array(list(map(len, corpus)))
    _, found = cross_fit({"partial": True}, corpus, lengths, names, 0.0)
    for token in range(lengths.sum()):
        tags = found.candidates.tags[found.candidates.tokens == token]
        assert len(set(tags.tolist())) == len(tags)
    the_first = found.candidates.tags[found.candidates.tokens < 2]
    assert {names[k] for k in the_first} == {"D", "N", "V"}  # of an HMM that has not seen the sentence
    rest = with_choices_among([Sentence([*"abcd"], ["D|R", "R|X", "?", "D"])], names)
    assert rest[0].tags == ("D", "?", "?", "D")


def test_of_many_equally_likely_tags_the_best_is_a_candidate_all_the_same():
    corpus = [Sentence([word], [tag]) for word, tag in zip("abcdefgh", "STUVWXYZ", strict=True)]
    ((_, lattice),) = HMMTagger().fit(corpus).lattices([["q"], ["a"]])
    P, found = lattice.marginals(), propose(lattice, 0.4).candidates
    assert P[0].max() < 0.4 < P[1].max()
    best = np.argwhere(P.max(axis=1, keepdims=True) == P)
    np.testing.assert_array_equal(np.stack([found.tokens, found.tags], axis=1), best)


def test_the_layout_has_a_weight_for_every_trigram_seen():
    names, corpus, layout = encoded("partly tagged", 2)
    counts = layout.split(layout.counts)
    expected = {}
    for _, text in TEXTS["partly tagged"]:
        tags = ["#", "#", *text.split(), "#"]
        for trigram in zip(tags, tags[1:], tags[2:], strict=False):
            if set(trigram) <= {*names, "#"}:  # no open tag
                expected[trigram] = expected.get(trigram, 0) + 1
    width, marked = len(names) + 1, [*names, "#"]
    keys = layout.trigrams
    found = [(marked[key // width**2], marked[key // width % width], marked[key % width]) for key in keys.tolist()]
    assert dict(zip(found, counts.trigrams.tolist(), strict=True)) == expected and ("#", "#", "N") in expected
    assert counts.posterior.tolist() == [len(corpus.proposal.log_posterior)]
    assert (np.diff(keys) > 0).all()
    np.testing.assert_array_equal(layout.join(layout.split(layout.counts)), layout.counts)
