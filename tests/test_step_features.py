"""Features of steps (`@ lower[0]`): every answer of the chain against its definition, path by path."""

import tracemalloc
from itertools import pairwise

import numpy as np
import oracle
import pytest
from feature_table import weight_table
from program import run

from tagger import CRFTagger, PooledTagger, Sentence, load_model, save_model
from tagger.chain import scores as scores_module
from tagger.chain.forward_backward import forward_backward, sum_kernel
from tagger.chain.lattice import DenseLattice
from tagger.chain.pack import Pack
from tagger.chain.scores import Chain, StepTransitions
from tagger.corpus.partial import read_choices
from tagger.crf import objective as objective_module
from tagger.crf import scorer as scorer_module
from tagger.crf.candidates.objective import CandidateLikelihood
from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.parameters import step_events
from tagger.errors import ModelError, TemplateError
from tagger.features.template import SHIPPED, parse_templates, sources_of, template_text
from tagger.models.explain import explain
from tagger.pooled.held_out import ParameterCounts

TEMPLATE = "word[0]\nsuffix:1[-1]\n@ bias[0]\n@ lower[0]\n@ suffix:1[1]\n@ suffix:1[-1] & lower[0]\n"
CORPUS = [
    ("ab c ad", "N J V"),
    ("c ab", "V J"),
    ("ad", "V"),
    ("ab ab c ad c", "N J V N V"),
    ("Ab c", "N V"),
    ("ab ab c ad c", "N N V J V"),
]
PARTLY = [("ab c ad", "N ? V"), ("c ab", "V|N J"), ("ab ab c ad c", "N J|N V ? V|N"), ("c", "?"), ("Ab c", "N V")]
KINDS = {
    "all": {"candidates": "all"},
    "in blocks": {"candidates": "all"},
    "candidates": {"candidates": 0.02},
    "second order": {"order": 2},
}
CASES = [(kind, text) for kind in KINDS for text in ("tagged", "partly")]
L2 = 0.3


@pytest.fixture(autouse=True)
def blocks(request, monkeypatch):
    """Blocks of two steps for the kind that has its name from them; no sentence is then in one block."""
    own = request.node.callspec.params.values() if hasattr(request.node, "callspec") else ()
    if "in blocks" in own:
        monkeypatch.setattr(scores_module, "BLOCK_CELLS", 9 * 2)


def sentences(corpus=CORPUS):
    return [Sentence(words.split(), tags.split()) for words, tags in corpus]


def tagger(kind, tmp_path, template=TEMPLATE, **changes):
    (tmp_path / "own.txt").write_text(template)
    settings = {"features": str(tmp_path / "own.txt"), "max_iterations": 15, "l2": 0.1, "min_pair_count": 1}
    return CRFTagger(**settings | KINDS[kind] | changes)


def observations(words, t):
    """The features of TEMPLATE at token t as text, and those of the step to it."""
    at = dict(enumerate(words))
    last, here = at[t - 1][-1] if t else "<before>", at[t].lower()
    following = at[t + 1][-1] if t + 1 in at else "<after>"
    of_token = [f"word[0]={at[t]}", f"suffix:1[-1]={last}"]
    return of_token, [
        "bias[0]",
        f"lower[0]={here}",
        f"suffix:1[1]={following}",
        f"suffix:1[-1]={last} & lower[0]={here}",
    ]


class Definition:
    """The score of a path, from a table of weights by text, tag and pair of tags."""

    def __init__(self, features, weights, K, chain, trigrams=(), posterior=0.0):
        self.table, self.K, self.posterior = weight_table(features, weights), K, posterior
        self.start, self.steps, self.end = chain
        self.trigrams = dict(trigrams)

    def score(self, words, path, log_posterior=None):
        if not words:
            return 0.0
        K, total = self.K, self.start[path[0]] + self.end[path[-1]]
        for t, k in enumerate(path):
            of_token, of_step = observations(words, t)
            total += sum(self.table.get((text, k), 0.0) for text in of_token)
            if log_posterior is not None:
                total += self.posterior * log_posterior[t][k]
            if t:
                pair = path[t - 1] * K + k
                total += self.steps[path[t - 1]][k] + sum(self.table.get((text, K + pair), 0.0) for text in of_step)
        marked = [K, K, *path, K]
        for u, v, w in zip(marked, marked[1:], marked[2:], strict=False):
            total += self.trigrams.get((u * (K + 1) + v) * (K + 1) + w, 0.0)
        return total

    def paths(self, words, candidates, log_posterior=None):
        every = [(self.score(words, path, log_posterior), path) for path in product_of(candidates)]
        return sorted(every, key=lambda found: (-found[0], found[1]))


def product_of(candidates):
    paths = [()]
    for tags in candidates:
        paths = [(*path, k) for path in paths for k in tags]
    return paths


def encoded(kind, text, tmp_path):
    corpus = sentences(PARTLY if text == "partly" else CORPUS)
    model = tagger(kind, tmp_path, partial=text == "partly")
    encoding, layout = model.encode(corpus)
    return corpus, model, encoding, layout


def objective(encoding, layout, threads=1, dtype=np.float64):
    make = PenalizedLikelihood if encoding.proposal is None else CandidateLikelihood
    return make(encoding, layout, L2, threads, dtype)


def loss_by_definition(corpus, model, encoding, layout, weights):
    parts, K = layout.split(weights), encoding.K
    chain = (parts.start, parts.transitions, parts.end)
    trigrams = zip(layout.trigrams.tolist(), parts.trigrams.tolist(), strict=True)
    posterior = float(parts.posterior.sum())
    definition = Definition(model.features_, parts.features, K, chain, trigrams, posterior)
    total, first, nodes = L2 * (weights @ weights), 0, None
    if encoding.proposal is not None:
        nodes = encoding.proposal.candidates
    for sentence in corpus:
        T, candidates, log_posterior = len(sentence), [range(K)] * len(sentence), None
        if nodes is not None:
            own = [np.flatnonzero(nodes.tokens == first + t) for t in range(T)]
            candidates = [nodes.tags[rows].tolist() for rows in own]
            values = encoding.proposal.log_posterior
            log_posterior = [dict(zip(nodes.tags[rows].tolist(), values[rows], strict=True)) for rows in own]
        every = definition.paths(sentence.words, candidates, log_posterior)
        allowed = [set(model.classes_) if tag == "?" else set(tag.split("|")) for tag in sentence.tags]
        right = [(s, p) for s, p in every if all(model.classes_[k] in may for k, may in zip(p, allowed, strict=True))]
        total += oracle.log_z(every) - oracle.log_z(right)
        first += T
    return total


@pytest.mark.parametrize("kind, text", CASES)
def test_loss_and_gradient_are_what_the_definition_says(kind, text, tmp_path):
    corpus, model, encoding, layout = encoded(kind, text, tmp_path)
    loss = objective(encoding, layout)
    weights, step = np.random.default_rng(0).normal(size=layout.size), 1e-5
    assert layout.steps_begin < layout.features_end
    value, gradient = loss(weights)
    assert value == pytest.approx(loss_by_definition(corpus, model, encoding, layout, weights), rel=1e-12)
    for i in range(layout.size):
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        assert gradient[i] == pytest.approx((loss(up)[0] - loss(down)[0]) / (2 * step), abs=1e-6, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_packs_change_no_bit(kind, tmp_path, monkeypatch):
    _, _, encoding, layout = encoded(kind, "partly", tmp_path)
    weights = np.random.default_rng(0).normal(size=layout.size)
    whole = objective(encoding, layout)(weights)
    monkeypatch.setattr(
        objective_module, "batches", lambda lengths, tokens: [np.array([i]) for i in range(len(lengths))]
    )
    one, several = (objective(encoding, layout, threads)(weights) for threads in (1, 3))
    assert one[0] == several[0] == pytest.approx(whole[0], rel=1e-13)
    np.testing.assert_array_equal(one[1], several[1])
    np.testing.assert_allclose(one[1], whole[1], atol=1e-12)


def test_float32_is_close_and_extreme_scores_are_exact(tmp_path):
    corpus, model, encoding, layout = encoded("all", "tagged", tmp_path)
    weights = np.random.default_rng(0).normal(size=layout.size)
    a, b = objective(encoding, layout, dtype=np.float32)(weights), objective(encoding, layout)(weights)
    assert a[0] == pytest.approx(b[0], rel=1e-5)
    np.testing.assert_allclose(a[1], b[1], atol=1e-4)
    weights *= 100  # too wide for scaled sums
    assert objective(encoding, layout)(weights)[0] == pytest.approx(
        loss_by_definition(corpus, model, encoding, layout, weights), rel=1e-12
    )


def test_a_pair_of_tags_has_a_weight_if_it_was_seen_with_the_feature(tmp_path):
    _, model, _, layout = encoded("all", "tagged", tmp_path)
    features, K, names = model.features_, 3, model.classes_
    seen = set()
    for sentence in sentences():
        for t, (a, b) in enumerate(pairwise(sentence.tags), 1):
            seen |= {(text, names.index(a), names.index(b)) for text in observations(sentence.words, t)[1]}
    table = weight_table(features, layout.counts[: layout.features_end])
    assert {(text, *divmod(column - K, K)) for text, column in table if column >= K} == seen
    assert table["bias[0]", K + names.index("N") * K + names.index("J")] == 2


@pytest.fixture(params=KINDS)
def fitted(request, tmp_path):
    return tagger(request.param, tmp_path).fit(sentences())


TEXT = [text.split() for text in ("ab c ad ab", "c", "", "new c Ab", "ad ad")]


def definition_of(model):
    keys = zip(model.trigrams_.keys.tolist(), model.trigrams_.weights.tolist(), strict=True)
    chain = (model.start_.tolist(), model.transitions_.tolist(), model.end_.tolist())
    posterior = float(model.posterior_weight_.sum())
    return Definition(model.features_, model.weights_.astype(float), len(model.classes_), chain, keys, posterior)


def all_paths(model, words):
    K = len(model.classes_)
    if model.proposer_ is None:
        return definition_of(model).paths(words, [range(K)] * len(words))
    ((_, lattice),) = model.proposer_.lattices([words])
    P = lattice.marginals()
    candidates = [[k for k in range(K) if row[k] > model.threshold_ or row[k] == row.max()] for row in P]
    log_p = np.log(np.maximum(P, 0.1 * model.threshold_))
    return definition_of(model).paths(words, candidates, log_p)


def test_every_answer_equals_its_definition(fitted):
    assert (fitted.weights_[fitted.features_.steps_begin :] != 0).any()
    score, sizes = fitted.build_scorer(), []
    for words in TEXT:
        lattice, every = score([words]), all_paths(fitted, words)
        z = oracle.log_z(every)
        log_p = {path: s - z for s, path in every}
        found, log_z = lattice.n_best(1000)[0], lattice.log_z()[0]
        assert [s - log_z for s, _ in found] == pytest.approx([s - z for s, _ in every], abs=1e-5)
        assert all(log_p[tuple(path.tolist())] == pytest.approx(s - log_z, abs=1e-5) for s, path in found)
        best = lattice.best()
        assert lattice.path_scores(best)[0] - log_z == pytest.approx(every[0][0] - z, abs=1e-5)
        if words:
            np.testing.assert_allclose(lattice.marginals(), oracle.node_marginals(every, 3), atol=1e-5)
        sizes.append(len(every))
    assert max(sizes) > 5
    together = score(TEXT)
    assert together.log_z() == pytest.approx([score([words]).log_z()[0] for words in TEXT], abs=1e-5)


def test_the_trellis_has_the_same_numbers(fitted):
    for words in (["ab", "c", "ad", "ab"], ["c"]):
        trellis, every = fitted.trellis(words), all_paths(fitted, words)
        z = oracle.log_z(every)
        np.testing.assert_allclose(trellis.tables.marginals(3), oracle.node_marginals(every, 3), atol=1e-5)
        assert trellis.best.tags == [fitted.classes_[k] for k in every[0][1]]
        assert trellis.best.score - trellis.log_z == pytest.approx(every[0][0] - z, abs=1e-5)


def test_the_terms_of_an_explanation_add_up(fitted):
    words = ["ab", "c", "ad", "ab"]
    log_p = {path: s for s, path in all_paths(fitted, words)}
    names = []
    for t, token in enumerate(explain(fitted, [words])[0]):
        path = [fitted.classes_.index(tag) for tag in fitted.predict([words])[0]]
        other = [*path[:t], fitted.classes_.index(token.runner_up), *path[t + 1 :]] if token.runner_up else path
        if tuple(other) in log_p:
            assert token.difference == pytest.approx(log_p[tuple(path)] - log_p[tuple(other)], abs=1e-5)
        names += [reason.name for reason in token.reasons]
    assert any(name.startswith("@ lower[0]=c, after") for name in names)
    assert any(name.startswith("@ ") and "of the next token" in name for name in names)


def test_a_model_is_stored_whole_and_written_the_same_again(fitted, tmp_path):
    save_model(fitted, tmp_path / "a.npz")
    again = load_model(tmp_path / "a.npz")
    save_model(again, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    for one, other in zip(fitted.predict_marginals(TEXT), again.predict_marginals(TEXT), strict=True):
        np.testing.assert_array_equal(one, other)


def test_l1_drops_weights_and_features_of_steps(tmp_path):
    free = tagger("all", tmp_path, l2=0.0, max_iterations=30).fit(sentences())
    sparse = tagger("all", tmp_path, l2=0.0, l1=1.0, max_iterations=30).fit(sentences())
    own = [len(m.weights_) - m.features_.steps_begin for m in (free, sparse)]
    assert 0 <= own[1] < own[0]
    assert sparse.predict(TEXT)


def test_training_continues_from_a_model_with_further_tags(tmp_path):
    model = tagger("all", tmp_path).fit(sentences())
    more = [Sentence(["ab", "c", "zz"], ["N", "M", "V"])]
    adapted = tagger("all", tmp_path, candidates="auto", max_iterations=1, l2=1e6).fit(more, init=model)
    K, names = len(adapted.classes_), adapted.classes_
    new, old = (weight_table(m.features_, m.weights_.astype(float)) for m in (adapted, model))
    for (text, column), weight in old.items():
        i, j = (names.index(model.classes_[k]) for k in divmod(column - 3, 3)) if column >= 3 else (0, 0)
        place = K + i * K + j if column >= 3 else names.index(model.classes_[column])
        assert new[text, place] == pytest.approx(weight, abs=0.02), text
    free = tagger("all", tmp_path, candidates="auto", max_iterations=5).fit(more, init=model)
    table = weight_table(free.features_, free.weights_.astype(float))
    assert table["lower[0]=c", K + names.index("N") * K + names.index("M")] > 0


def test_a_forbidden_step_stays_forbidden(tmp_path):
    corpus = [Sentence(w.split(), t.split()) for w, t in [("a b c", "B-X I-X O"), ("c a", "O B-X"), ("b c", "O O")]]
    model = tagger("all", tmp_path, "@ lower[0]\nlower[0]\n").fit(corpus)
    assert model.scheme_ == "bio"
    assert model.predict([["c", "b", "b"]])[0][:2] != ["O", "I-X"]
    ((_, lattice),) = model.lattices([["c", "b"]])
    tags = np.array([model.classes_.index("O"), model.classes_.index("I-X")])
    assert lattice.path_scores(tags)[0] == -np.inf


@pytest.mark.parametrize("line", ["@", "@ # nothing", "@@ lower[0]", "lower[0] & @ lower[1]"])
def test_a_line_without_a_function_after_the_mark_is_refused(line):
    with pytest.raises(TemplateError, match="template:1: expected"):
        parse_templates(line)


def test_a_template_of_steps_alone_is_enough(tmp_path):
    model = tagger("all", tmp_path, "@ lower[0]\n").fit(sentences())
    assert model.predict([["ab", "c"]]) and not model.features_.steps_begin


def test_the_command_shows_features_of_steps(tmp_path):
    (tmp_path / "own.txt").write_text("lower[0]\n@lower[0] & lower[-1]\n")
    done = run(tmp_path, "features", "--features", "own.txt", input="A b\n")
    assert done.out.splitlines() == ["A\tlower[0]=a", "b\tlower[0]=b\t@ lower[0]=b & lower[-1]=a", ""]


def forged(path, change):
    arrays = dict(np.load(path, allow_pickle=False))
    change(arrays)
    np.savez(path, **arrays)


@pytest.mark.parametrize("column", [0, 1000])
def test_a_forged_pair_of_tags_is_refused(tmp_path, column):
    model = tagger("all", tmp_path).fit(sentences())
    save_model(model, tmp_path / "m.npz")
    last = len(model.features_.rows.tags) - 1

    def change(arrays):
        tags = arrays["features.tags"].astype(np.uint16)
        tags[last] = column
        arrays["features.tags"] = tags

    forged(tmp_path / "m.npz", change)
    with pytest.raises(ModelError):
        load_model(tmp_path / "m.npz")


def test_a_forged_pair_at_a_feature_of_tokens_is_refused(tmp_path):
    model = tagger("all", tmp_path).fit(sentences())
    save_model(model, tmp_path / "m.npz")
    row = int(model.features_.bases[1]) - 1

    def change(arrays):
        arrays["features.tags"][model.features_.rows.bounds[row + 1] - 1] = 5

    forged(tmp_path / "m.npz", change)
    with pytest.raises(ModelError, match="pairs of tags"):
        load_model(tmp_path / "m.npz")


def test_choices_make_pairs_of_all_their_tags():
    names, tags, choices = read_choices(
        [Sentence(["a", "b", "c"], ["N|V", "J", "?"]), Sentence(["d"], ["N"]), Sentence(["e"], ["V"])]
    )
    tokens, pairs = step_events(np.array([3, 1, 1]), tags, choices, len(names))
    assert tokens.tolist() == [1, 1]
    assert sorted(divmod(int(pair), 3) for pair in pairs) == [(1, 0), (2, 0)]


def test_a_pool_has_features_of_steps_too(tmp_path):
    (tmp_path / "own.txt").write_text(TEMPLATE)
    corpus = sentences(CORPUS * 4)
    pool = PooledTagger(features=str(tmp_path / "own.txt"), max_iterations=20).fit(corpus)
    assert pool.weights_[pool.features_.steps_begin :].any()
    assert pool.score(corpus) > 0.7
    encoding, layout = pool.encode(corpus)
    counts = ParameterCounts(encoding, layout)
    np.testing.assert_array_equal(counts.of(np.arange(len(corpus))), layout.counts)
    assert (counts.of(np.array([0]))[: layout.features_end] <= layout.counts[: layout.features_end]).all()


def test_sentences_are_decoded_a_few_at_a_time(tmp_path, monkeypatch):
    model = tagger("all", tmp_path).fit(sentences())
    together = model.predict_marginals(TEXT)
    monkeypatch.setattr(scorer_module, "STEP_CELLS", 9 * 4)
    assert model.lattice_tokens() == 4
    for one, other in zip(model.predict_marginals(TEXT), together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def long_chain(rows, tags, dtype=np.float32, scale=1.0):
    """A sentence whose transitions differ from step to step, and are made on demand; and the sizes of what is made."""
    random, sizes = np.random.default_rng(5), []
    E = (scale * random.normal(size=(rows, tags))).astype(dtype)
    for_all, by_row = random.normal(size=(tags, tags)).astype(dtype), random.normal(size=rows).astype(dtype)

    def make(own):
        sizes.append(own.stop - own.start)
        return scale * by_row[1:][own, None, None] * for_all

    steps = StepTransitions(rows - 1, scores_module.block_rows(tags), make)
    return Chain(Pack.of([rows]), np.zeros(tags, dtype), steps, np.zeros(tags, dtype), E), sizes


@pytest.mark.parametrize("scale", [1.0, 500.0], ids=["scaled", "in logarithms"])
def test_blocks_of_a_long_sentence_change_no_answer(monkeypatch, scale):
    whole, sizes = long_chain(60, 5, scale=scale)
    expected = DenseLattice(whole), forward_backward(sum_kernel(whole)).row_transitions(slice(0, 59))
    n_best = expected[0].n_best(20)[0]
    assert set(sizes) == {59}
    monkeypatch.setattr(scores_module, "BLOCK_CELLS", 7 * 25)
    chain, sizes = long_chain(60, 5, scale=scale)
    lattice, posterior = DenseLattice(chain), forward_backward(sum_kernel(chain))
    np.testing.assert_array_equal(lattice.best(), expected[0].best())
    np.testing.assert_array_equal(lattice.marginals(), expected[0].marginals())
    assert lattice.log_z() == expected[0].log_z()
    assert lattice.path_scores(lattice.best()) == expected[0].path_scores(lattice.best())
    for (score, path), (other, other_path) in zip(lattice.n_best(20)[0], n_best, strict=True):
        assert score == other and path.tolist() == other_path.tolist()
    parts = [posterior.row_transitions(rows) for rows in chain.transitions.blocks]
    np.testing.assert_array_equal(np.concatenate(parts), expected[1])
    assert set(sizes) == {7, 3}


def test_sentences_of_other_lengths_share_blocks(monkeypatch):
    """The rows of one step may lie in two blocks, or in more."""
    random, lengths, K = np.random.default_rng(6), [5, 9, 1, 4, 9, 7], 3
    pack = Pack.of(lengths)
    steps, E = random.normal(size=(len(pack.before), K, K)), random.normal(size=(sum(lengths), K))
    start, end = random.normal(size=K), random.normal(size=K)
    whole = DenseLattice(Chain(pack, start, StepTransitions.of(steps), end, E))
    for size in (1, 2, 4):
        made = StepTransitions(len(steps), size, lambda rows: steps[rows])
        lattice = DenseLattice(Chain(pack, start, made, end, E))
        np.testing.assert_array_equal(lattice.best(), whole.best())
        np.testing.assert_array_equal(lattice.marginals(), whole.marginals())
        np.testing.assert_array_equal(lattice.log_z(), whole.log_z())


def test_the_memory_of_a_long_sentence_is_bounded(monkeypatch):
    """All transitions of 6,000 steps with 30 tags are 22 MB; a block of them is 64 kB."""
    monkeypatch.setattr(scores_module, "BLOCK_CELLS", 1 << 14)
    chain, _ = long_chain(6000, 30)
    tracemalloc.start()
    lattice, posterior = DenseLattice(chain), forward_backward(sum_kernel(chain))
    lattice.best()
    sums = sum(posterior.row_transitions(rows).sum() for rows in chain.transitions.blocks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sums == pytest.approx(5999, rel=1e-4)
    assert peak < 8e6


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_byte_of_a_model(kind, tmp_path):
    for threads in (1, 2):
        save_model(tagger(kind, tmp_path, threads=threads).fit(sentences(CORPUS * 3)), tmp_path / f"{threads}.npz")
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_the_shipped_template_of_names_looks_at_words_only():
    templates = parse_templates(template_text("names"))
    assert not sources_of(templates) and sum(template.of_steps for template in templates) > 0
    assert "names" in SHIPPED


def test_a_word_that_was_never_counted_is_refused(tmp_path):
    save_model(tagger("all", tmp_path).fit(sentences()), tmp_path / "m.npz")
    forged(tmp_path / "m.npz", lambda arrays: arrays["lexicon.counts"].__setitem__(0, 0))
    with pytest.raises(ModelError, match="expected a count for each tag"):
        load_model(tmp_path / "m.npz")


def test_a_list_is_loaded_in_little_memory(tmp_path):
    """A million phrases take less than 100 MB; here are fewer of them."""
    (tmp_path / "list.txt").write_text("".join(f"Some Name {i}\n" for i in range(50_000)))
    model = tagger("all", tmp_path, "word[0]\nlist:list.txt[0]\n", max_iterations=1).fit(sentences())
    save_model(model, tmp_path / "m.npz")
    tracemalloc.start()
    load_model(tmp_path / "m.npz").predict([["Some", "Name"]])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15e6  # 10.4 MB, of which 9 MB are work space that does not grow with the list
