"""The CRF as a whole: it minimises what it says, tags what it scores, and reports its progress."""

import numpy as np
import pytest
from feature_table import weight_table

from tagger import CRFTagger, Sentence, TaggerError, save_model
from tagger.chain.pack import Pack
from tagger.crf.scorer import FeatureScorer
from tagger.errors import TrainingError
from tagger.features.template import describe

CORPUS = [
    Sentence(["the", "dog", "barks", "."], ["D", "N", "V", "."]),
    Sentence(["a", "cat", "sleeps", "."], ["D", "N", "V", "."]),
    Sentence(["dogs", "bark", "at", "the", "big", "cat"], ["N", "V", "P", "D", "J", "N"]),
    Sentence(["Stop", "!"], ["V", "."]),
]


def test_the_watcher_sees_the_loss_fall_and_the_dev_set():
    seen = []
    model = CRFTagger(max_iterations=25, tolerance=0.0).fit(CORPUS, X_dev=CORPUS, watch=seen.append)
    losses = [progress.loss for progress in seen]
    assert losses == sorted(losses, reverse=True)
    assert [progress.iteration for progress in seen] == list(range(1, len(seen) + 1))
    dev = [progress.iteration for progress in seen if progress.dev_accuracy is not None]
    assert dev == list(range(5, len(seen) + 1, 5)) and dev
    assert model.summary_["loss"] == pytest.approx(losses[-1])
    assert model.summary_["iterations"] == len(seen)


def test_the_gradient_is_zero_where_training_ends():
    """Fully converged, nothing improves the loss: a small push in any direction raises it."""
    from tagger.crf.lbfgs import minimize
    from tagger.crf.objective import PenalizedLikelihood

    model = CRFTagger(features="comparison")
    corpus, layout = model.encode(CORPUS)
    loss = PenalizedLikelihood(corpus, layout, 1.0, dtype=np.float64)
    found = minimize(loss, np.zeros(layout.size), (layout.counts + 2) ** -0.25, 20)
    assert np.abs(loss(found.x)[1]).max() < 1e-5
    direction = np.random.default_rng(0).normal(size=layout.size)
    assert loss(found.x + 1e-2 * direction)[0] > found.loss < loss(found.x - 1e-2 * direction)[0]


def test_a_stronger_penalty_gives_smaller_weights():
    norms = [np.linalg.norm(CRFTagger(l2=l2, max_iterations=50).fit(CORPUS).weights_) for l2 in (0.01, 1.0, 100.0)]
    assert norms[0] > norms[1] > norms[2]


def test_emissions_equal_the_sum_of_the_weights_of_the_features_as_text():
    model = CRFTagger(max_iterations=10).fit(CORPUS)
    words = ["The", "dog", "barks", "at", "a", "zebra", "!"]
    table = {}
    texts = [*model.features_.strings.strings(), "<before>", "<after>"]
    for t, template in enumerate(model.features_.templates):
        for n, key in enumerate(model.features_.keys[t].tolist()):
            ids = [
                key // model.features_.radix**i % model.features_.radix
                for i in reversed(range(len(template.conjuncts)))
            ]
            parts = zip(template.conjuncts, ids, strict=True)
            name = " & ".join(f"{part}={texts[i]}" if texts[i] else str(part) for part, i in parts)
            entries, _ = model.features_.rows.entries(model.features_.bases[t] + np.array([n]))
            table[name] = list(zip(model.features_.rows.tags[entries], model.weights_[entries], strict=True))
    expected = np.zeros((len(words), len(model.classes_)))
    for i, row in enumerate(describe(words, model.features_.templates)):
        for name in row:
            for tag, weight in table.get(name, []):
                expected[i, tag] += weight
    emissions = FeatureScorer(model.features_, model.weights_, model.tag_parts_)
    for _ in range(2):  # fresh, and from the cache
        np.testing.assert_allclose(emissions([words], Pack.of([len(words)])), expected, atol=1e-5)


def test_order_0_is_a_softmax_for_each_token():
    model = CRFTagger(max_iterations=20, order=0).fit(CORPUS)
    words = ["The", "dog", "barks", "at", "a", "zebra", "!"]
    E = FeatureScorer(model.features_, model.weights_, model.tag_parts_)([words], Pack.of([len(words)]))
    P = np.exp(E - E.max(axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_marginals([words])[0], P / P.sum(axis=1, keepdims=True), atol=1e-6)
    assert model.predict([words]) == [[model.classes_[k] for k in E.argmax(axis=1)]]
    assert not model.transitions_.any() and not model.start_.any() and not model.end_.any()


@pytest.mark.parametrize("order", [0, 1, 2])
def test_all_weights_can_be_listed_as_rows(order, tmp_path):
    template = tmp_path / "template.txt"
    template.write_text("word[0]\nsuffix:2[0] & word[1]\n" + "@ lower[0]\n" * (order > 0))
    model = CRFTagger(max_iterations=10, order=order, features=str(template), min_pair_count=1).fit(CORPUS)
    rows = {(feature, tag): weight for feature, tag, weight in model.weight_rows()}
    names = [*model.classes_, *model.tag_parts_.names]
    steps = [(f" & previous tag {u}", v) for u in model.classes_ for v in model.classes_]
    columns = [*(("", name) for name in names), *steps]
    features = weight_table(model.features_, model.weights_)
    for (feature, column), weight in features.items():
        step, name = columns[column]
        assert rows.pop(("@ " * bool(step) + feature + step, name)) == weight
    for i, j in np.argwhere(model.transitions_):
        assert rows.pop((f"previous tag {names[i]}", names[j])) == model.transitions_[i, j]
    for k, tag in enumerate(model.classes_):
        assert rows.pop(("previous tag ·", tag), 0.0) == model.start_[k]
        assert rows.pop((f"previous tag {tag}", "·"), 0.0) == model.end_[k]
    if order == 2:
        assert rows.pop(("previous tags · D", "N")) != 0 and rows.pop(("previous tags V .", "·")) != 0
        assert rows.pop(("log-probability by the HMM", "·")) == model.posterior_weight_[0]
    assert all(feature.startswith("previous tags ") for feature, _ in rows) and bool(rows) == (order == 2)


def test_unseen_tag_bigrams_have_weight_zero():
    model = CRFTagger(max_iterations=20).fit(CORPUS)
    J, V = model.classes_.index("J"), model.classes_.index("V")
    assert model.transitions_[J, V] == 0.0 and model.transitions_[J, model.classes_.index("N")] != 0.0


def test_rare_features_are_left_out_of_the_model():
    every, frequent = (CRFTagger(max_iterations=3, min_count=n).fit(CORPUS) for n in (1, 2))
    assert len(frequent.weights_) < len(every.weights_)


@pytest.mark.parametrize(
    "settings", [{"l2": -1.0}, {"l2": np.nan}, {"max_iterations": 0}, {"threads": -1}, {"order": 3}]
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(TrainingError):
        CRFTagger(**settings).fit(CORPUS)


def test_an_infinite_loss_is_no_model(monkeypatch):
    monkeypatch.setattr(
        "tagger.crf.objective.PenalizedLikelihood.__call__", lambda self, w: (np.inf, np.zeros(self.layout.size))
    )
    with pytest.raises(TrainingError, match="inf"):
        CRFTagger().fit(CORPUS)


def test_before_fit_there_is_nothing_to_predict():
    with pytest.raises(TaggerError, match="fit"):
        CRFTagger().predict([["a"]])
    with pytest.raises(TypeError):
        CRFTagger(max_iterations=1).fit(CORPUS).predict(["the dog"])


def test_the_folder_of_a_template_stays_out_of_the_model(tmp_path):
    for name in ("p", "q"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.txt").write_text("word[0]\n")
        save_model(CRFTagger(features=str(tmp_path / name / "t.txt")).fit(CORPUS), tmp_path / f"{name}.npz")
    assert (tmp_path / "p.npz").read_bytes() == (tmp_path / "q.npz").read_bytes()
