"""The pages of `learning-curve` and `inspect`: numbers by hand, text that is never markup, and a real browser."""

import json
import re
import shutil
import sys
from functools import partial
from html.parser import HTMLParser

import numpy as np
import program
import pytest
from browser import luminance, opened
from paths import TEST, TRAIN

from tagger import CRFTagger, HMMTagger, Sentence, read_corpus
from tagger.experiments.crossval import CurvePoint
from tagger.models.summary import TransitionTable
from tagger.reports.curve_page import curve_page, last_gain, learning_curve
from tagger.reports.html import page_template
from tagger.reports.model_page import TAGS_SHOWN, cells, heat_map, model_page
from tagger.reports.svg import BOTTOM, LEFT, RIGHT, TOP, WHOLE, Scale

POINTS = [CurvePoint(1000, 0.81, (0.79, 0.83)), CurvePoint(2000, 0.86, (0.84, 0.88)), CurvePoint(4000, 0.90, None)]
EVIL = "</td><script>alert(1)</script>\u202e"


# The curve


@pytest.mark.parametrize(
    "low, high, marks",
    [
        (0.793, 0.931, [75, 80, 85, 90, 95]),
        (0.941, 0.955, [94, 95, 96]),
        (0.9, 0.9, [90, 91]),
        (0.05, 0.97, [0, 20, 40, 60, 80, 100]),
        (1.0, 1.0, [99, 100]),
        (0.0, 0.0, [0, 1]),
    ],
)
def test_an_axis_has_whole_percents_around_what_is_shown(low, high, marks):
    scale = Scale.around(low, high)
    assert [round(100 * mark, 9) for mark in scale.marks] == marks
    assert scale.up(scale.marks[0]) == BOTTOM and scale.up(scale.marks[-1]) == TOP
    assert TOP <= scale.up(high) <= scale.up(low) <= BOTTOM


def test_the_points_lie_where_their_numbers_are():
    svg = learning_curve("c", POINTS)
    dots = [tuple(map(float, dot)) for dot in re.findall(r'<circle[^>]*cx="([\d.]+)" cy="([\d.]+)"', svg)]
    scale = Scale.around(0.79, 0.90)
    assert [y for _, y in dots] == pytest.approx([scale.up(p.score) for p in POINTS], abs=0.06)
    steps = np.diff([x for x, _ in dots])
    assert steps[0] == pytest.approx(steps[1], abs=0.11) and LEFT < dots[0][0] < dots[2][0] < RIGHT  # doublings
    for label in ("1.0k", "2.0k", "4.0k", "81.0", "86.0", "90.0", "accuracy, %", "tokens of the training corpus"):
        assert f">{label}<" in svg
    assert "1,000 tokens: 81.0 %" in svg and len(WHOLE.marks) == 6


def test_many_points_have_labels_that_do_not_touch():
    svg = learning_curve("c", [CurvePoint(100 << i, 0.5 + i / 50, None) for i in range(20)])
    xs = [float(x) for x in re.findall(r'<text class="value" x="([\d.]+)"', svg)]
    assert svg.count("<circle") == 20 and 5 <= len(xs) <= 8 and np.diff(xs).min() > 30
    assert ">88.0<" in svg  # the last one, of the whole corpus


def test_a_single_point_is_a_picture_too():
    assert "<circle" in learning_curve("c", POINTS[:1]) and last_gain(POINTS[:1]) is None
    assert last_gain(POINTS) == "The last doubling of the corpus brought +4.00 points."


# The heat map


def test_the_colours_of_the_heat_map_by_hand():
    weights = cells(TransitionTable("weight", np.array([[3.0, -3.0], [0.04, -1.0]])))
    assert [[(cell.text, cell.shade) for cell in row] for row in weights] == [
        [("+3.0", "s6"), ("-3.0", "n6")],
        [("", ""), ("-1.0", "n2")],
    ]
    probabilities = cells(TransitionTable("probability", np.array([[1.0, 0.25], [0.004, 0.0]])))
    assert [[(cell.text, cell.shade) for cell in row] for row in probabilities] == [
        [("1.00", "s6"), (".25", "s2")],
        [("", ""), ("", "")],
    ]
    assert cells(TransitionTable("weight", np.zeros((1, 1))))[0][0].text == ""


@pytest.mark.parametrize("make", [HMMTagger, lambda: HMMTagger(order=1), lambda: CRFTagger(max_iterations=8)])
def test_the_heat_map_shows_the_numbers_of_the_model(make):
    model = make().fit(read_corpus(TEST))
    heat = heat_map(model)
    assert len(heat.tags) == TAGS_SHOWN and heat.left_out == len(model.classes_) - TAGS_SHOWN
    assert heat.tags[0] == max(model.classes_, key=lambda tag: model.tag_counts()[model.classes_.index(tag)])
    assert len(heat.rows) == len(heat.rows[0]) == TAGS_SHOWN + 1
    values = model.transition_table().values
    dt, nn = (model.classes_.index(tag) for tag in ("DT", "NN"))
    there = {(a, b): heat.rows[i][j].text for i, a in enumerate(heat.tags) for j, b in enumerate(heat.tags)}
    assert float(there["DT", "NN"]) == pytest.approx(values[dt, nn], abs=0.051)
    assert float(heat.rows[-1][heat.tags.index("DT")].text) == pytest.approx(values[-1, dt], abs=0.051)
    assert float(heat.rows[heat.tags.index(".")][-1].text) == pytest.approx(
        values[model.classes_.index("."), -1], abs=0.051
    )
    if isinstance(model, HMMTagger):
        np.testing.assert_allclose(values.sum(axis=1)[:-1], 1.0)
    else:
        assert np.array_equal(values[-1, :-1], model.start_) and np.array_equal(values[:-1, -1], model.end_)
        assert np.array_equal(values[:-1, :-1], model.transitions_)


def test_a_model_without_transitions_has_a_page_without_a_heat_map(monkeypatch):
    template, model = page_template("model.html"), HMMTagger().fit(read_corpus(TEST))
    heat = re.compile(r'<h2 id="steps">|<table class="heat">')
    assert len(heat.findall(model_page(template, "m", model))) == 2
    monkeypatch.setattr(HMMTagger, "transition_table", lambda self: None)
    page = model_page(template, "m", model)
    assert not heat.search(page) and '<h2 id="section-1">' in page


def test_words_and_tags_of_a_model_are_never_markup():
    sentences = [Sentence([EVIL, "b"], [f"{EVIL}1", "Y"]), Sentence(["b", EVIL], ["Y", "<b>"])] * 3
    for model in (HMMTagger().fit(sentences), CRFTagger(max_iterations=5).fit(sentences)):
        page = model_page(page_template("model.html"), EVIL, model)
        seen = []

        class Elements(HTMLParser):
            def handle_starttag(self, tag, attributes, seen=seen):
                seen.append(tag)

        Elements().feed(page)
        assert not {"script", "b"} & set(seen) and "table" in seen and "\u202e" not in page


# The commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("pages")
    shutil.copy(models / "crf.npz", folder / "model.npz")
    assert run(folder, "inspect", "--report", "model.html").code == 0
    return folder


def run(folder, *args, run=program.run):
    done = run(folder, *args)
    assert "Traceback" not in done.err
    return done


CURVE = ["learning-curve", TEST, "--dev", TRAIN, "--kind", "hmm", "--points", "3"]


def test_the_page_of_a_curve_comes_beside_the_usual_output(folder):
    plain, drawn = run(folder, *CURVE, "--json"), run(folder, *CURVE, "--json", "--report", "curve.html")
    assert drawn.code == 0 and drawn.out == plain.out and drawn.err == ""
    page = (folder / "curve.html").read_text("utf-8")
    rows = json.loads(plain.out)
    assert list(rows[0]) == ["tokens", "accuracy", "interval"]
    for row in rows:
        assert f"<td>{row['tokens']:,}</td><td>{100 * row['accuracy']:.2f} %</td>" in page
        assert row["interval"][0] < row["accuracy"] < row["interval"][1]


@pytest.mark.parametrize("command", [["inspect"], CURVE])
@pytest.mark.parametrize(
    "report, code, message",
    [
        ("none/x.html", 1, "none/x.html"),
        ("-", 2, "--report"),
        ("out", 1, "out"),
    ],
)
def test_a_wrong_place_is_refused_at_once(folder, command, report, code, message):
    done = run(folder, *command, "--report", report, "-o", "out")
    assert done.code == code and message in done.err and not (folder / "out").exists()


@pytest.mark.parametrize("command", [["inspect"], CURVE])
def test_without_jinja_there_is_a_hint(folder, command):
    code = "import sys; sys.modules['jinja2'] = None; from tagger.cli import main; main()"
    without = partial(program.run_process, command=[sys.executable, "-c", code])
    done = run(folder, *command, "--report", "never.html", run=without)
    assert done.code == 1 and done.out == "" and "pip install 'hmm-crf-tagger[report]'" in done.err


# In a browser


def test_the_pages_fit_a_telephone_and_have_names(folder, browser):
    (folder / "points.html").write_text(curve_page(page_template("curve.html"), "c", POINTS), "utf-8")
    for name in ("model.html", "points.html"):
        opened(browser, folder / name)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        nameless = browser.execute_script(
            "return [...document.querySelectorAll('[aria-labelledby]')].filter(part => !part.getAttribute("
            "'aria-labelledby').split(' ').every(id => document.getElementById(id)?.textContent)).length"
        )
        assert nameless == 0 and browser.get_log("browser") == []
    drawn = browser.execute_script("return document.querySelector('svg').textContent")
    assert "accuracy, %" in drawn and "tokens of the training corpus" in drawn


def test_all_shades_can_be_read_in_both_modes(folder, browser):
    opened(browser, folder / "model.html")
    for scheme in ("dark", "light"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        colours = browser.execute_script(
            "return ['s', 'n'].flatMap(kind => [1, 2, 3, 4, 5, 6].map(i => { const cell = document.createElement('td');"
            " cell.className = kind + i; document.querySelector('.heat tr').append(cell);"
            " const style = getComputedStyle(cell); return [style.backgroundColor, style.color]; }))"
        )
        assert len({paper for paper, _ in colours}) == 12
        for paper, ink in colours:
            low, high = sorted([luminance(paper), luminance(ink)])
            assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, paper, ink)  # WCAG 2.1, 1.4.3
