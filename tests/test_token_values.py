"""Numbers and dicts of features: read, counted, learned, scored, explained, stored."""

import pickle
import random
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger import CRFTagger, HMMTagger, Sentence, load_model, save_model
from tagger.chain.candidate_lattice import Candidates
from tagger.crf import score_tables
from tagger.crf.candidates.objective import CandidateLikelihood
from tagger.crf.candidates.proposal import Proposal, with_gold
from tagger.crf.objective import PenalizedLikelihood
from tagger.crf.parameters import ParameterLayout
from tagger.errors import CorpusError, ModelError, TemplateError, TrainingError
from tagger.features.observer import Observer
from tagger.features.template import describe, parse_templates, sources_of, valued_sources
from tagger.features.token_values import ObservedSentence, read_items
from tagger.models.checkpoint import Checkpoint
from tagger.models.ensemble import Ensemble
from tagger.models.explain import explain
from tagger.pooled.held_out import ParameterCounts

SOURCE = "attributes:features"
TEMPLATE = """bias[0]
word[0]
number:size[0]
number:size[-1] & word[0]
number:size[0] & number:size[1]
attributes:features[0]
attributes:features[-1]
"""


def by_hand(item):
    """The names and values of an item, added up, by python-crfsuite's documentation."""
    found = {}
    pairs = item.items() if isinstance(item, dict) else [(name, 1.0) for name in item]
    for key, value in pairs:
        if isinstance(value, dict | list | set):
            for inner, amount in by_hand(value).items():
                found[f"{key}:{inner}"] = found.get(f"{key}:{inner}", 0.0) + amount
        elif isinstance(value, str):
            found[f"{key}:{value}"] = found.get(f"{key}:{value}", 0.0) + 1.0
        else:
            found[key] = found.get(key, 0.0) + float(value)
    return found


def read(tokens):
    """The names and values of tokens, added up, as the program reads them."""
    named = read_items([ObservedSentence(["w"] * len(tokens), {SOURCE: tokens})], SOURCE)
    rows = [{} for _ in tokens]
    for t, number, value in zip(*named.pairs(np.arange(len(tokens))), strict=True):
        name = named.names[number]
        rows[t][name] = rows[t].get(name, 0.0) + float(value)
    return rows


names = st.text("ab:=", max_size=3)
scalars = st.one_of(st.text("xy", max_size=2), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, -2.25, 1e6]))
items = st.recursive(
    st.dictionaries(names, scalars, max_size=4) | st.lists(names, max_size=4),
    lambda inner: st.dictionaries(names, scalars | inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.lists(items, max_size=5))
def test_dicts_are_read_as_documented(tokens):
    expected = [{name: value for name, value in by_hand(token).items() if value} for token in tokens]
    assert [{name: value for name, value in row.items() if value} for row in read(tokens)] == expected


@pytest.mark.parametrize("value", [None, (1, 2), float("nan"), float("inf"), 1e300, object(), 10**400, [1], [["a"]]])
def test_what_is_no_feature_is_an_error_with_its_place(value):
    tokens = [{"a": 1.0}, {"a": "x", "b": value}]
    sentence = ObservedSentence(["w", "w"], {SOURCE: tokens}, line=7)
    with pytest.raises(CorpusError, match="sentence 7, token 2"):
        read_items([sentence], SOURCE)


@pytest.mark.parametrize("token", [3, "abc", b"abc", [("a", 1.0)], {1: "x"}, [None]])
def test_a_token_is_a_dict_or_a_list_of_strings(token):
    with pytest.raises(CorpusError, match="token 1"):
        read([token])


def made_corpus(seed=0, count=40, tags="ABC"):
    """Sentences with a column of numbers and one of dicts, whose tags depend on both."""
    rng, sentences = random.Random(seed), []
    for _ in range(count):
        words = [rng.choice("uvwx") for _ in range(rng.randint(1, 5))]
        sizes = [rng.choice([-1.5, 0.0, 0.25, 2.0]) for _ in words]
        dicts = [{"w": word, "odd": rng.random() < 0.5, "x": rng.gauss(0, 1), "l": [word, word]} for word in words]
        chosen = [
            tags[0] if size > 1 else tags[1 + made["odd"]] if rng.random() < 0.9 else rng.choice(tags)
            for size, made in zip(sizes, dicts, strict=True)
        ]
        sentences.append(Sentence(words, chosen, columns={"size": list(map(str, sizes)), "features": dicts}))
    return sentences


def plain(sentences):
    """X and y of the dicts alone."""
    return [list(s.columns["features"]) for s in sentences], [list(s.tags) for s in sentences]


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text(TEMPLATE)
    return str(path)


def scored(features, weights, sentence, K):
    """Emissions (T, K) from the definition: Σ value · weight over the features as text."""
    columns = {tag: k for k, tag in enumerate(features.rows.tags)}
    assert columns
    by_text = {}
    for feature in range(len(features.rows)):
        entries, _ = features.rows.entries(np.array([feature]))
        by_text[features.text(feature)] = {int(features.rows.tags[e]): float(weights[e]) for e in entries}
    sizes = [float(size) for size in sentence.columns["size"]]
    T, E = len(sentence), np.zeros((len(sentence), K))
    for t in range(T):
        fired = {"bias[0]": 1.0, f"word[0]={sentence.words[t]}": 1.0, "number:size[0]": sizes[t]}
        before = ("number:size[-1]", sizes[t - 1]) if t else ("number:size[-1]=<before>", 1.0)
        fired[f"{before[0]} & word[0]={sentence.words[t]}"] = before[1]
        after = ("number:size[1]", sizes[t + 1]) if t + 1 < T else ("number:size[1]=<after>", 1.0)
        fired[f"number:size[0] & {after[0]}"] = sizes[t] * after[1]
        fired |= by_hand(sentence.columns["features"][t])
        last = by_hand(sentence.columns["features"][t - 1]) if t else {"<before>": 1.0}
        fired |= {f"attributes:features[-1]={name}": value for name, value in last.items()}
        for text, value in fired.items():
            for k, weight in by_text.get(text, {}).items():
                E[t, k] += value * weight
    return E


@pytest.mark.parametrize("share", [0.0, 0.5, 2.0])
def test_the_loss_is_what_the_definition_says_and_the_gradient_its_derivative(template, monkeypatch, share):
    monkeypatch.setattr(score_tables, "WIDE_VALUES", share)
    sentences = made_corpus(count=6)
    model = CRFTagger(features=template, candidates="all")
    corpus, layout = model.encode(sentences)
    loss = PenalizedLikelihood(corpus, layout, 0.3, dtype=np.float64)
    assert (len(loss.wide.params) > 0) == (share < 2) and (loss.narrow[0].matrix.nnz > 0) == (share > 0)
    weights = np.random.default_rng(0).normal(size=layout.size) * 0.5
    w, start, transitions, end, *_ = layout.split(weights)
    total = 0.3 * weights @ weights
    for sentence in sentences:
        E = scored(corpus.features, w, sentence, 3).tolist()
        every = oracle.paths(start.tolist(), transitions.tolist(), end.tolist(), E)
        gold = [model.classes_.index(tag) for tag in sentence.tags]
        total += oracle.log_z(every) - oracle.score(start, transitions, end, E, gold)
    value, gradient = loss(weights)
    assert value == pytest.approx(total, rel=1e-6)  # values are float32
    for i in range(layout.size):
        step = np.zeros(layout.size)
        step[i] = 1e-5
        assert gradient[i] == pytest.approx((loss(weights + step)[0] - loss(weights - step)[0]) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("candidates", ["all", 0.001])
@pytest.mark.parametrize("share", [0.0, 0.5, 2.0])
def test_curvature_has_the_squares_of_values(template, monkeypatch, share, candidates):
    """Where each sentence is one token, nothing but v² · p · (1 - p) bends the loss."""
    monkeypatch.setattr(score_tables, "WIDE_VALUES", share)
    sentences = [sentence for sentence in made_corpus(count=200) if len(sentence) == 1]
    corpus, layout = CRFTagger(features=template, candidates=candidates).encode(sentences)
    kind = PenalizedLikelihood if candidates == "all" else CandidateLikelihood
    loss = kind(corpus, layout, 0.3, dtype=np.float64)
    weights = np.random.default_rng(0).normal(size=layout.size) * 0.5
    expected = loss.curvature(weights)
    for i in range(layout.features_end):
        step = np.zeros(layout.size)
        step[i] = 1e-4
        bend = (loss(weights + step)[1][i] - loss(weights - step)[1][i]) / 2e-4
        assert expected[i] == pytest.approx(bend, rel=1e-4, abs=1e-6)


def test_threads_change_no_bit(template):
    corpus, layout = CRFTagger(features=template).encode(made_corpus())
    weights = np.random.default_rng(0).normal(size=layout.size)
    first, second = (PenalizedLikelihood(corpus, layout, 0.1, threads)(weights) for threads in (1, 3))
    assert first[0] == second[0] and np.array_equal(first[1], second[1])


def test_a_model_scores_text_as_defined_and_explains_the_score(template):
    sentences = made_corpus()
    model = CRFTagger(features=template, max_iterations=30).fit(sentences)
    for sentence in made_corpus(seed=1, count=5):
        E = scored(model.features_, model.weights_, sentence, 3)
        every = oracle.paths(model.start_.tolist(), model.transitions_.tolist(), model.end_.tolist(), E.tolist())
        assert model.predict_nbest([sentence], 1)[0][0][1] == [model.classes_[k] for k in every[0][1]]
        terms = model.score_terms(model.observer()([sentence])[0])
        for t, row in enumerate(E):
            for k, score in enumerate(row):
                named = terms([k] * len(E), t)
                steps = {name for name in named if "tag" in name or "sentence" in name}
                assert sum(named[name] for name in named.keys() - steps) == pytest.approx(score, abs=1e-4)


def test_candidates_of_an_hmm_see_numbers_and_dicts_too(template):
    sentences = made_corpus(count=60)
    model = CRFTagger(features=template, candidates=0.001, order=2, max_iterations=5)
    corpus, layout = model.encode(sentences)
    loss = CandidateLikelihood(corpus, layout, 0.3, dtype=np.float64)
    weights = np.random.default_rng(0).normal(size=layout.size) * 0.1
    gradient = loss(weights)[1]
    for i in np.flatnonzero(gradient)[::7]:
        step = np.zeros(layout.size)
        step[i] = 1e-5
        assert gradient[i] == pytest.approx((loss(weights + step)[0] - loss(weights - step)[0]) / 2e-5, abs=1e-5)
    fitted = CRFTagger(features=template, candidates=0.001, max_iterations=60).fit(sentences)
    dense = CRFTagger(features=template, candidates="all", max_iterations=60).fit(sentences)
    assert fitted.score(sentences) > 0.85 and dense.score(sentences) > 0.85


def test_with_all_tags_as_candidates_the_loss_is_that_of_all_tags(template):
    corpus, layout = CRFTagger(features=template, candidates="all").encode(made_corpus(count=8))
    N, K = len(corpus.tags), corpus.K
    every = Candidates(np.tile(np.arange(K), N), np.full(N, K))
    proposal, is_right, _ = with_gold(
        Proposal(every, np.zeros(N * K), np.ones(N * K, bool)), corpus.tags, corpus.choices, 0.01
    )
    few = replace(corpus, proposal=proposal, is_right=is_right)
    of_few = ParameterLayout(few, layout.counts[: layout.features_end])
    weights = np.random.default_rng(0).normal(size=layout.size)
    dense = PenalizedLikelihood(corpus, layout, 0.3, dtype=np.float64)(weights)
    sparse = CandidateLikelihood(few, of_few, 0.3, dtype=np.float64)(np.append(weights, 0.0))
    assert sparse[0] == pytest.approx(dense[0], rel=1e-9)
    np.testing.assert_allclose(sparse[1][:-1], dense[1], atol=1e-8)


def test_a_fold_of_a_pool_keeps_features_with_values(template):
    corpus, layout = CRFTagger(features=template, candidates="all").encode(made_corpus())
    counts = ParameterCounts(corpus, layout)
    kept = counts.kept(counts.of(np.arange(20)), 1, 2)[: layout.features_end]
    features = corpus.features
    first = features.bases[[bool(own.valued) for own in features.templates].index(True)]
    assert kept[features.rows.bounds[first] :].all() and (counts.of(np.arange(20)) < 0).any()


def test_dicts_and_templates_learn_the_same_model(tmp_path):
    path = tmp_path / "twin.txt"
    path.write_text("bias[0]\nword[0]\nnumber:size[0]\ncolumn:kind[0]\n")
    rng = random.Random(3)
    sentences = [
        Sentence(s.words, s.tags, columns={"size": s.columns["size"], "kind": [rng.choice("pq") for _ in s.words]})
        for s in made_corpus()
    ]
    twins = [
        [
            {"bias": True, "word": word, "size": float(size), "kind": kind}
            for word, size, kind in zip(s.words, *s.columns.values(), strict=True)
        ]
        for s in sentences
    ]
    given = CRFTagger(max_iterations=100).fit(twins, [s.tags for s in sentences])
    named = CRFTagger(features=str(path), candidates="all", max_iterations=100).fit(sentences)
    assert given.summary_["parameters"] == named.summary_["parameters"]
    assert given.summary_["loss"] == pytest.approx(named.summary_["loss"], rel=1e-4)
    pairs = zip(given.predict_marginals(twins), named.predict_marginals(sentences), strict=True)
    assert max(np.abs(a - b).max() for a, b in pairs) < 0.02  # weights of words are rounded, those of dicts are not


def test_everything_works_with_dicts(tmp_path):
    X, y = plain(made_corpus())
    model = CRFTagger(max_iterations=40, threads=2).fit(X, y, X[:10], y[:10])
    assert model.score(X, y) > 0.6 and "dev_accuracy" in model.summary_
    assert model.template_ == f"{SOURCE}[0]\n" and model.stored_settings()["features"] == "features"
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.predict(X) == model.predict(X) == pickle.loads(pickle.dumps(model)).predict(X)
    assert loaded.predict([[], X[0]])[0] == []
    for P, nbest in zip(model.predict_marginals(X), model.predict_nbest(X, 2), strict=True):
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)
        assert nbest[0][0] >= nbest[-1][0]
    both = Ensemble([model, CRFTagger(max_iterations=40, l1=0.5).fit(X, y)], ["a", "b"])
    assert both.score(X, y) > 0.6 and len(both.members[1].weights_) < len(model.weights_)
    assert explain(model, X[:1])[0][0].reasons and model.trellis(X[0]).best.tags == model.predict(X)[0]
    assert any(section.title == "strongest features" for section in model.summarize())


def test_lists_of_strings_are_features():
    X, y = plain(made_corpus())
    strings = [[[f"w={token['w']}", "bias"] for token in sentence] for sentence in X]
    dicts = [[{f"w={token['w']}": True, "bias": 1} for token in sentence] for sentence in X]
    assert CRFTagger().fit(strings, y).predict(strings) == CRFTagger().fit(dicts, y).predict(dicts)


def test_partial_tags_and_a_model_to_begin_with(tmp_path):
    X, y = plain(made_corpus())
    model = CRFTagger(partial=True, max_iterations=40).fit(X, [[*tags[:-1], "A|B"] for tags in y])
    assert model.classes_ == ["A", "B", "C"]
    further = CRFTagger(max_iterations=40).fit(X[:5], y[:5], init=model)
    assert set(model.features_.strings.strings()) <= set(further.features_.strings.strings())
    checkpoint = Checkpoint(tmp_path / "checkpoint", every=1, keep=True)
    CRFTagger(max_iterations=5).fit(X, y, checkpoint=checkpoint)
    with pytest.raises(TrainingError, match="another corpus"):
        CRFTagger(max_iterations=9).fit(X[1:], y[1:], checkpoint=Checkpoint(tmp_path / "checkpoint", resume=True))


def spelled(sentence):
    return [{"word": word, "before": sentence.words[max(0, t - 1)]} for t, word in enumerate(sentence.words)]


def longer(sentence):
    return [{"word": word, "length": len(word)} for word in sentence.words]


@pytest.mark.parametrize("dev", [None, ([["a", "cat"]], [["D", "N"]])])
def test_a_checkpoint_is_resumed_with_the_same_features_only(tmp_path, dev):
    """Not the function's name counts, but what it makes of the sentences."""
    X, y, path = [["a", "dog"], ["the", "cat"]] * 5, [["D", "N"], ["D", "N"]] * 5, tmp_path / "checkpoint"
    held_out = {"X_dev": dev[0], "y_dev": dev[1]} if dev else {}
    CRFTagger(features=spelled, max_iterations=5).fit(X, y, **held_out, checkpoint=Checkpoint(path, every=1, keep=True))

    def resume(function):
        state = Checkpoint(path, resume=True, keep=True)
        return CRFTagger(features=function, max_iterations=9).fit(X, y, **held_out, checkpoint=state)

    longer.__name__ = "spelled"
    with pytest.raises(TrainingError, match="it belongs to another set of features"):
        resume(longer)
    assert resume(lambda sentence: spelled(sentence)).summary_["iterations"] > 5
    if dev:  # the same on the corpus, another on the dev set
        with pytest.raises(TrainingError, match="it belongs to another set of features"):
            resume(lambda sentence: spelled(sentence) if tuple(sentence.words) != ("a", "cat") else longer(sentence))


def test_the_order_of_names_does_not_make_a_checkpoint_another_one():
    """A set has another order in every process."""
    first, second, other = (
        read_items([ObservedSentence(["w"] * 2, {"s": tokens})], "s")
        for tokens in (
            [{"a": 1.0, "b": 2.0}, {"c": 1.0, "a": 3.0}],
            [{"b": 2.0, "a": 1.0}, {"a": 3.0, "c": 1.0}],
            [{"a": 1.0, "b": 2.0}, {"c": 3.0, "a": 1.0}],
        )
    )
    assert first.names != second.names
    assert b"".join(first.in_fixed_order()) == b"".join(second.in_fixed_order()) != b"".join(other.in_fixed_order())


def test_a_function_makes_features_and_is_not_stored(tmp_path):
    X, y = [["a", "dog"], ["the", "cat"]] * 5, [["D", "N"], ["D", "N"]] * 5
    model = CRFTagger(features=spelled).fit(X, y)
    assert (
        model.predict([["the", "dog"]]) == [["D", "N"]] == CRFTagger(features=spelled).fit(X, y).predict([["a", "cat"]])
    )
    assert "word:dog" in model.features_.strings.strings()
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    with pytest.raises(CorpusError, match="function spelled"):
        loaded.predict(X)
    assert loaded.predict([spelled(Sentence(words)) for words in X]) == model.predict(X)
    loaded.features = spelled
    assert loaded.predict(X) == model.predict(X)
    with pytest.raises(CorpusError, match="2 tokens"):
        CRFTagger(features=lambda sentence: [{}]).fit(X, y)


def test_without_words_there_is_no_hmm():
    X, y = plain(made_corpus())
    for settings_ in ({"order": 2}, {"candidates": 0.001}, {"features": "comparison"}):
        with pytest.raises(TrainingError):
            CRFTagger(**settings_).fit(X, y)
    with pytest.raises(TypeError, match=r"X\[0\]\[0\]"):
        HMMTagger().fit(X, y)
    with pytest.raises(TypeError, match=r"X\[0\]\[0\]"):
        CRFTagger().fit([["a"]], [["A"]]).predict(X)


@pytest.mark.parametrize(
    "line", ["number", "number:x & attributes:y", "attributes[0]", "number:3-2(column:x)", "attributes:(x)"]
)
def test_lines_that_are_no_templates(line):
    with pytest.raises(TemplateError, match="template:1: "):
        parse_templates(line)


def test_features_are_written_as_text():
    templates = parse_templates(TEMPLATE)
    observe = Observer(None, sources_of(templates), {}, valued_sources(templates))
    sentence = Sentence(["u", "v"], columns={"size": ["2", "-0.5"], "features": [{"a": "b"}, {"c": 0.5, "d": True}]})
    first, second = describe(observe([sentence])[0], templates)
    assert "number:size[0]=2" in first and "a:b" in first and "attributes:features[-1]=<before>" in first
    assert "c=0.5" in second and "d" in second and "attributes:features[-1]=a:b" in second


@pytest.mark.parametrize("value", ["tall", "nan", "inf", "", "1e99", "-1.1e8", 10**400])
def test_a_number_that_is_none_is_an_error_with_its_line(value, template):
    sentences = made_corpus()
    bad = Sentence(["u", "v"], ["A", "B"], line=17, columns={"size": ["1", value], "features": [{}, {}]})
    with pytest.raises(CorpusError, match="line 17"):
        CRFTagger(features=template).fit([*sentences, bad])
    with pytest.raises(CorpusError, match="column 'size'"):
        CRFTagger(features=template).fit([Sentence(["u"], ["A"])])


@pytest.mark.parametrize("low", [1000.0, 10_000.0])
def test_weights_that_are_multiplied_by_values_are_not_rounded(tmp_path, low):
    """Large numbers need small weights: rounded like those of words, they would be zero, or far off."""
    path, draw = tmp_path / "template.txt", np.random.default_rng(0)
    path.write_text("bias[0]\nword[0]\nnumber:n[0]\n")
    sizes = draw.uniform(low, 2 * low, (60, 5))
    corpus = [
        Sentence(
            [f"w{i}" for i in draw.integers(0, 9, 5)],
            ["A" if n < 1.5 * low else "B" for n in row],
            columns={"n": row.tolist()},
        )
        for row in sizes
    ]
    model = CRFTagger(features=str(path), threads=1, tolerance=0).fit(corpus)
    assert model.score(corpus) > 0.97
    of_words = np.array([weight for name, _, weight in model.weight_rows() if name.startswith("word")])
    assert (of_words.astype(np.float16) == of_words).all()  # these are rounded


def test_a_feature_may_have_the_name_of_a_step():
    names = ["start of sentence", "end of sentence", "previous tag A", "next tag B", "x"]
    X = [[{names[(i + j) % 5]: 1.0 + i, "x": 0.5} for i in range(3)] for j in range(10)]
    y = [["AB"[(i * j) % 2] for i in range(3)] for j in range(10)]
    model = CRFTagger(threads=1, max_iterations=20).fit(X, y)
    for x, tokens in zip(X, explain(model, X), strict=True):
        path = [token.tag for token in tokens]
        for t, token in enumerate(tokens):
            other = [*path[:t], token.runner_up, *path[t + 1 :]]
            _, lattice = next(model.lattices(model.sentence_list([x])))
            scores = [lattice.path_scores(np.array([model.classes_.index(k) for k in own]))[0] for own in (path, other)]
            assert token.difference == pytest.approx(float(scores[0] - scores[1]), abs=1e-5)


def test_words_and_dicts_do_not_mix():
    with pytest.raises(CorpusError, match="sentence 2"):
        CRFTagger().fit([["x"], [{"a": 1}]], [["A"], ["B"]])
    with pytest.raises(CorpusError):
        CRFTagger().fit([[{"a": 1}], ["x"]], [["A"], ["B"]])
    of_words = CRFTagger(max_iterations=2).fit([["x"]], [["A"]])
    with pytest.raises(CorpusError, match="sentence 1"):
        CRFTagger().fit([[{"a": 1}]], [["A"]], init=of_words)


def test_a_model_that_begins_with_another_keeps_its_function():
    X, y = [["a", "dog"], ["the", "cat"]] * 5, [["D", "N"], ["D", "N"]] * 5
    first = CRFTagger(features=spelled, max_iterations=5).fit(X, y)
    second = CRFTagger(max_iterations=5).fit(X, y, init=first)
    assert second.features is spelled and second.predict(X) == y


def test_a_forged_weight_of_a_part_of_a_tag_is_refused(tmp_path):
    """Only features of one word have weights of parts of tags."""
    path = tmp_path / "model.npz"
    X, y = [[{"a": 1.5}, {"b": 2.0}]] * 3, [["N|Sing", "N|Plur"]] * 3
    model = CRFTagger(max_iterations=3).fit(X, y)
    assert model.tag_parts_.columns > len(model.classes_)
    save_model(model, path)
    load_model(path)
    model.features_.rows.tags[-1] = len(model.classes_)
    save_model(model, path)
    with pytest.raises(ModelError, match="whole tags"):
        load_model(path)


def test_a_forged_order_is_refused(tmp_path):
    (tmp_path / "steps.txt").write_text("word[0]\n@ word[0]\n")
    model = CRFTagger(features=str(tmp_path / "steps.txt"), max_iterations=3).fit([["a", "b"]] * 3, [["A", "B"]] * 3)
    model.order = 0
    save_model(model, tmp_path / "model.npz")
    with pytest.raises(ModelError, match="order 0"):
        load_model(tmp_path / "model.npz")


@pytest.mark.parametrize("order", [1.0, True, False])
def test_an_order_is_a_whole_number(order):
    with pytest.raises(TrainingError, match="order"):
        CRFTagger(order=order).fit([["a"]], [["A"]])
    with pytest.raises(ValueError, match="order"):
        HMMTagger(order=order).fit([["a"]], [["A"]])


def test_settings_may_be_numbers_of_numpy(tmp_path):
    model = CRFTagger(order=np.int64(1), l2=np.float32(0.5), max_iterations=np.int32(3)).fit([["a"]], [["A"]])
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").l2 == 0.5
    with pytest.raises(ValueError, match="pseudo_count"):
        HMMTagger(order=1, smoothing="add-k", unknown="floor", pseudo_count=1e308).fit([["a"]], [["A"]])


def test_values_that_leave_no_digits_for_others_are_refused(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text("number:n[0] & number:m[0]\n")
    corpus = [Sentence(["a", "b"], ["A", "B"], columns={"n": [1, 2], "m": [3.0, -1e8]})] * 3
    with pytest.raises(CorpusError, match="number:n"):
        CRFTagger(features=str(path)).fit(corpus)
    model = CRFTagger(features=str(path), max_iterations=3).fit([sentence.begin(1) for sentence in corpus])
    with pytest.raises(CorpusError, match="number:n"):
        model.predict(corpus)
    with pytest.raises(CorpusError, match="sentence 1, token 2: feature 'b'"):
        CRFTagger().fit([[{"a": 1.0}, {"b": -1e9}]], [["A", "B"]])


def test_an_outlier_does_not_stop_a_training(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text("bias[0]\nword[0]\nnumber:n[0]\n")
    corpus = [Sentence(["a", "b"], ["A", "B"], columns={"n": [n, 2]}) for n in (1e8, *[1] * 7)]
    corpus += [Sentence(["b", "c"], ["B", "C"], columns={"n": [1, 2.5]})] * 4
    assert CRFTagger(features=str(path), threads=1).fit(corpus).score(corpus) == 1


def test_a_column_of_strings_has_no_numbers(tmp_path):
    (tmp_path / "template.txt").write_text("column:n[0]\nnumber:n[0]\n")
    model = CRFTagger(features=str(tmp_path / "template.txt"), max_iterations=3)
    with pytest.raises(CorpusError, match="token 2: column 'n'"):
        model.fit([Sentence(["a", "b"], ["A", "B"], columns={"n": ["1", 1.5]})])
    assert model.fit([Sentence(["a", "b"], ["A", "B"], columns={"n": ["1", np.str_("2")]})])
