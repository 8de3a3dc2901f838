"""Objects as HTML for notebooks, figures as SVG files, scores as tables."""

import csv
import io
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from paths import TEST, TRAIN
from program import run

from tagger import HMMTagger, Sentence, evaluate, load_model, read_corpus
from tagger.experiments.crossval import CurvePoint, LearningCurve
from tagger.models.explain import explain
from tagger.reports.figures import confusion_figure, curve_figure

POINTS = [CurvePoint(1000, 0.8, (0.75, 0.85)), CurvePoint(4000, 0.88, None)]


@pytest.fixture(scope="module")
def model(models):
    return load_model(models / "hmm.npz")


@pytest.fixture(scope="module")
def evaluation(model):
    test = read_corpus(TEST)
    return evaluate(test, model.predict(test), model.lexicon_)


class Texts(HTMLParser):
    """Collects text, titles, and elements that are opened and not closed."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.titles, self.open = [], [], []
        self.feed(html)
        assert [tag for tag in self.open if tag not in ("br",)] == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.titles += [value for name, value in attrs if name == "title"]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def parts(html):
    return Texts(html.replace("<br>", ""))


def test_a_tagger_shows_settings_and_training(model):
    texts = parts(model._repr_html_()).texts
    assert "HMMTagger()" in texts and "7,460" in texts and f"{len(model.classes_)}" in texts
    assert "not fitted" in parts(HMMTagger(order=1)._repr_html_()).texts


def test_a_sentence_shows_tags_and_probabilities_and_escapes_words():
    shown = parts(Sentence(["<b>", "dog\x1b"], ["NN", '"x"'], probabilities=[0.25, 0.5])._repr_html_())
    assert shown.texts == ["<b>", "NN", "dog\\x1b", '"x"']
    assert shown.titles == ["NN: probability 0.2500", '"x": probability 0.5000']
    assert parts(Sentence(["<i>", "x"])._repr_html_()).texts == ["<i> x"]
    assert parts(Sentence([], [])._repr_html_()).texts == []


def test_an_explanation_shows_its_reasons(model):
    explanation = explain(model, [["They", "can", "fish", "."]])[0][2]
    texts = "".join(parts(explanation._repr_html_()).texts)
    assert "fish" in texts and explanation.runner_up in texts
    assert f"{explanation.reasons[0].value:+.2f}" in texts


def test_an_evaluation_shows_its_figures(evaluation):
    texts = parts(evaluation._repr_html_()).texts
    assert f"{100 * evaluation.accuracy:.2f} %" in texts and "predicted tag" in texts
    right = evaluate([Sentence(["a"], ["X"])], [["X"]])
    assert "predicted tag" not in right._repr_html_()


def test_figures_are_files_of_their_own(evaluation):
    for figure in (confusion_figure(evaluation), curve_figure(POINTS)):
        root = ElementTree.fromstring(figure)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        rules = next(root.iter("{http://www.w3.org/2000/svg}style")).text
        assert all(rule.startswith(".tagger-figure ") for rule in rules.strip().splitlines())
    counts = [e.text for e in ElementTree.fromstring(confusion_figure(evaluation)).iter() if e.tag.endswith("text")]
    assert str(evaluation.confusions[0].count) in counts


def test_errors_among_other_tags_are_coloured():
    tags = [f"T{i}" for i in range(20)]
    wrong = evaluate([Sentence(["w"] * 20, tags)], [tags[1:] + tags[:1]])
    root = ElementTree.fromstring(confusion_figure(wrong))
    last = [e for e in root.iter() if e.tag.endswith("rect")][-1]  # where the other tags cross
    assert last.get("class").startswith("s")


def test_a_learning_curve_is_drawn():
    curve = LearningCurve(POINTS, "span-f1")
    assert curve == POINTS and "span-f1, %" in parts(curve._repr_html_()).texts


def test_commands_write_figures(tmp_path, models):
    done = run(tmp_path, "eval", TEST, "-m", models / "hmm.npz", "--figure", "confusions.svg")
    assert done.code == 0 and (tmp_path / "confusions.svg").read_text().startswith("<svg")
    args = TRAIN, "--dev", TEST, "--kind", "hmm", "--points", 2, "--jobs", 1, "--figure", "curve.svg"
    assert run(tmp_path, "learning-curve", *args).code == 0
    assert "Learning curve" in (tmp_path / "curve.svg").read_text()


def test_scores_as_csv_and_latex(evaluation):
    rows = list(csv.DictReader(io.StringIO(evaluation.to_csv())))
    assert [row["tag"] for row in rows] == [score.tag for score in evaluation.tags]
    assert [float(row["f1"]) for row in rows if row["f1"]] == [s.f1 for s in evaluation.tags if s.f1 is not None]
    latex = evaluate([Sentence(["a", "b"], ["X_1&", "Y"])], [["X_1&", "X_1&"]]).to_latex()
    assert r"X\_1\& & 50.00 & 100.00 & 66.67 & 1 \\" in latex and "Y & -- & 0.00 & 0.00 & 1" in latex
    assert r"accuracy &  &  & 50.00 & 2 \\" in latex
