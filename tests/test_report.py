"""`tagger eval --report`: its numbers by hand, its page as text, and the page in a real browser."""

import json
import re
import shutil
import sys
from collections import Counter
from functools import partial
from html.parser import HTMLParser

import numpy as np
import program
import pytest
from browser import luminance, opened
from paths import DATA, TEST

from tagger import HMMTagger, Sentence, evaluate, load_model, read_corpus, write_corpus
from tagger.evaluation import breakdown
from tagger.evaluation.calibration import ConfidenceGroup, calibration_error, reliability
from tagger.evaluation.error_sample import error_examples, fair_shares
from tagger.models.explain import explain
from tagger.reports.evaluation_page import ERRORS_LISTED, EvaluationRun, confidences, evaluation_page, shades
from tagger.reports.html import page_template
from tagger.reports.svg import accuracy_bars, compact

EVIL = ["</script><script>alert(1)</script>", '"onload=', "'><img/src=x>", "a\u2028b", "{{7*7}}", "\u202eevil", "&lt;"]


# The numbers


def test_calibration_by_hand():
    sure = np.array([0.05, 0.1, 0.95, 0.99, 1.0, 0.3])
    right = np.array([False, True, True, True, False, False])
    bins = reliability(sure, right)
    assert [(row.label, row.tokens, row.right) for row in bins if row.tokens] == [
        ("0–10 %", 1, 0), ("10–20 %", 1, 1), ("30–40 %", 1, 0), ("90–100 %", 3, 2),
    ]  # fmt: skip
    assert bins[9].confidence == pytest.approx(0.98) and bins[9].accuracy == pytest.approx(2 / 3)
    assert bins[5].accuracy is None and bins[5].confidence == 0
    # |0 − .05| + |1 − .1| + |0 − .3| + |2 − 2.94|, over 6 tokens
    assert calibration_error(bins) == pytest.approx((0.05 + 0.9 + 0.3 + 0.94) / 6)
    assert calibration_error(reliability(np.zeros(0), np.zeros(0, bool))) is None


@pytest.mark.parametrize(
    ("tokens", "right", "confidence", "calibrated"),
    [
        (100_000, 95_000, 0.9599, True),  # within a point
        (100_000, 95_000, 0.9601, False),
        (100, 95, 0.90, True),  # in the interval, 88.8 to 97.8
        (100, 95, 0.88, False),
        (0, 0, 0.0, True),
    ],
)
def test_a_bin_is_calibrated_within_a_point_or_its_interval(tokens, right, confidence, calibrated):
    assert ConfidenceGroup("90–100 %", tokens, right, confidence).is_calibrated == calibrated


def test_groups_by_hand():
    gold = [Sentence(["a", "a", "b", "new", "a", "a"], "XXYXXX"), Sentence(["b"], "Y"), Sentence([], [])]
    guesses = [list("XXXXXY"), ["Y"], []]
    right = breakdown.correct_tokens(gold, guesses)
    assert right.tolist() == [True, True, False, True, True, False, True]
    assert triples(breakdown.by_length(gold, right)) == [("1–5", 1, 1), ("6–10", 6, 4)]
    lexicon = HMMTagger().fit([Sentence(["a", "a", "b"], "XYY"), Sentence(["a"] * 3, "XXX")]).lexicon_
    assert lexicon.frequency(["a", "b", "new"]).tolist() == [5, 1, 0]
    assert triples(breakdown.by_frequency(gold, right, lexicon)) == [("0", 1, 1), ("1", 2, 1), ("5–9", 4, 3)]
    sure = np.array([0.2, 0.5, 0.899, 0.9, 0.99, 1.0, 0.7])
    assert triples(breakdown.by_confidence(sure, right)) == [
        ("0–50", 1, 1), ("50–70", 1, 1), ("70–80", 1, 1), ("80–90", 1, 0), ("90–95", 1, 1), ("99–100", 2, 1),
    ]  # fmt: skip


def triples(groups):
    return [(row.label, row.tokens, row.right) for row in groups if row.tokens]


@pytest.mark.parametrize("right, tokens", [(81, 263), (15, 148), (0, 20), (20, 20)])
def test_the_bounds_of_wilsons_interval_are_where_the_data_are_just_surprising(right, tokens):
    """At either bound p, what was seen is 1.96 standard deviations sqrt(n · p · (1 - p)) away from n · p."""
    for p in breakdown.wilson(right, tokens):
        assert (right - tokens * p) ** 2 == pytest.approx(1.959964**2 * tokens * p * (1 - p), rel=1e-4, abs=1e-9)


def test_the_grid_by_hand():
    gold, guess = list("AAAABBBCCD"), list("AAABBBACCD")
    found = evaluate([Sentence(gold, gold)], [guess])
    grid = breakdown.confusion_grid(found)
    assert (grid.tags, grid.others, grid.counts) == (["A", "B"], True, [[3, 1, 0], [1, 2, 0], [0, 0, 0]])
    assert shades(grid) == [[0, 6, 0], [6, 0, 0], [0, 0, 0]]
    right = evaluate([Sentence(gold, gold)], [gold])
    assert breakdown.confusion_grid(right).counts == [[0]] and shades(breakdown.confusion_grid(right)) == [[0]]


def test_the_grid_counts_every_error_once():
    random = np.random.default_rng(0)
    gold, guess = ([f"T{k}" for k in random.integers(0, 30, 5000)] for _ in range(2))
    grid = breakdown.confusion_grid(evaluate([Sentence(gold, gold)], [guess]))
    counts = np.array(grid.counts)
    assert len(grid.tags) == breakdown.GRID_TAGS and counts.shape == (breakdown.GRID_TAGS + 1,) * 2
    errors = sum(a != b for a, b in zip(gold, guess, strict=True))
    assert counts.sum() - np.trace(counts[:-1, :-1]) == errors
    a, b = grid.tags[0], grid.tags[3]
    assert counts[0, 3] == Counter(zip(gold, guess, strict=True))[a, b]


@pytest.mark.parametrize(
    "counts, limit, shares",
    [
        ([3, 2], 10, [3, 2]),
        ([10, 10], 5, [3, 2]),
        ([100, 50, 3, 1], 20, [8, 8, 3, 1]),
        ([5, 5, 5], 11, [4, 4, 3]),
        ([9, 8, 7, 6], 2, [1, 1, 0, 0]),
        ([], 5, []),
    ],
)
def test_fair_shares(counts, limit, shares):
    assert fair_shares(counts, limit) == shares


def test_errors_of_a_kind_come_from_all_over_the_corpus():
    gold = [Sentence(["w"], ["A"]) for _ in range(100)]
    assert [one.sentence for one in error_examples(gold, [["B"]] * 100, 4)] == [0, 25, 50, 75]


def test_confidence_is_the_probability_of_the_guess_also_under_new_names():
    model = HMMTagger().fit(read_corpus(DATA / "english-train.txt"))
    gold = read_corpus(TEST)[:20]
    guesses = model.predict(gold)
    sure = confidences(model, gold, guesses, model.classes_)
    told = [token.probability for tokens in explain(model, gold) for token in tokens]
    assert sure == pytest.approx(told, abs=1e-9)
    coarse = [name[:1] for name in model.classes_]  # NN and NNS are N
    merged = confidences(model, gold, [[tag[:1] for tag in tags] for tags in guesses], coarse)
    first = next(tags for tags in guesses)[0][:1]
    own = [k for k, name in enumerate(coarse) if name == first]
    assert merged[0] == pytest.approx(model.predict_marginals(gold[:1])[0][0, own].sum())
    assert (merged >= sure - 1e-9).all() and (merged > sure + 1e-3).any()


def test_explaining_some_tokens_says_the_same_as_explaining_all():
    model = HMMTagger().fit(read_corpus(DATA / "english-train.txt"))
    gold = read_corpus(TEST)[:3]
    everything = explain(model, gold)
    some = explain(model, gold, [[2, 0], [], [1]])
    assert some == [[everything[0][2], everything[0][0]], [], [everything[2][1]]]


def test_pictures_have_titles_axes_and_the_groups_labels():
    svg = accuracy_bars("p", "By <length>", "tokens", [breakdown.Group("1–5", 1234, 617), breakdown.Group("6+", 0, 0)])
    assert 'role="img"' in svg and "By &lt;length&gt;</title>" in svg and "<desc" in svg
    for label in ("1–5", "6+", "tokens", "accuracy, %", "50.0", "1.2k"):
        assert f">{label}<" in svg
    assert svg.count("<rect") == 1
    assert [compact(n) for n in (0, 999, 1000, 9960, 123456, 2_500_000)] == ["0", "999", "1.0k", "10k", "123k", "2.5M"]


# The page as text


class Parsed(HTMLParser):
    """Which elements there are, and what their attributes point to."""

    def __init__(self, page):
        super().__init__()
        self.seen, self.targets, self.handlers, self.words, self.ids = Counter(), [], [], [], Counter()
        self.in_mark = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.seen[tag] += 1
        self.in_mark = tag == "mark"
        for name, value in attributes:
            self.targets += [value] if name in ("src", "href", "action", "srcset", "data") else []
            self.handlers += [name] if name.startswith("on") else []
            self.ids[value] += name == "id"

    def handle_data(self, data):
        if self.in_mark:
            self.words.append(data)
        self.in_mark = False


def page_of(gold, guesses, model=None):
    found = evaluate(gold, guesses, model.lexicon_ if model else None)
    lexicon = model.lexicon_ if model else None
    sure = confidences(model, gold, guesses, model.classes_) if model else None
    return evaluation_page(
        page_template("evaluation.html"),
        EvaluationRun("<title>", gold, guesses, found, model, lexicon, sure, None, []),
    )


def test_words_and_tags_are_never_markup_nor_script():
    gold = [Sentence(EVIL, [f"<b>{i}" for i in range(len(EVIL))]), Sentence(EVIL[::-1], ["X"] * len(EVIL))]
    model = HMMTagger().fit(gold)
    wrong = [tuple(reversed(sentence.tags)) for sentence in gold[:1]] + [["<b>0"] * len(EVIL)]
    for page in (page_of(gold, wrong, model), page_of(gold, wrong)):
        parsed = Parsed(page)
        assert parsed.seen["script"] == 1 and not parsed.handlers and not {"b0", "img", "title1"} & parsed.seen.keys()
        assert parsed.targets == ["data:,"] and parsed.seen["title"] == 1 + page.count("<svg")
        assert not re.search("[\u2028\u2029\u202e]", page) and "49" not in parsed.words
        shown = {word.replace("\u2028", "\\u2028").replace("\u202e", "\\u202e") for word in EVIL}
        assert shown >= set(parsed.words) and len(set(parsed.words)) >= len(EVIL) - 1
        assert "http://" not in page and "https://" not in page
        assert all(count <= 1 for count in parsed.ids.values())


def test_an_error_stands_in_its_context():
    words = [f"w{i}" for i in range(100)]
    gold = [Sentence(words, ["X"] * 100), Sentence(["a", "b", "c"], ["X"] * 3)]
    guesses = [[*["X"] * 50, "Y", *["X"] * 49], ["X", "Y", "X"]]
    page = page_of(gold, guesses)
    assert "a <mark>b</mark> c</bdi>" in page and "(sentence 1, token 51)" in page
    assert "w48 w49 <mark>w50</mark> w51 w52" in page and ">… w30" in page and "w70 …<" in page
    assert not {"w29", "w71"} & set(page.split())


def test_tens_of_thousands_of_errors_make_a_small_page():
    random = np.random.default_rng(0)
    tags = [f"T{k}" for k in range(20)]
    words = [f"w{i}" for i in range(500)] + ['"' * 300, "<" * 5000]
    gold = [
        Sentence([words[i] for i in random.integers(0, len(words), 10)], random.choice(tags, 10).tolist())
        for _ in range(2_200)
    ]
    model = HMMTagger(order=1).fit(gold[:500])
    guesses = model.predict(gold)
    errors = sum(a != b for s, own in zip(gold, guesses, strict=True) for a, b in zip(s.tags, own, strict=True))
    assert errors > 20_000
    page = page_of(gold, guesses, model)
    assert len(page.encode()) < 5_000_000
    assert Parsed(page).seen["mark"] == ERRORS_LISTED and f"1,000 of {errors:,} errors" in page


def test_without_errors_there_is_a_page_all_the_same():
    gold = [Sentence(["a"], ["X"]), Sentence([], [])]
    page = page_of(gold, [["X"], []], HMMTagger().fit(gold))
    assert 'id="errors"' in page and "<script" not in page
    assert not {"mark", "details"} & set(Parsed(page).seen)


# The command


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("report")
    shutil.copy(models / "hmm.npz", folder)
    shutil.copy(models / "crf.npz", folder / "model.npz")
    test, crf = read_corpus(TEST), load_model(folder / "model.npz")
    write_corpus(folder / "tagged.txt", [s.with_tags(t) for s, t in zip(test, crf.predict(test), strict=True)])
    assert run(folder, TEST, "--report", "report.html", "--compare", "hmm.npz").code == 0
    return folder


def run(folder, *args, run=program.run):
    done = run(folder, "eval", *args)
    assert "Traceback" not in done.err
    return done


def test_one_error_is_not_called_all_errors(folder):
    (folder / "gold.txt").write_text("a/D dog/N\n")
    (folder / "other.txt").write_text("a/D dog/V\n")
    assert run(folder, "gold.txt", "--predictions", "other.txt", "--report", "one.html").code == 0
    page = (folder / "one.html").read_text("utf-8")
    assert Parsed(page).seen["mark"] == 1 and "All 1 " not in page and "1 errors" not in page


def test_the_report_comes_beside_the_usual_output(folder):
    with_report, without = run(folder, TEST, "--json", "--report", "again.html"), run(folder, TEST, "--json")
    found, same = json.loads(with_report.out), json.loads(without.out)
    del found["tokens_per_second"], same["tokens_per_second"]
    assert found == same and with_report.err == ""
    page = (folder / "again.html").read_text("utf-8")
    assert f"{100 * found['accuracy']:.2f} %" in page
    title = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[1]
    assert "model.npz" in title and "english-test.txt" in title
    errors = sum(c["count"] for c in found["confusions"])
    assert f" {errors} errors" in page and Parsed(page).seen["details"] == errors
    compared = (folder / "report.html").read_text("utf-8")
    told = next(line for line in re.findall(r"<p>(.*)</p>", compared) if "hmm.npz" in line and "model.npz" in line)
    assert "95 % interval" in told and re.search(r"\bp (=|&lt;) \d", told) and "\ufffd" not in compared


def test_tags_from_a_file_leave_out_what_only_a_model_knows(folder, tmp_path):
    assert run(folder, TEST, "--predictions", "tagged.txt", "--report", tmp_path / "a.html").code == 0
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "Calibration is left out" in page and "Explanations are left out" in page
    assert "by word frequency is left out" in page and "<details" not in page and page.count("<svg") == 1
    run(folder, TEST, "--predictions", "tagged.txt", "-m", "model.npz", "--report", tmp_path / "b.html")
    page = (tmp_path / "b.html").read_text("utf-8")
    assert "Calibration is left out" in page and "frequency is left out" not in page and page.count("<svg") == 2


def test_renamed_tags_have_a_report_too(folder, tmp_path):
    done = run(folder, TEST, "--map", DATA / "penn-upos.tsv", "--report", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert done.code == 0 and '<th scope="row">NOUN</th>' in page and "runner-up NN" in page


@pytest.mark.parametrize(
    "args, code, message",
    [
        (["--report", "none/report.html"], 1, "none/report.html"),
        (["--report", "model.npz"], 1, "model.npz"),
        (["--report", "x.html", "-o", "x.html"], 1, "x.html"),
        (["--report", "-"], 2, "--report"),
    ],
)
def test_a_wrong_place_is_refused_at_once(folder, args, code, message):
    done = run(folder, TEST, *args)
    assert done.code == code and message in done.err and done.out == ""


def test_without_jinja_there_is_a_hint_and_nothing_else(folder):
    code = "import sys; sys.modules['jinja2'] = None; from tagger.cli import main; main()"
    without = partial(program.run_process, command=[sys.executable, "-c", code])
    done = run(folder, TEST, "--report", "never.html", run=without)
    assert done.code == 1 and done.out == "" and not (folder / "never.html").exists()
    assert "pip install 'hmm-crf-tagger[report]'" in done.err and done.err.count("\n") == 1
    assert run(folder, TEST, run=without).code == 0


# The page in a browser


def visible(browser):
    """(gold, guess, word) of the errors that can be seen."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#list > li')].filter(item => item.offsetHeight).map(item =>"
        " [...item.querySelectorAll('b, mark')].map(part => part.textContent))"
    )


def test_the_page_works_in_a_browser(folder, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait

    opened(browser, folder / "report.html")
    everything = visible(browser)
    test, tagged = read_corpus(TEST), read_corpus(folder / "tagged.txt")
    errors = sorted(
        [a, b, word]
        for right, found in zip(test, tagged, strict=True)
        for word, a, b in zip(right.words, right.tags, found.tags, strict=True)
        if a != b
    )
    assert sorted(everything) == errors

    gold, guess, word = (browser.find_element(By.ID, name) for name in ("gold", "guess", "word"))
    a, b, _ = everything[0]
    Select(gold).select_by_visible_text(f"{a} ({sum(row[0] == a for row in errors)})")
    assert visible(browser) == [row for row in everything if row[0] == a] != everything
    Select(guess).select_by_visible_text(f"{b} ({sum(row[1] == b for row in errors)})")
    both = [row for row in everything if row[:2] == [a, b]]
    assert visible(browser) == both
    word.send_keys(both[0][2].upper())
    assert visible(browser) == [row for row in both if both[0][2].lower() in row[2].lower()]
    assert f"of {len(errors)} listed errors shown" in browser.find_element(By.ID, "shown").text
    word.send_keys(Keys.ENTER)  # must not leave the page
    browser.find_element(By.CSS_SELECTOR, "button[type=reset]").send_keys(Keys.SPACE)
    WebDriverWait(browser, 5).until(lambda _: visible(browser) == everything)

    summary = browser.find_element(By.TAG_NAME, "summary")
    table = browser.find_element(By.CSS_SELECTOR, "details table")
    assert not table.is_displayed()
    summary.send_keys(Keys.ENTER)
    assert table.is_displayed() and re.search(r"^[+-]\d+\.\d\d \S", table.text, re.M)

    heads = {cell.text for cell in browser.find_elements(By.CSS_SELECTOR, ".heat th")}
    assert {a, b} <= heads and browser.find_element(By.CSS_SELECTOR, ".heat td.s6").text
    drawn = [picture.text for picture in browser.find_elements(By.TAG_NAME, "svg")]
    assert len(drawn) == 4 and all("%" in labels and "tokens in each" in labels for labels in drawn)
    assert browser.get_log("browser") == []


def test_the_page_fits_a_telephone_and_has_names_for_everything(folder, browser):
    opened(browser, folder / "report.html")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('select, input')].filter(field => !field.labels.length).length"
    )
    assert nameless == 0
    pictures = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(p => p.getAttribute('aria-labelledby').split(' ')"
        ".every(id => document.getElementById(id).textContent))"
    )
    assert pictures == [True] * 4


def test_dark_mode_is_dark_and_both_can_be_read(folder, browser):
    opened(browser, folder / "report.html")
    for scheme, dark in (("light", False), ("dark", True)):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        colours = browser.execute_script(
            "return ['body', '.s1', '.s2', '.s3', '.s4', '.s5', '.s6'].map(name => document.querySelector(name))"
            ".filter(Boolean).map(getComputedStyle).map(style => [style.backgroundColor, style.color])"
        )
        assert (luminance(colours[0][0]) < 0.1) is dark and len(colours) >= 4
        for paper, ink in colours:
            low, high = sorted([luminance(paper), luminance(ink)])
            assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, paper, ink)  # WCAG 2.1, 1.4.3


def test_hostile_words_do_nothing_in_a_browser(browser, tmp_path):
    gold = [Sentence(EVIL, [f"<b>{i}" for i in range(len(EVIL))])]
    model = HMMTagger().fit([*gold, Sentence(EVIL, ["X"] * len(EVIL))])
    (tmp_path / "evil.html").write_text(page_of(gold, [["X"] * len(EVIL)], model), "utf-8")
    opened(browser, tmp_path / "evil.html")
    assert len(visible(browser)) == len(EVIL) and EVIL[0] in [row[2] for row in visible(browser)]
