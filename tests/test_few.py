"""Few sentences take a path of their own: its scores and answers are those of the path for many, bit by bit."""

import copy
import multiprocessing
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger import CRFTagger, HMMTagger, PooledTagger, load_model
from tagger.chain.kernels import DenseMax
from tagger.chain.pack import Pack
from tagger.chain.pruning import PrunedStep
from tagger.chain.scores import Chain
from tagger.chain.single import candidates
from tagger.chain.single.dense import best_path
from tagger.chain.viterbi import viterbi
from tagger.crf import few_tokens
from tagger.crf.scorer import FeatureScorer
from tagger.features.keys import JointIndex
from tagger.features.template import parse_templates
from tagger.hmm import word_tags
from tagger.hmm.guesser import PREFIX_LENGTH
from tagger.hmm.single.spelling import keys_of_few
from tagger.hmm.word_tags import FirstWord, FirstWordForms
from tagger.models.ensemble import Ensemble

WORDS = [
    *["the", "The", "dog", "dogs", "barks", "bark", "at", "cat", "cat's", "1,000", "re-run", "a", "i", ".", "!", "x"],
    "\u00e9t\u00e9",
    "e\u0301te\u0301",
    "개가",
    "짖는다",
]

MODELS = Path(__file__).parent / "models"

STRANGE = [
    "1",
    "12a3",
    "a--1.5",
    "ABC",
    "-",
    "ÉTÉ",
    "İx",
    "ǅa",
    "\ud800",
    "\U0001d7d8x",
    "²",
    "x" * 40,
    "Ab" * 20,
    "9" * 30,
]


def sentences(count, seed=0, new=0.2):
    """Sentences of 0 to 30 words, some of them new."""
    draw = random.Random(seed)

    def word():
        return (
            "".join(draw.choices("abcdeXY-1é개", k=draw.randint(1, 8))) if draw.random() < new else draw.choice(WORDS)
        )

    return [[word() for _ in range(draw.choice([0, 1, 1, 2, 5, 15, 30]))] for _ in range(count)]


def tagged(count, tags, seed=1):
    draw = random.Random(seed)
    own = [words for words in sentences(count, seed) if words]
    return own, [
        [
            tags[(WORDS.index(word) if word in WORDS else 7) * 3 % len(tags)]
            if draw.random() < 0.8
            else draw.choice(tags)
            for word in words
        ]
        for words in own
    ]


TEMPLATES = {
    "default": "default",
    "three words": "bias[0]\nlower[0]\nshape[1] & suffix:2[1]\nlower[-1] & lower[0] & lower[1]\nshape[0] & shape[3]\n",
    "one word": "word[0]\nsuffix:1-3[0]\nlower[-1]\n",
}


@pytest.fixture(scope="module", params=[(name, parts) for name in TEMPLATES for parts in (False, True)], ids=str)
def model(request, tmp_path_factory):
    name, parts = request.param
    path = tmp_path_factory.mktemp("template") / "t.txt"
    path.write_text(TEMPLATES[name])
    tags = ["N+J", "N+X", "V+E", "V+J", "M"] if parts else ["N", "V", "D", "J", "."]
    features = "default" if name == "default" else str(path)
    return CRFTagger(features=features, max_iterations=8, min_pair_count=1).fit(*tagged(80, tags))


# Emissions


def test_emissions_of_few_tokens_are_those_of_many(model):
    few = FeatureScorer(model.features_, model.weights_, model.tag_parts_)
    many = FeatureScorer(model.features_, model.weights_, model.tag_parts_)
    assert few.few is not None
    many.few = None
    for words in sentences(60, seed=2):
        pack = Pack.of([len(words)])
        np.testing.assert_array_equal(few([words], pack), many([words], pack))


def test_keys_too_large_for_one_index_are_looked_up_template_by_template(model, monkeypatch):
    expected = model.predict(sentences(30, seed=3))
    huge = JointIndex(parse_templates("lower[-1] & lower[0] & lower[1]"), [np.arange(3)], 2**21)
    assert not huge.fits
    monkeypatch.setattr(few_tokens.FewTokens, "of", lambda *rest: None)
    assert [model.predict([words])[0] for words in sentences(30, seed=3)] == expected


# Viterbi


@given(st.data())
@settings(max_examples=60)
def test_the_best_path_of_one_sentence_is_that_of_a_pack(data):
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    K, T = data.draw(st.integers(1, 12) | st.just(210)), data.draw(st.integers(1, 20))
    spread, forbidden = data.draw(st.sampled_from([0.1, 3.0, 50.0])), data.draw(st.sampled_from([0.0, 0.1, 0.6]))
    scores = [(draw.normal(size=shape) * spread).astype(np.float32) for shape in (K, (K, K), K, (T, K))]
    for array in scores:
        array[draw.random(array.shape) < forbidden] = -np.inf
    start, A, end, E = scores
    step = PrunedStep(A)
    chain = Chain(Pack.of([T]), start, A, end, E)
    with np.errstate(all="raise", under="ignore"):
        found = best_path(step, start, end, E)
    packed = viterbi(DenseMax(chain, step)).tolist()
    assert found == packed or oracle.score(start, A, end, E, found) == oracle.score(start, A, end, E, packed) == -np.inf


# Candidates of second order


class RandomScores:
    """Scores of contexts (u, v, next tag) and of arrivals, drawn at random."""

    def __init__(self, draw, K, widths, spread):
        self.stride = K + 1
        self.table = draw.normal(size=(K + 1, K + 1, K + 1)) * spread
        self.tags = [*(int(k) for n in widths for k in sorted(draw.choice(K, n, replace=False))), K]
        self.keys = self.tags
        self.arriving = draw.normal(size=(K + 1, len(self.tags))) * spread
        self.arriving[:, -1] = 0.0
        self.steps = candidates.ContextRows(self.row, K + 1)
        self.factors = candidates.factor_rows(self.row, K + 1)

    def row(self, contexts):
        return self.table[np.divmod(contexts, self.stride)]

    def arrivals(self, node, before):
        return [float(self.arriving[u, node]) for u in before]

    def paths(self, widths):
        """All paths as nodes, with their scores."""
        ends, K = np.cumsum(widths), self.stride - 1
        for nodes in product(*(range(end - n, end) for n, end in zip(widths, ends, strict=True))):
            tags = [K, K, *(self.tags[node] for node in nodes), K]
            score = sum(self.table[tags[i], tags[i + 1], tags[i + 2]] for i in range(len(tags) - 2))
            yield score + sum(self.arriving[tags[i + 1], node] for i, node in enumerate(nodes)), list(nodes)


@given(st.data())
@settings(max_examples=60)
def test_one_sentence_of_second_order_by_enumeration(data):
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    widths = data.draw(st.lists(st.sampled_from([1, 1, 1, 2, 3]), min_size=1, max_size=6))
    scores = RandomScores(draw, 3, widths, data.draw(st.sampled_from([0.5, 5.0])))
    paths = list(scores.paths(widths))
    best, nodes = max(paths)
    assert candidates.best_nodes(widths, scores) == nodes
    weights = np.exp([score - best for score, _ in paths])
    expected = np.zeros(sum(widths))
    for weight, (_, own) in zip(weights / weights.sum(), paths, strict=True):
        expected[own] += weight
    np.testing.assert_allclose(candidates.node_probabilities(widths, scores), expected, rtol=1e-10)


def test_scores_that_differ_by_too_much_are_left_to_logarithms():
    draw = np.random.default_rng(0)
    for arriving, steps in ((400.0, 1.0), (1.0, 400.0)):
        scores = RandomScores(draw, 3, [2, 2], 1.0)
        scores.arriving[:, :-1] *= arriving
        scores.table *= steps
        assert candidates.node_probabilities([2, 2], scores) is None


def test_only_so_many_rows_are_kept(monkeypatch):
    monkeypatch.setattr(candidates, "ROW_CELLS", 10)
    asked = []

    def compute(contexts):
        asked.append(sorted(contexts.tolist()))
        return contexts[:, None] + np.arange(5.0)

    rows = candidates.ContextRows(compute, 5)
    for contexts in ([1], [2, 1], [2], [3, 2], [1, 2, 3]):
        found = rows.along([None, (contexts, [0])])
        assert found[0] is None
        assert [list(row) for row in found[1][0]] == [list(range(key, key + 5)) for key in contexts]
        assert len(rows) <= max(2, len(contexts))
    assert asked == [[1], [2], [2, 3], [1, 2, 3]]


def test_guesses_for_few_words_are_those_for_many():
    model = HMMTagger().fit(*tagged(200, ["N", "V", "D", "J", "."]))
    emissions = model.emission_model_
    words = ["unseen", "The", "Xanthippe", "1,000", "x", "짖는다", "", "A-b", *STRANGE, *WORDS]
    first = np.arange(len(words)) % 3 == 0
    ids = emissions.lexicon.words.find(words)
    letters, own = emissions.spelling(words, first, ids, np.arange(len(words)))
    guesser = emissions.guesser
    keys, shares = list(guesser.keys(letters).values()), own.dense(len(words), len(guesser.prior))
    few_keys = keys_of_few(letters, guesser.suffix_length, PREFIX_LENGTH)
    np.testing.assert_array_equal(few_keys, [key for of_model in keys for key in of_model])
    few = guesser.joint_levels.expert_scores(guesser.prior, few_keys, shares)
    np.testing.assert_array_equal(few, guesser.expert_scores(keys, shares))


def test_forms_of_first_words_are_kept_within_a_limit(monkeypatch):
    monkeypatch.setattr(word_tags, "MAX_FIRST_WORDS", 3)
    asked = []

    def find(sentences):
        asked.extend(words[0] for words in sentences)
        return [[FirstWord(words[0]) if words[0].isupper() else words[0]] for words in sentences]

    forms = FirstWordForms(find)
    assert forms([["A", "b"], [], ["b"], ("A",)]) == [[FirstWord("A"), "b"], [], ["b"], [FirstWord("A")]]
    assert forms([["A"], ["C"], ["D"]]) == [[FirstWord("A")], [FirstWord("C")], [FirstWord("D")]]
    assert asked == ["A", "b", "C", "D"] and forms([["b"]]) == [["b"]] and asked[4:] == ["b"]


# Whole models


@pytest.fixture(scope="module", params=["hmm", "pooled", "textbook", "scheme"])
def second_order(request):
    words, tags = corpus = tagged(120, ["N", "V", "D", "J", "."])
    if request.param == "scheme":  # a span of one word, or of two, for N
        spans = [["B-X" if tag == "N" and i % 2 else "O" for i, tag in enumerate(own)] for own in tags]
        spans = [["I-X" if i and own[i - 1] == "B-X" else tag for i, tag in enumerate(own)] for own in spans]
        return HMMTagger(scheme="bio").fit(words, spans)
    if request.param == "pooled":
        return PooledTagger(max_iterations=10).fit(*corpus)
    settings = {"smoothing": "interpolation", "unknown": "suffix"} if request.param == "textbook" else {}
    return HMMTagger(**settings).fit(*corpus)


def test_second_order_in_lists_is_as_in_arrays(second_order):
    for words in sentences(150, seed=5):
        ((_, lattice),) = second_order.lattices([words])
        ((_, packed),) = second_order.lattices([words])
        packed.__dict__["single"] = None
        assert (lattice.single is not None) == (bool(words) and second_order.scheme_ is None)
        assert lattice.best().tolist() == packed.best().tolist()
        np.testing.assert_allclose(lattice.marginals(), packed.marginals(), atol=1e-9)


def test_one_by_one_is_as_all_at_once(model):
    text = sentences(300, seed=4)
    together = model.predict(text)
    assert [model.predict([words])[0] for words in text] == together
    for words, P in zip(text[:100], model.predict_marginals(text[:100]), strict=True):
        np.testing.assert_allclose(model.predict_marginals([words])[0], P, atol=1e-5)  # float32


# Copies, processes and threads, after sentences have been tagged one by one


@cache
def used():
    """Models that have tagged one sentence after another, and a text for them with their answers."""
    corpus, text = tagged(120, ["N", "V", "D", "J", "."]), sentences(40, seed=6)
    hmm, crf = HMMTagger().fit(*corpus), CRFTagger(max_iterations=8).fit(*corpus)
    models = [
        hmm,
        crf,
        HMMTagger(order=1).fit(*corpus),
        CRFTagger(max_iterations=8, order=2).fit(*corpus),
        PooledTagger(max_iterations=8).fit(*corpus),
        PooledTagger(max_iterations=8).fit(*corpus, add=[hmm]),
        load_model(MODELS / "format-3-bilstm.npz"),
        Ensemble([hmm, crf], ["hmm", "crf"]),
    ]
    return models, text, [[model.predict([words])[0] for words in text] for model in models]


def answers(given):
    """Must live here, so that a spawned process finds it."""
    models, text = given
    return [[model.predict([words])[0] for words in text] for model in models]


def test_copies_answer_as_before():
    models, text, expected = used()
    assert answers((pickle.loads(pickle.dumps(models)), text)) == answers((copy.deepcopy(models), text)) == expected


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_other_processes_answer_as_before(method):
    models, text, expected = used()
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(answers, ((models, text),)) == expected


def test_threads_answer_as_one_does():
    models, text, expected = used()
    few, first = text[:15], [tags[:15] for tags in expected]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: answers((models, few)), range(8)))
    assert found == [first] * 8
