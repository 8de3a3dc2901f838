"""Explanations: the terms add up to the difference of two paths' scores, for every model; and how they are told."""

import json
import shutil
from html.parser import HTMLParser

import numpy as np
import program
import pytest
from browser import opened
from paths import TEST, TRAIN

from tagger import CRFTagger, HMMTagger, Sentence, read_corpus, save_model
from tagger.features.template import filled
from tagger.models.explain import explain
from tagger.models.summary import FormattedNumber, Section

MODELS = {
    "crf": lambda: CRFTagger(max_iterations=15),
    "hmm": lambda: HMMTagger(),
    "hmm-1": lambda: HMMTagger(order=1),
}
STRANGE = [["x"], ["", "日本"], ["<script>", "can", "\x1b[31m", "fish", "fish"], ["The", "zzyzx", "barks", "."]]


def random_model(kind, seed):
    """Fitted to random tags, so that nothing about it is natural."""
    random = np.random.default_rng(seed)
    words = [[f"w{i}" for i in random.integers(0, 30, n)] for n in random.integers(1, 9, 60)]
    tags = [[f"T{k}" for k in random.integers(0, 5, len(own))] for own in words]
    return MODELS[kind]().fit(words, tags), [[*own, "new"] for own in words[:12]]


def score(model, words, tags):
    """Of one path, found by leaving it alone in the lattice."""
    (_, lattice), *_ = model.lattices([words])
    alone = np.array([[name == tag for name in model.classes_] for tag in tags])
    narrowed = lattice.restrict(alone)
    return float(narrowed.path_scores(narrowed.best())[0])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_terms_add_up_to_the_difference_of_the_scores(kind, seed):
    model, sentences = random_model(kind, seed)
    for words, tokens in zip(sentences, explain(model, sentences), strict=True):
        path = [token.tag for token in tokens]
        assert path == model.predict([words])[0]
        P = model.predict_marginals([words])[0]
        for t, token in enumerate(tokens):
            column = {name: P[t, k] for k, name in enumerate(model.classes_)}
            assert token.probability == pytest.approx(column.pop(token.tag))
            assert token.runner_up_probability == pytest.approx(max(column.values()))
            other = [*path[:t], token.runner_up, *path[t + 1 :]]
            difference = score(model, words, path) - score(model, words, other)
            assert token.difference == pytest.approx(difference, abs=1e-6)
            assert sum(reason.value for reason in token.reasons) == pytest.approx(difference, abs=1e-6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("explain")
    for kind in ("crf", "hmm"):
        shutil.copy(models / f"{kind}.npz", folder)
    save_model(MODELS["hmm-1"]().fit(read_corpus(TRAIN)), folder / "hmm-1.npz")
    return folder


def run(folder, *args, input="They can fish .\n"):
    done = program.run(folder, "explain", *args, input=input)
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_can_say_why(folder, kind):
    done = run(folder, "-m", f"{kind}.npz", "--reasons", "2")
    assert done.code == 0 and done.out.startswith("They/PRP  ")
    assert "other reason" in done.out and "next tag" in done.out


def test_programs_get_all_of_it(folder):
    done = run(folder, "-m", "crf.npz", "--json", input="They can fish .\n\nStop !\n")
    first, blank, last = map(json.loads, done.out.splitlines())
    assert [token["word"] for token in first] == ["They", "can", "fish", "."] and blank == [] and len(last) == 2
    for token in first:
        assert sum(reason["value"] for reason in token["reasons"]) == pytest.approx(token["difference"], abs=1e-9)
    assert any(reason["name"] == "lower[0]=they" for reason in first[0]["reasons"])


def test_words_are_never_markup_nor_commands_to_a_terminal(folder):
    text = "<script>alert(1)</script> \x1b[31mred <b>\n"
    page = run(folder, "-m", "crf.npz", "--html", input=text).out
    seen = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append(tag)

    Tags().feed(page)
    assert "script" not in seen and "b" not in seen and "details" in seen
    assert "http:" not in page and "https:" not in page and "\x1b" not in page
    assert "\x1b" not in run(folder, "-m", "crf.npz", input=text).out


def test_the_page_fits_a_telephone_and_asks_for_nothing(folder, browser):
    words = "They can fish " + "Donaudampfschifffahrtsgesellschaft" * 3 + " .\n"
    (folder / "why.html").write_text(run(folder, "-m", "hmm.npz", "--html", input=words).out, "utf-8")
    opened(browser, folder / "why.html")
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    shown = browser.execute_script("return document.body.innerText")
    assert "known word can" in shown and "not " in shown


def test_two_forms_at_once_are_wrong_usage(folder):
    assert run(folder, "-m", "crf.npz", "--html", "--json").code == 2


def test_a_single_tag_has_no_runner_up():
    model = HMMTagger().fit([Sentence(["a", "b"], ["X", "X"])])
    (token, _), *_ = explain(model, [["a", "b"]])
    assert token.runner_up is None and token.reasons == [] and token.probability == pytest.approx(1)


def test_of_tags_with_probability_zero_the_one_that_scores_highest_is_the_runner_up():
    """An HMM considers frequent words with the tags they were seen with, and no others."""
    model = HMMTagger().fit(read_corpus(TRAIN))
    sentences = [sentence.words for sentence in read_corpus(TEST)[:2]]
    found = 0
    for words, tokens in zip(sentences, explain(model, sentences), strict=True):
        path = [token.tag for token in tokens]
        for t, token in enumerate(tokens):
            if token.runner_up_probability == 0:
                found += 1
                scores = {tag: score(model, words, [*path[:t], tag, *path[t + 1 :]]) for tag in model.classes_}
                best = scores.pop(token.tag)
                assert scores[token.runner_up] == pytest.approx(max(scores.values()))
                assert token.difference == pytest.approx(best - scores[token.runner_up], abs=1e-6)
    assert found > 2


def test_where_every_other_tag_is_impossible_there_is_no_runner_up(tmp_path):
    model = HMMTagger().fit([Sentence(["a", "b", "c"], ["X", "Y", "X"])] * 3, lexicon={"blick": ["Y"]})
    token = explain(model, [["a", "blick", "c"]])[0][1]
    assert (token.tag, token.runner_up, token.difference, token.reasons) == ("Y", None, 0, [])
    save_model(model, tmp_path / "model.npz")
    assert "blick/Y  1.000, no other tag is possible\n" in run(tmp_path, input="a blick c\n").out


def test_features_have_the_same_text_from_their_numbers_as_from_the_words():
    model, sentences = random_model("crf", 0)
    for words in sentences:
        filled_in = filled(words, model.features_.templates)
        for row, texts in zip(model.features_.present(words), filled_in, strict=True):
            assert row and {text for text, _, _ in row} <= set(texts)


@pytest.mark.parametrize("kind", MODELS)
def test_inspect_tells_programs_what_it_tells_people(folder, kind):
    told = program.run(folder, "inspect", f"{kind}.npz")
    found = json.loads(program.run(folder, "inspect", f"{kind}.npz", "--json").out)
    assert told.code == 0 and {f"# {title}" for title in found} <= set(told.out.splitlines())
    assert found["tags"]["rows"][0][0] in told.out
    parts = {row[0]: row[2] for row in found["parts of the file"]["rows"]}
    assert {"words", "lexicon"} <= parts.keys() and parts["words"] > 10
    if kind == "crf":
        strongest = {tag: dict(features) for tag, features in found["strongest features"]["rows"]}
        assert strongest["DT"]["lower[0]=the"] > 0.1 and found["strongest transitions"]["rows"]


def test_a_number_is_a_text_to_a_person_and_a_number_to_a_program():
    row = ["a", 1234, FormattedNumber(0.256, ".0%"), [("x", FormattedNumber(1.5, "+.2f"))], True, None, 0.25, 1234.5678]
    assert Section("told", [row]).texts == [["a", "1,234", "26 %", "x +1.50", "True", "None", "0.25", "1,234.57"]]
    assert json.loads(json.dumps(row)) == ["a", 1234, 0.256, [["x", 1.5]], True, None, 0.25, 1234.5678]
