"""The page of a trellis: geometry, text that is never markup, and its steps in a real browser."""

import json
import re
import sys
from html import unescape
from html.parser import HTMLParser

import numpy as np
import program
import pytest
from browser import luminance, opened
from paths import TESTS

from tagger import HMMTagger, Sentence, load_model
from tagger.reports.html import page_template
from tagger.reports.trellis import as_json
from tagger.reports.trellis_page import MAX_EDGES, MAX_LETTERS, picture, trellis_page

pytest.importorskip("jinja2")

WORDS = ["They", "can", "fish", "in", "the", "park", "."]
EVIL = "</td><script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("trellis page")
    for name in ("hmm", "crf"):
        done = program.run(folder, "trellis", " ".join(WORDS), "-m", models / f"{name}.npz", "--report", f"{name}.html")
        assert done.code == 0 and done.err == "" and "alpha" in done.out
    return folder


@pytest.fixture(scope="module")
def trellises(models):
    return {name: load_model(models / f"{name}.npz").trellis(WORDS) for name in ("hmm", "crf")}


# What is drawn


def test_nodes_stand_in_the_columns_of_their_tokens_and_edges_join_them(trellises):
    for trellis in trellises.values():
        view = trellis.view()
        drawn = picture(trellis, view)
        assert [word for _, word in drawn.columns] == ["<start>", *WORDS, "<end>"]
        places = [x for x, _ in drawn.columns]
        assert np.diff(places).min() > drawn.node_width  # no box touches the next
        for node, state in zip(drawn.nodes, view.states, strict=True):
            assert node.x == places[state.token] and node.is_best == state.is_best
            assert drawn.node_height / 2 < node.y <= drawn.height - drawn.node_height / 2
        for one in drawn.nodes:
            same = sorted(node.y for node in drawn.nodes if node.x == one.x)
            assert np.diff([0, *same]).min() > drawn.node_height
        assert len(drawn.edges) == len(view.steps)
        for edge, step in zip(drawn.edges, view.steps, strict=True):
            before, after = drawn.nodes[step.before], drawn.nodes[step.after]
            assert (edge.y1, edge.y2) == (before.y, after.y) and before.x < edge.x1 < edge.x2 < after.x


def test_of_very_many_steps_only_probable_ones_are_drawn(trellises):
    trellis = trellises["crf"]
    view = trellis.view(0)
    assert len(view.steps) > MAX_EDGES
    drawn = picture(trellis, view)
    assert 0 < len(drawn.edges) < MAX_EDGES
    assert sum(edge.is_best for edge in drawn.edges) == len(WORDS) + 1
    assert all(view.steps[edge.number].probability == edge.probability for edge in drawn.edges)


def test_words_and_tags_are_never_markup():
    sentences = [Sentence([EVIL, "b"], [f"{EVIL}1", "Y"]), Sentence(["b", EVIL], ["Y", "<b>"])] * 3
    trellis = HMMTagger().fit(sentences).trellis([EVIL, "b", "x" * 99])
    page = trellis_page(page_template("trellis.html"), [trellis])
    elements = []

    class Elements(HTMLParser):
        def handle_starttag(self, tag, attributes):
            elements.append(tag)

    Elements().feed(page)
    assert elements.count("script") == 1 and "b" not in elements and "svg" in elements and "\u202e" not in page
    assert all(len(node.label) <= MAX_LETTERS for node in picture(trellis, trellis.view()).nodes)


def test_a_notebook_shows_the_page_in_a_frame(trellises, monkeypatch):
    frame = trellises["hmm"]._repr_html_()
    source = re.fullmatch(r'<iframe title="Trellis" srcdoc="([^"]*)"[^>]*></iframe>', frame)[1]
    assert unescape(source).startswith("<!DOCTYPE html>") and "default-src &#x27;none&#x27;" in source
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert trellises["hmm"]._repr_html_() is None


def test_models_together_have_tables_and_no_picture(models):
    trellis = load_model([str(models / f"{name}.npz") for name in ("hmm", "crf")]).trellis(["They", "fish"])
    page = trellis_page(page_template("trellis.html"), [trellis])
    assert "<svg" not in page and "no chain" in page and "Each column" not in page and 'class="rate"' in page


# In a browser

STATE = """
const section = document.querySelector('.trellis');
return {
  values: [...section.querySelectorAll('.node .value')].map(one => one.textContent),
  now: +section.querySelector('.node.now').dataset.state,
  walked: [...section.querySelectorAll('.node.walked')].map(one => +one.dataset.state),
  step: section.querySelector('output').textContent,
  result: section.querySelector('.panel .result')?.textContent ?? '',
  terms: [...section.querySelectorAll('.panel tbody tr')].map(row => row.lastChild.textContent),
};
"""


def choose(browser, mode):
    script = (
        "const one = document.querySelector('.mode'); one.value = arguments[0]; one.dispatchEvent(new Event('change'))"
    )
    browser.execute_script(script, mode)


def press(browser, key):
    event = "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))"
    browser.execute_script(event, key)


def written(value, digits=3):
    return "-∞" if value is None else f"{value:.{digits}f}"


@pytest.mark.parametrize(
    ("name", "mode"), [("hmm", "delta"), ("crf", "alpha"), ("hmm", "beta"), ("crf", "probability")]
)
def test_steps_forward_and_back_show_the_numbers_of_the_json(folder, browser, trellises, name, mode):
    values = as_json(trellises[name])
    states = values["states"]
    opened(browser, folder / f"{name}.html")
    choose(browser, mode)
    press(browser, "Home")
    order = list(range(len(states)))[:: -1 if mode == "beta" else 1]
    digits = 4 if mode == "probability" else 3
    seen = []
    for place, i in enumerate(order):
        shown = browser.execute_script(STATE)
        seen.append(shown)
        assert shown["now"] == i and shown["step"].startswith(f"step {place + 1} of ")
        done = set(order[: place + 1])
        expected = [written(s[mode], digits) if n in done else "·" for n, s in enumerate(states)]
        assert [text.replace("-0.000", "0.000") for text in shown["values"]] == [
            text.replace("-0.000", "0.000") for text in expected
        ]
        if shown["terms"] and mode != "probability":
            steps = [s for s in values["steps"] if i == s["before" if mode == "beta" else "after"]]
            other = [states[s["after" if mode == "beta" else "before"]] for s in steps]
            sums = [
                s["score"] + (o[mode] if o[mode] is not None else -np.inf) + ((o["emission"] or 0) * (mode == "beta"))
                for s, o in zip(steps, other, strict=True)
            ]
            rest = None if mode == "delta" else states[i][f"{mode}_rest"]
            sums += [] if rest is None else [rest]
            assert [float(term) for term in shown["terms"]] == pytest.approx(sums, abs=6e-4)
        if shown["result"]:
            assert shown["result"].endswith(f" {written(states[i][mode], digits)}")
        browser.find_element("css selector", ".next").click()
    if mode == "delta":
        best = [i for i, state in enumerate(states) if state["is_best"]]
        for walked in range(len(best)):
            assert browser.execute_script(STATE)["walked"] == best[len(best) - 1 - walked :]
            press(browser, "ArrowRight")
        assert browser.execute_script(STATE)["result"] == " ".join(states[i]["tag"] for i in best)
        for _ in best:
            press(browser, "ArrowLeft")
    for place in reversed(range(len(order))):
        assert browser.execute_script(STATE) == seen[place]
        browser.find_element("css selector", ".back").click()
    press(browser, "End")
    assert browser.execute_script(STATE)["step"].split()[1] == browser.execute_script(STATE)["step"].split()[3]
    assert browser.get_log("browser") == []


def test_it_fits_a_telephone_and_keeps_the_step_in_sight(folder, browser):
    opened(browser, folder / "crf.html")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    for key in ("Home", "End"):
        press(browser, key)
        inside = browser.execute_script(
            "const [node, frame] = ['.node.now', '.lattice'].map(name => document.querySelector(name)"
            ".getBoundingClientRect()); return node.left >= frame.left && node.right <= frame.right"
        )
        assert inside, key


def test_numbers_can_be_read_in_both_modes(folder, browser):
    opened(browser, folder / "crf.html")
    for scheme in ("dark", "light"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        for name in (".node.now", ".node:not(.now)"):
            pair = browser.execute_script(
                "const node = document.querySelector(arguments[0]);"
                "return ['rect', '.value'].map(part => getComputedStyle(node.querySelector(part)).fill)",
                name,
            )
            low, high = sorted(map(luminance, pair))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, name, pair)  # WCAG 2.1, 1.4.3


def test_several_sentences_step_by_themselves(folder, browser, models):
    words = "They fish .\nStop !\n"
    program.run(folder, "trellis", "-m", models / "hmm.npz", "--report", "two.html", input=words)
    opened(browser, folder / "two.html")
    steps = "return [...document.querySelectorAll('output')].map(one => one.textContent)"
    before = browser.execute_script(steps)
    second = browser.find_elements("css selector", ".trellis")[1]
    second.find_element("css selector", ".first").click()
    after = browser.execute_script(steps)
    assert before[0] == after[0] and after[1].startswith("step 1 of ")
    press(browser, "ArrowRight")  # goes to the sentence that was used last
    assert browser.execute_script(steps)[1].startswith("step 2 of ")


def test_the_page_of_a_stored_network(tmp_path, browser):
    trellis = load_model(TESTS / "models" / "format-3-bilstm.npz").trellis(["the", "dog", "barks"])
    page = tmp_path / "page.html"
    page.write_text(trellis_page(page_template("trellis.html"), [trellis], 0), "utf-8")
    opened(browser, page)
    data = browser.execute_script("return document.querySelector('.trellis').dataset.trellis")
    assert json.loads(data) == as_json(trellis, 0)
