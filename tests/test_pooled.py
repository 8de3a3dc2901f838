"""Pools of an HMM and CRFs: the weights, the calibrated lattice, trainings without a trace of some sentences, files."""

import copy
import json
import re
from itertools import pairwise, product
from math import log, prod

import numpy as np
import pytest
from feature_table import weight_table
from scipy.optimize import minimize
from scipy.special import logsumexp

from tagger import CRFTagger, HMMTagger, PooledTagger, Sentence, load_model, save_model
from tagger.chain.candidate_lattice import CandidateLattice, Candidates
from tagger.crf.candidates.proposal import block_folds
from tagger.crf.trainer import Trainer
from tagger.errors import ModelError, TrainingError
from tagger.features.template import describe
from tagger.models.checkpoint import Checkpoint
from tagger.models.explain import explain
from tagger.models.monitor import INTERRUPTED
from tagger.pooled.held_out import ParameterCounts, propose_without
from tagger.pooled.lattice import ModelOpinion, PooledLattice
from tagger.pooled.opinion_weights import fit_coverage, fit_weights
from tagger.pooled.trainer import PooledTrainer, held_out_folds, silent

TAGS = ["A", "B+C", "B+D", "E"]


def sample_sentences(seed, sentences=200):
    """Sample sentences from a chain of second order; words are those of one, two, three or four tags."""
    random = np.random.default_rng(seed)
    steps, corpus = np.random.default_rng(0).dirichlet(np.full(4, 0.3), (4, 4)), []
    for _ in range(sentences):
        u, v, words, tags = *random.integers(4, size=2).tolist(), [], []
        for _ in range(random.integers(1, 7)):
            u, v = v, random.choice(4, p=steps[u, v])
            odd = u % 2 if random.random() < 0.8 else random.integers(2)  # a hint at the tag before
            shared = [f"one{v}", f"two{v // 2}{odd}", f"not{(v + random.integers(1, 4)) % 4}{odd}", f"any{odd}"]
            words.append(random.choice(shared, p=[0.1, 0.3, 0.3, 0.3]))
            tags.append(TAGS[v])
        corpus.append(Sentence(words, tags))
    return corpus


CORPUS, DEV = sample_sentences(1), sample_sentences(2, 40)
TEXT = [
    words.split() for words in ("any0 not11 two00", "not20", "", "one1 new any1 two10", "any1 any1", "not00 not01 any0")
]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("pool") / "template.txt"
    path.write_text("word[0]\nword[-1]\nword[1]\nword[-1] & word[0]\n")
    return str(path)


def pool(template, **changes):
    return PooledTagger(**{"features": template, "max_iterations": 30, "threads": 1, "l2": 1.0} | changes)


@pytest.fixture(scope="module")
def model(template):
    return pool(template).fit(CORPUS)


# The weights of a pool


def opinions(seed, tokens, members, weights=None):
    """Random log-probabilities of candidates; the right ones are sampled from the pool with these weights."""
    random = np.random.default_rng(seed)
    rows = [
        np.stack([np.log(random.dirichlet(np.ones(n))) for _ in range(members)]) for n in random.integers(1, 6, tokens)
    ]  # (M, n) each
    right = []
    for row in rows:
        scores = np.zeros(row.shape[1]) if weights is None else np.array(weights) @ row
        right.append(int(random.choice(len(scores), p=np.exp(scores - logsumexp(scores)))))
    return rows, right


def as_arrays(rows, right):
    widths = np.array([row.shape[1] for row in rows])
    return np.concatenate(rows, axis=1), widths, np.cumsum(widths) - widths + np.array(right)


def best_weights(rows, right):
    """The weights by a general optimiser, from the likelihood token by token and a prior of ten tokens."""
    M = len(rows[0])

    def loss(w):
        likelihood = sum(w @ row[:, r] - logsumexp(w @ row) for row, r in zip(rows, right, strict=True))
        return 5 * ((w - 1 / M) ** 2).sum() - likelihood

    return minimize(loss, np.full(M, 1 / M), method="BFGS", options={"gtol": 1e-5}).x


@pytest.mark.parametrize("seed, members, weights", [(0, 2, (0.9, 0.3)), (1, 3, (0.2, 0.5, 1.0)), (2, 1, (0.7,))])
def test_weights_are_those_of_a_general_optimiser(seed, members, weights):
    rows, right = opinions(seed, 80, members, weights)
    assert fit_weights(*as_arrays(rows, right)) == pytest.approx(best_weights(rows, right), abs=1e-4)


def test_known_weights_are_found_again_and_noise_gets_none():
    rows, right = opinions(3, 6000, 3, (0.7, 0.35, 0.0))
    assert fit_weights(*as_arrays(rows, right)) == pytest.approx([0.7, 0.35, 0.0], abs=0.04)


def test_no_member_has_a_negative_or_a_huge_weight():
    rows, right = opinions(4, 150, 2, (-1.0, 9.0))
    low, high = best_weights(rows, right)
    assert low < 0 and high > 2
    assert fit_weights(*as_arrays(rows, right)).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("members", [2, 3])
def test_without_tokens_weights_are_equal(members):
    empty = np.empty(0, np.int64)
    assert fit_weights(np.empty((members, 0)), empty, empty).tolist() == [1 / members] * members


def test_coverage_is_counted():
    random = np.random.default_rng(5)
    tagsets = [sorted(random.choice(12, n, replace=False).tolist()) for n in random.integers(1, 11, 400)]
    right = random.integers(0, 12, 400)
    candidates = Candidates(np.concatenate(tagsets), np.array(list(map(len, tagsets))))
    hits = [tag in tags for tags, tag in zip(tagsets, right.tolist(), strict=True)]
    overall = (sum(hits) + 1) / 401
    expected = []
    for n in range(1, 9):
        group = [hit for hit, tags in zip(hits, tagsets, strict=True) if min(len(tags), 8) == n]
        expected.append((sum(group) + 10 * overall) / (len(group) + 10))
    np.testing.assert_allclose(fit_coverage(candidates, right), expected, rtol=1e-12)
    nothing = Candidates(np.empty(0, np.int64), np.empty(0, np.int64))
    assert fit_coverage(nothing, np.empty(0, np.int64)).tolist() == [1.0] * 8


# The lattice


@pytest.fixture(scope="module")
def lattice(model):
    """A pooled lattice of many sentences, with another coverage for each number of candidates."""
    calibrated = copy.deepcopy(model)
    calibrated.coverage_ = np.linspace(0.6, 0.95, 8)
    return calibrated.build_scorer()([sentence.words for sentence in CORPUS[:80]])


def inner(lattice):
    """The chain without coverage."""
    return CandidateLattice(lattice.lengths, lattice.K, lattice.propose, lattice.allowed)


def expected_coverage(lattice, widths):
    """Coverage by token; a token whose candidates are all tags is covered."""
    return np.array([1.0 if n == lattice.K else lattice.coverage[n - 1] for n in widths.tolist()])


def test_probabilities_of_candidates_are_those_of_the_chain_times_the_coverage(lattice):
    assert isinstance(lattice, PooledLattice)
    P, of_chain, candidates = lattice.marginals(), inner(lattice).marginals(), lattice.candidates
    coverage = expected_coverage(lattice, candidates.widths)
    assert set(candidates.widths.tolist()) >= {1, 2, 3, 4}
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    is_candidate = np.zeros(P.shape, bool)
    is_candidate[candidates.tokens, candidates.tags] = True
    np.testing.assert_allclose(P[is_candidate], (coverage[:, None] * of_chain)[is_candidate], rtol=1e-12)
    for t, row in enumerate(P):  # the rest is shared in proportion to the frequency of tags
        others = np.flatnonzero(~is_candidate[t])
        share = (1 - coverage[t]) * lattice.prior[others] / lattice.prior[others].sum()
        np.testing.assert_allclose(row[others], share, rtol=1e-9)
    tags, same = lattice.best(), np.eye(lattice.K, dtype=bool)
    np.testing.assert_allclose(lattice.probabilities(tags, same), P[np.arange(len(P)), tags], rtol=1e-12)


def test_the_prior_is_the_frequency_of_tags(lattice):
    tags = [tag for sentence in CORPUS for tag in sentence.tags]
    np.testing.assert_allclose(lattice.prior, [tags.count(tag) / len(tags) for tag in TAGS], rtol=1e-12)


def test_the_best_tags_are_the_most_probable_candidates(lattice):
    of_chain = inner(lattice).marginals()
    assert lattice.best().tolist() == of_chain.argmax(axis=1).tolist()
    assert lattice.best().tolist() != inner(lattice).best().tolist()  # the best path has others


def test_taggings_have_the_probability_that_all_tokens_are_covered(lattice):
    sentences = np.repeat(np.arange(len(lattice.lengths)), lattice.lengths)
    coverage = expected_coverage(lattice, lattice.candidates.widths)
    for i, (paths, log_z) in enumerate(zip(lattice.n_best(5000), lattice.log_z(), strict=True)):
        covered = prod(coverage[sentences == i].tolist())
        assert len(paths) == prod(lattice.candidates.widths[sentences == i].tolist())
        assert sum(np.exp(score - log_z) for score, _ in paths) == pytest.approx(covered, rel=1e-9)


def test_a_constrained_token_is_covered(lattice):
    allowed = np.ones((int(lattice.lengths.sum()), lattice.K), bool)
    constrained = np.arange(0, len(allowed), 3)
    allowed[constrained, 2:] = False
    narrow = lattice.restrict(allowed)
    P, of_chain = narrow.marginals(), inner(narrow).marginals()
    np.testing.assert_allclose(P[constrained], of_chain[constrained], rtol=1e-12)
    assert not P[constrained, 2:].any()
    coverage = expected_coverage(lattice, narrow.candidates.widths)
    free = np.setdiff1d(np.arange(len(P)), constrained)
    free = free[coverage[free] < 1]
    assert len(free) > 20 and (of_chain[free].sum(axis=1) > 1 - 1e-9).all()
    tokens, tags = free, of_chain[free].argmax(axis=1)
    np.testing.assert_allclose(P[tokens, tags], coverage[free] * of_chain[tokens, tags], rtol=1e-12)


# The chain of a pool is the weighted sum of its members'


class HookedTagger(PooledTagger):
    """Keeps its trainer, and the weights of the CRF on candidates that it was last given."""

    def trainer(self, *args):
        trainer = super().trainer(*args)
        self.hooked, convert = trainer, trainer.model_weights

        def model_weights(weights):
            self.of_candidates = weights
            return convert(weights)

        trainer.model_weights = model_weights
        return trainer


def named(corpus, layout, vector):
    """The parameters of a vector by name: features as text with tags, tag n-grams, the HMM's probability."""
    features, bigrams, start, end, trigrams, posterior = np.split(vector, layout.bounds)
    table = weight_table(corpus.features, features)
    table |= {("bigram", key): w for key, w in zip(layout.seen.tolist(), bigrams, strict=True)}
    table |= {("start", k): w for k, w in enumerate(start)} | {("end", k): w for k, w in enumerate(end)}
    table |= {("trigram", key): w for key, w in zip(layout.trigrams.tolist(), trigrams, strict=True)}
    return table | dict(zip([("HMM", 0)], posterior, strict=False))


def path_score(table, features, parts, log_p, path):
    """The score of a path by a CRF: all its parameters, one by one; `features` are texts of each token."""
    K = len(TAGS)
    total = table["start", path[0]] + table["end", path[-1]]
    for t, k in enumerate(path):
        total += sum(table.get((text, column), 0.0) for text in features[t] for column in (k, *parts[k]))
        total += table.get(("HMM", 0), 0.0) * log_p[t][k]
    total += sum(table.get(("bigram", i * K + j), 0.0) for i, j in pairwise(path))
    marked = [K, K, *path, K]
    for u, v, w in zip(marked, marked[1:], marked[2:], strict=False):
        total += table.get(("trigram", (u * (K + 1) + v) * (K + 1) + w), 0.0)
    return float(total)


def test_scores_of_paths_are_weighted_sums_of_the_members(template, monkeypatch):
    for module in ("tagger", "model_arrays"):
        monkeypatch.setattr(f"tagger.crf.{module}.rounded", lambda weights: weights.astype(np.float32))
    settings = {"features": template, "max_iterations": 30, "threads": 1, "candidates": 0.05}
    model = HookedTagger(**settings).fit(CORPUS)
    corpus, layout = model.hooked.corpus, model.hooked.layout
    hmm, of_candidates, of_all_tags = model.pool_.tolist()
    assert min(hmm, of_candidates, of_all_tags) > 0.01
    crfs = [named(corpus, layout, vector) for vector in (model.of_candidates, model.hooked.partner)]
    names = {name: len(TAGS) + a for a, name in enumerate(model.tag_parts_.names)}
    ends = [(tag.split("+")[0] + "+", "+" + tag.split("+")[-1]) for tag in TAGS]
    parts = [[names[part] for part in of_tag if part in names] for of_tag in ends]
    compared = 0
    for words in filter(None, TEXT):
        P = model.proposer_.predict_marginals([words])[0]
        log_p = [[log(max(p, 0.1 * 0.05)) for p in row] for row in P.tolist()]
        features = describe(words, corpus.features.templates)
        lattice = model.build_scorer()([words])
        options = [lattice.candidates.tags[lattice.candidates.tokens == t].tolist() for t in range(len(words))]
        found, expected = [], []
        for path in product(*options):
            found.append(lattice.path_scores(np.array(path))[0])
            scores = [path_score(crf, features, parts, log_p, path) for crf in crfs]
            from_hmm = sum(log_p[t][k] for t, k in enumerate(path))
            expected.append(of_candidates * scores[0] + of_all_tags * scores[1] + hmm * from_hmm)
        # Tokens without a choice have no scores, which are the same for all paths.
        np.testing.assert_allclose(np.array(found) - found[0], np.array(expected) - expected[0], atol=1e-4)
        compared += len(found)
    assert compared > 30


# No trace of sentences that are left out


def with_other_tags(sentences, fold):
    """The corpus with the tags of a fold turned around."""
    chosen = set(fold.tolist())
    turned = {tag: TAGS[k - 1] for k, tag in enumerate(TAGS)}
    return [s.with_tags([turned[t] for t in s.tags]) if i in chosen else s for i, s in enumerate(sentences)]


def left_out(template, sentences, fold, **settings):
    """The parts of a training without a fold: the candidates of the others, the parameters, the weights."""
    model = pool(template, **settings)
    corpus, layout = model.encode(sentences)
    others = np.setdiff1d(np.arange(len(sentences)), fold)
    parameters = ParameterCounts(corpus, layout)
    kept = parameters.kept(parameters.of(others), model.min_count, model.min_pair_count)
    changed = propose_without(corpus, sentences, fold, model, 1)
    trainer = Trainer(changed, layout, 1.0, 0.0, 500, 1e-13, 1, others, kept)
    weights = trainer.optimize(layout.centre, 500, silent).x
    sentence = np.repeat(np.arange(len(sentences)), corpus.lengths)
    tokens = np.flatnonzero(np.isin(sentence, others))
    proposal = changed.proposal.only(tokens)
    is_right = changed.is_right[np.isin(changed.proposal.candidates.tokens, tokens)]
    own = (proposal.candidates.tags, proposal.candidates.widths, proposal.log_posterior, is_right)
    names = {name for name, value in named(corpus, layout, kept.astype(float)).items() if value}
    return own, names, named(corpus, layout, weights)


def test_other_tags_of_the_sentences_left_out_change_nothing(template):
    fold = held_out_folds(np.array(list(map(len, CORPUS))))[0]
    changed = with_other_tags(CORPUS, fold)
    assert changed != CORPUS
    own, names, weights = left_out(template, CORPUS, fold)
    again, same_names, same_weights = left_out(template, changed, fold)
    for a, b in zip(own, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert names == same_names
    assert weights.keys() != same_weights.keys()  # the encodings do differ
    for name in names:
        assert weights[name] == pytest.approx(same_weights[name], abs=2e-3), name
    assert max(abs(weights[name]) for name in names) > 0.5
    assert not any(weights[name] for name in weights.keys() - names)


@pytest.mark.parametrize("min_count, min_pair_count", [(1, 1), (1, 2), (30, 30), (30, 3)])
def test_the_parameters_kept_are_those_of_a_corpus_of_the_others(template, min_count, min_pair_count):
    settings = {"min_count": min_count, "min_pair_count": min_pair_count}
    fold = block_folds(len(CORPUS))[2]
    _, names, weights = left_out(template, CORPUS, fold, **settings)
    rest = [sentence for i, sentence in enumerate(CORPUS) if i not in set(fold.tolist())]
    corpus, layout = pool(template, **settings).encode(rest)
    assert names == set(named(corpus, layout, layout.centre))
    assert names < weights.keys()


def test_parameters_are_counted(template):
    corpus, layout = pool(template).encode(CORPUS)
    counts = ParameterCounts(corpus, layout)
    every = np.arange(len(CORPUS))
    np.testing.assert_array_equal(counts.of(every), layout.counts)
    folds = [counts.of(fold)[:-1] for fold in block_folds(len(CORPUS))]  # the HMM's probability is everywhere
    np.testing.assert_array_equal(sum(folds), layout.counts[:-1])
    first = named(corpus, layout, counts.of(every[:3]))
    vocabulary = {word for sentence in CORPUS for word in sentence.words}
    spoken = [(word, tag) for sentence in CORPUS[:3] for word, tag in zip(sentence.words, sentence.tags, strict=True)]
    for word, tag in product(vocabulary, TAGS):
        assert first.get((f"word[0]={word}", TAGS.index(tag)), 0) == spoken.count((word, tag))


@pytest.mark.parametrize("sentences", [1, 2, 4, 5, 7, 49, 50, 51, 1000])
def test_folds_are_blocks_that_cover_all_sentences(sentences):
    folds = block_folds(sentences)
    assert len(folds) == min(5, sentences) and all(len(fold) for fold in folds)
    assert sorted(i for fold in folds for i in fold.tolist()) == list(range(sentences))
    if sentences == 1000:  # 50 blocks of 20, ten in each fold
        assert all((fold.reshape(10, 20) == fold[::20, None] + np.arange(20)).all() for fold in folds)


@pytest.mark.parametrize(
    "sentences, length, expected",
    [(1, 9, 0), (2, 9, 2), (3, 9, 3), (60, 10, 5), (1000, 60, 2), (1000, 100, 1), (1000, 99, 2), (2, 50_000, 1)],
)
def test_folds_are_left_out_until_their_tokens_suffice(sentences, length, expected):
    folds = held_out_folds(np.full(sentences, length))
    assert len(folds) == expected
    of_hmm = [fold.tolist() for fold in block_folds(sentences)]
    assert [fold.tolist() for fold in folds] == of_hmm[::-1][:expected] or sentences == 1
    assert len(np.unique(np.concatenate([[], *folds]))) == sum(map(len, folds))


# Further members


@pytest.fixture(scope="module")
def members(template):
    return [HMMTagger(order=1).fit(CORPUS), CRFTagger(features=template, max_iterations=5, threads=1).fit(CORPUS)]


@pytest.fixture(scope="module", params=["dev", "no dev"])
def joined(request, template, members):
    return pool(template).fit(CORPUS, X_dev=DEV if request.param == "dev" else None, add=members)


def test_without_a_dev_set_members_have_the_mean_weight(template, model, members):
    joined = pool(template).fit(CORPUS, add=members)
    assert (model.pool_ > 0).all()
    weights = [weight for _, weight in joined.member_weights()]
    assert sum(weights) == pytest.approx(model.pool_.sum())
    assert weights[3:] == pytest.approx([sum(weights) / 5] * 2)
    assert joined.pool_ == pytest.approx(model.pool_ * 3 / 5)
    np.testing.assert_allclose(joined.transitions_, 0.6 * model.transitions_, rtol=1e-6)


def test_on_a_dev_set_the_weights_of_members_are_learned(template, members):
    alone = pool(template).fit(CORPUS, X_dev=DEV)
    joined = pool(template).fit(CORPUS, X_dev=DEV, add=members)
    rows, right = [], []
    for sentence in DEV:
        lattice = alone.scorer()([sentence.words])
        P = np.stack([inner(lattice).marginals(), *(member.predict_marginals([sentence])[0] for member in members)])
        for t, tag in enumerate(sentence.tags):
            tags = lattice.candidates.tags[lattice.candidates.tokens == t].tolist()
            if len(tags) > 1 and TAGS.index(tag) in tags:
                rows.append(np.log(np.maximum(P[:, t, tags], 1e-6)))
                right.append(tags.index(TAGS.index(tag)))
    share, *weights = np.clip(best_weights(rows, right), 0, 2)
    assert 0 < share < 1 and sum(weights) > 0.01
    assert joined.pool_ == pytest.approx(share * alone.pool_, abs=1e-3)
    assert [opinion.weight for opinion in joined.members_] == pytest.approx(weights, abs=1e-3)


def test_a_pool_with_members_is_saved_and_loaded(joined, tmp_path):
    save_model(joined, tmp_path / "a.npz")
    loaded = load_model(tmp_path / "a.npz")
    assert loaded.member_weights() == joined.member_weights()
    assert [opinion.member.kind for opinion in loaded.members_] == ["hmm", "crf"]
    assert loaded.predict(TEXT) == joined.predict(TEXT)
    for a, b in zip(loaded.predict_marginals(TEXT), joined.predict_marginals(TEXT), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    save_model(loaded, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_terms_of_an_explanation_add_up_with_members(joined):
    assert sum(weight > 0 for _, weight in joined.member_weights()[3:]) > 0
    compared = 0
    for words, tokens in zip(TEXT, explain(joined, TEXT), strict=True):
        lattice = joined.scorer()([words])
        path = np.array([TAGS.index(token.tag) for token in tokens], np.int64)
        for t, token in enumerate(tokens):
            other = path.copy()
            other[t] = TAGS.index(token.runner_up)
            if lattice.considers(other).all():
                difference = (lattice.path_scores(path) - lattice.path_scores(other))[0]
                assert token.difference == pytest.approx(difference, abs=1e-4)
                compared += any("member 4, crf" in reason.name for reason in token.reasons)
    assert compared > 3 or joined.members_[1].weight == 0


@pytest.mark.parametrize(
    "other, message",
    [
        (HMMTagger().fit([Sentence(["any0", "zig"], ["A", "NEW"])]), "B+C B+D E only in the corpus; NEW only in model"),
        (HMMTagger(), "expected fitted taggers, got HMMTagger()"),
        ("hmm.npz", "expected fitted taggers, got 'hmm.npz'"),
    ],
    ids=["other tags", "not fitted", "a path"],
)
def test_members_that_cannot_join_are_refused_before_the_training(template, monkeypatch, other, message):
    monkeypatch.setattr(PooledTrainer, "prepare", lambda *args: pytest.fail("trained in vain"))
    with pytest.raises(ModelError, match=f"^add: .*{re.escape(message)}"):
        pool(template).fit(CORPUS, add=[other])


def test_only_a_list_of_members_is_accepted(template):
    with pytest.raises(TypeError, match=r"add: expected a list of taggers, got HMMTagger\(\)"):
        pool(template).fit(CORPUS, add=HMMTagger())


# Files


@pytest.fixture(scope="module")
def saved(model, members, tmp_path_factory):
    path, joined = tmp_path_factory.mktemp("saved") / "pool.npz", copy.deepcopy(model)
    joined.join_members(members, None)
    save_model(joined, path)
    with np.load(path) as arrays:
        return dict(arrays)


def without_hmm(meta, arrays):
    """All that a CRF of first order over all tags has."""
    meta |= {"threshold": None, "proposer": None}
    meta["settings"] |= {"order": 1}
    for name in [name for name in arrays if name.startswith(("hmm.", "trigrams.")) or name == "posterior"]:
        array = arrays.pop(name)
        if name.startswith(("hmm.words.", "hmm.lexicon.")):
            arrays[name.removeprefix("hmm.")] = array


FORGED = {
    "coverage 0": lambda meta, arrays: arrays["pool.coverage"].__setitem__(3, 0.0),
    "coverage 2": lambda meta, arrays: arrays["pool.coverage"].__setitem__(0, 2.0),
    "coverage nan": lambda meta, arrays: arrays["pool.coverage"].__setitem__(0, np.nan),
    "short coverage": lambda meta, arrays: arrays.update({"pool.coverage": np.ones(7)}),
    "weight nan": lambda meta, arrays: arrays["pool.weights"].__setitem__(0, np.nan),
    "weight missing": lambda meta, arrays: arrays.update({"pool.weights": np.ones(4)}),
    "member of no kind": lambda meta, arrays: meta["members"][0].pop("kind"),
    "member of other tags": lambda meta, arrays: meta["members"][0].update(tags=["A", "B+C", "B+D", "F"]),
    "member no object": lambda meta, arrays: meta["members"].__setitem__(0, 3),
    "members no list": lambda meta, arrays: meta.update(members=3),
    "member not described": lambda meta, arrays: meta["members"].pop(),
    "member without arrays": lambda meta, arrays: [arrays.pop(name) for name in [*arrays] if "member.1." in name],
    "no HMM": without_hmm,
    "another array": lambda meta, arrays: arrays.update({"member.0.more": np.ones(2)}),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_hostile_file_is_refused_in_one_line(saved, tmp_path, name):
    arrays = {key: array.copy() for key, array in saved.items()}
    meta = json.loads(arrays["meta"].tobytes())
    FORGED[name](meta, arrays)
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez(tmp_path / "forged.npz", **arrays)
    with pytest.raises(ModelError, match=r"forged\.npz") as error:
        load_model(tmp_path / "forged.npz")
    assert "\n" not in str(error.value) and ("the HMM of a pool" in str(error.value)) == (name == "no HMM")


def test_a_pool_in_a_pool_is_refused(model, tmp_path):
    """Else a file could have pools in pools without end."""
    nested = copy.deepcopy(model)
    nested.members_ = [ModelOpinion(0.1, model)]
    save_model(nested, tmp_path / "nested.npz")
    with pytest.raises(ModelError, match=r"nested\.npz.*members"):
        load_model(tmp_path / "nested.npz")


@pytest.mark.parametrize("side", ["member", "pool"])
def test_columns_and_members_do_not_meet_in_a_file(template, tmp_path, side):
    """Members get words only."""
    (tmp_path / "columns.txt").write_text("word[0]\ncolumn:pos[0]\n")
    of_columns = {"features": str(tmp_path / "columns.txt"), "max_iterations": 2, "threads": 1}
    corpus = [Sentence(s.words, s.tags, columns={"pos": s.words}) for s in CORPUS[:20]]
    joined = pool(template, **(of_columns if side == "pool" else {"max_iterations": 2})).fit(corpus)
    member = CRFTagger(**of_columns).fit(corpus) if side == "member" else HMMTagger().fit(corpus)
    joined.members_ = [ModelOpinion(0.1, member)]
    save_model(joined, tmp_path / "columns.npz")
    with pytest.raises(ModelError, match=r"columns\.npz.*features of words only"):
        load_model(tmp_path / "columns.npz")


def test_the_number_of_members_is_limited(saved, tmp_path, monkeypatch):
    np.savez(tmp_path / "two.npz", **saved)
    monkeypatch.setattr("tagger.pooled.members.MAX_MEMBERS", 2)
    load_model(tmp_path / "two.npz")
    monkeypatch.setattr("tagger.pooled.members.MAX_MEMBERS", 1)
    with pytest.raises(ModelError, match=r"two\.npz.*at most 1 members"):
        load_model(tmp_path / "two.npz")


def test_every_array_of_a_pool_is_needed(saved, tmp_path):
    for name in ("pool.weights", "pool.coverage", "posterior", "member.0.seen", "member.1.weights"):
        np.savez(tmp_path / "less.npz", **{key: array for key, array in saved.items() if key != name})
        with pytest.raises(ModelError, match=r"less\.npz"):
            load_model(tmp_path / "less.npz")


# Training


@pytest.mark.usefixtures("threads_for_all")
def test_threads_change_no_byte(template, tmp_path):
    for threads in (1, 2):
        save_model(pool(template, threads=threads).fit(CORPUS), tmp_path / f"{threads}.npz")
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_a_pool_needs_an_hmm(template):
    with pytest.raises(TrainingError, match="candidates: expected auto or a number, got all"):
        pool(template, candidates="all").fit(CORPUS)
    dense = CRFTagger(features=template, max_iterations=2, threads=1).fit(CORPUS)
    with pytest.raises(TrainingError, match=r"init: expected .*, got a CRF of all tags"):
        pool(template).fit(CORPUS, init=dense)


def test_training_continues_from_a_pool_or_a_crf(template, model):
    new = [Sentence(["any0", "zig", "zag"], ["A", "E", "A"])] * 6
    crf = CRFTagger(features=template, order=2, max_iterations=20, threads=1).fit(CORPUS)
    for first in (model, crf):
        again = pool(template).fit(new, init=first)
        assert again.proposer_ is first.proposer_ and again.pool_[2] == 0 and again.pool_[:2].all()
        assert again.predict([["any0", "zig", "zag"]]) == [["A", "E", "A"]]


def test_open_tags_are_learned_from_what_surrounds_them(template):
    text = [("the dog runs", "D N V"), ("the cat sits", "D N V"), ("a dog sits", "D N V")] * 5
    text += [("the zig runs", "D ? V|D"), ("a zig sits", "D ? ?")] * 4
    corpus = [Sentence(words.split(), tags.split()) for words, tags in text]
    open_model = pool(template, partial=True).fit(corpus)
    assert open_model.classes_ == ["D", "N", "V"]
    assert open_model.coverage_.tolist() == [1.0] * 8  # open tokens have no right tag that could be missing
    assert open_model.predict([["the", "zig", "sits"]]) == [["D", "N", "V"]]


@pytest.mark.parametrize("tags", [["?", "N"], ["N", "? ?"], ["N ?", "?", "D|N"], ["? ?", "D N", "?", "?", "?", "?"]])
def test_one_sentence_with_tags_is_enough(template, tags):
    """It cannot be left out: nothing would be learned from the others."""
    corpus = [Sentence([f"w{i}" for i in range(len(own.split()))], own.split()) for own in tags]
    few = pool(template, partial=True, max_iterations=2).fit(corpus)
    assert few.classes_[-1] == "N" and few.predict([["w0"]])


def test_an_l1_penalty_makes_weights_zero(template, model):
    sparse = pool(template, l1=2.0).fit(CORPUS)
    assert 0 < len(sparse.weights_) < len(model.weights_) / 2
    assert sparse.score(CORPUS) > 0.7


@pytest.mark.parametrize("sentences", [1, 2, 3])
def test_a_few_sentences_are_enough(template, sentences):
    text = [("the dog barks", "D N V"), ("a cat sits", "D N V"), ("the cat", "D N")][:sentences]
    words, tags = ([parts[i].split() for parts in text] for i in (0, 1))
    few = pool(template).fit(words, tags)
    assert few.predict(words) == tags
    assert few.pool_ == pytest.approx([1 / 3] * 3) or sentences > 1  # there is none to be left out


PHASES = [
    ("all tags", "a fold left out"),
    ("candidates", "a fold left out"),
    ("all tags", "all"),
    ("candidates", "all"),
]
COURSE = {"max_iterations": 200, "tolerance": 1e-3}


@pytest.fixture(scope="module")
def whole(template):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tagger.pooled.trainer.HELD_OUT_TOKENS", 1)
        return pool(template, **COURSE).fit(CORPUS)


@pytest.fixture
def phase(monkeypatch):
    """A list whose last entry is the phase of the training; one fold is left out."""
    monkeypatch.setattr("tagger.pooled.trainer.HELD_OUT_TOKENS", 1)
    phases, optimize = [], Trainer.optimize

    def recorded(self, *args):
        tags = "all tags" if self.corpus.proposal is None else "candidates"
        phases.append((tags, "all" if self.sentences is None else "a fold left out"))
        return optimize(self, *args)

    monkeypatch.setattr(Trainer, "optimize", recorded)
    return phases


@pytest.mark.parametrize("tokens, folds", [(1, 1), (20_000, 5)])
def test_the_course_of_a_training(template, phase, monkeypatch, tokens, folds):
    monkeypatch.setattr("tagger.pooled.trainer.HELD_OUT_TOKENS", tokens)
    seen = []
    model = pool(template, **COURSE).fit(CORPUS, watch=seen.append)
    assert phase == PHASES[:2] * folds + PHASES[2:]
    assert [progress.iteration for progress in seen] == list(range(1, len(seen) + 1))
    assert model.summary_["iterations"] == len(seen) <= COURSE["max_iterations"]
    losses = [progress.loss for progress in seen]
    assert None in losses and losses[-1] is not None
    assert model.summary_["weight of the HMM"] == model.pool_[0]


def resumed_training(template, path):
    """Go on from a checkpoint; return the model and what it reports, which is no iteration of an earlier phase."""
    seen = []
    resumed = pool(template, **COURSE).fit(CORPUS, watch=seen.append, checkpoint=Checkpoint(path, resume=True))
    assert not path.exists() and all(progress.loss is not None for progress in seen)
    return resumed, seen


@pytest.mark.parametrize("number", range(4), ids=map(" of ".join, PHASES))
def test_an_interrupted_training_leaves_a_model_and_goes_on(template, whole, phase, tmp_path, number):
    path, reached, stops = tmp_path / "c", [], []

    def watch(progress):
        reached.append(phase[-1])
        if stops or reached.count(PHASES[number]) == 4:
            stops.append(progress)
            return INTERRUPTED
        return None

    stopped = pool(template, **COURSE).fit(CORPUS, watch=watch, checkpoint=Checkpoint(path, every=1000, keep=True))
    iteration = stops[-1].iteration
    assert stopped.summary_["stopped"] == INTERRUPTED and stopped.summary_["iterations"] == iteration
    assert np.isfinite(stopped.pool_).all() and stopped.pool_.sum() > 0
    save_model(stopped, tmp_path / "stopped.npz")
    assert load_model(tmp_path / "stopped.npz").predict(TEXT) == stopped.predict(TEXT)

    resumed, seen = resumed_training(template, path)
    assert seen[0].iteration == iteration + 1 and seen[0].loss < stops[-1].loss
    assert resumed.summary_["loss"] == pytest.approx(whole.summary_["loss"], rel=1e-2)
    assert resumed.pool_ == pytest.approx(whole.pool_, abs=1e-6)


@pytest.mark.parametrize("number", [0, 2], ids=map(" of ".join, PHASES[:3:2]))
def test_a_killed_training_goes_on(template, whole, phase, tmp_path, number):
    """The checkpoint is that of the phase itself."""

    def watch(progress):
        if phase[-1] == PHASES[number]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool(template, **COURSE).fit(CORPUS, watch=watch, checkpoint=Checkpoint(tmp_path / "c", every=1))
    resumed, _ = resumed_training(template, tmp_path / "c")
    assert resumed.summary_["loss"] == pytest.approx(whole.summary_["loss"], rel=1e-2)


def test_large_tag_sets_have_no_crf_on_all_tags(template, phase, monkeypatch):
    monkeypatch.setattr("tagger.pooled.trainer.MAX_DENSE_TAGS", 3)
    model = pool(template).fit(CORPUS)
    assert set(phase) == {PHASES[1], PHASES[3]} and model.pool_[2] == 0 and model.pool_[:2].all()


def test_trainers_of_a_pool_share_their_settings(template):
    trainer = pool(template, l1=0.3).trainer(*(pool(template).encode(CORPUS)), CORPUS)
    assert isinstance(trainer, PooledTrainer) and trainer.dense.l1 == trainer.l1 == 0.3
