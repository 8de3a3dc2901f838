"""Templates as text, and the features they make of sentences."""

from functools import partial

import numpy as np
import pytest
from program import run

from tagger import CRFTagger, Sentence
from tagger.errors import TemplateError
from tagger.features.encoder import learn_features
from tagger.features.functions import FUNCTIONS, NUMBERED, WordForms, shape
from tagger.features.keys import token_keys, word_keys
from tagger.features.tag_parts import TagParts
from tagger.features.template import SHIPPED, Conjunct, describe, margin, parse_templates, template_text
from tagger.normalization import MAX_WORD_LENGTH
from tagger.words.windows import Windows


def test_ranges_and_conjunctions_expand():
    found = [str(template) for template in parse_templates("suffix:1-2[0] & lower[+1]\n\n# nothing\nword # the word")]
    assert found == ["word[0]", "suffix:1[0] & lower[1]", "suffix:2[0] & lower[1]"]


def test_templates_of_one_offset_come_first_by_offset():
    found = parse_templates("lower[-1] & lower[0]\nlower[1]\nword[0]\nlower[-1]\nword[0] & shape[0]\nword[0]")
    assert [template.offset for template in found] == [-1, 0, 0, 1, None]
    assert found[0].conjuncts == (Conjunct("lower", None, -1),)


@pytest.mark.parametrize(
    "text, place",
    [
        ("word[0]\nwrod[0]", "template:2"),
        ("suffix[0]", "template:1"),
        ("word:3[0]", "template:1"),
        ("suffix:4-1[0]", "template:1"),
        ("suffix:0[0]", "template:1"),
        ("word[0", "template:1"),
        ("word[0] & ", "template:1"),
        ("word[1000]", "template:1"),
        (f"word[{'1' * 5000}]", "template:1"),
        (f"suffix:1-{'1' * 5000}", "template:1"),
        ("bias\n" + "bias & " * 300_000 + "bias", "template:2"),
        ("\n# only a comment", "template"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(text, place):
    with pytest.raises(TemplateError) as error:
        parse_templates(text)
    assert str(error.value).startswith(f"{place}: ")


def test_an_unknown_name_is_refused():
    with pytest.raises(TemplateError, match="no-such-template"):
        template_text("no-such-template")


def test_a_template_may_be_a_file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("word[0]\r\nlower[-1]\r\n")
    assert len(parse_templates(template_text(str(path)))) == 2


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_templates_parse(name):
    assert len(parse_templates(template_text(name))) >= 19


def test_describe_shows_what_a_template_sees():
    templates = parse_templates("lower[-1]\nsuffix:3[0]\ncapital[0]\nlower[0] & lower[1]")
    assert describe(["The", "ox"], templates) == [
        ["lower[-1]=<before>", "suffix:3[0]=the", "capital[0]", "lower[0]=the & lower[1]=ox"],
        ["lower[-1]=the", "lower[0]=ox & lower[1]=<after>"],
    ]


@pytest.mark.parametrize("word, expected", [("Mid-1990s", "Xx-dx"), ("U.S.", "X.X."), ("的", "的"), ("", "")])
def test_shape(word, expected):
    assert shape(WordForms([word, "a", word])).strings() == [expected, "x", expected]


@pytest.mark.parametrize("word", ["", "a", "İ", "ß", "日本", "\udc80", "a\u0301", "𝔘"])
def test_every_function_takes_any_word(word):
    """Alone, and among others without being mixed up with them."""
    functions = [*FUNCTIONS.values(), *(partial(function, np.array([[3]])) for function in NUMBERED.values())]
    for function in functions:
        (alone,) = function(WordForms([word])).strings()
        assert alone is None or isinstance(alone, str)
        assert function(WordForms(["Ab-1", word, "", word])).strings()[1::2] == [alone, alone]


@pytest.mark.parametrize("words", [["Abc", "", "d"], ["개가", "x"], []])
def test_numbers_together_are_as_numbers_alone(words):
    for function in NUMBERED.values():
        alone = [function(np.array([[n]]), WordForms(words)).strings() for n in (1, 2, 5)]
        assert [part.strings() for part in function(np.array([[1], [2], [5]]), WordForms(words)).split(3)] == alone


def learned(sentences, text, min_count=1):
    templates = parse_templates(text)
    words = [[token.rsplit("/", 1)[0] for token in sentence.split()] for sentence in sentences]
    tags = np.array([int(token.rsplit("/", 1)[1]) for sentence in sentences for token in sentence.split()])
    windows = Windows.of(words, margin(templates))
    parts = TagParts([str(tag) for tag in range(int(tags.max()) + 1)], None)
    features, counts, _ = learn_features(templates, windows, tags, parts, min_count)
    return features, counts, windows


def test_features_and_counts_equal_those_of_plain_dictionaries():
    """The encoder of ids against counting the features as text."""
    sentences = ["The/0 dog/1 barks/2", "the/0 Dog/1", "<before>/1", "dog/1 the/0 <after>/2 dog/1", "barks/2 barks/1"]
    text = "word[0]\nlower[-2]\nlower[1]\nsuffix:2[0]\ncapital[0]\nlower[-1] & lower[1]\nlower[0] & shape[0]"
    features, counts, _ = learned(sentences, text)
    expected = {}
    for sentence in sentences:
        words, tags = zip(*(token.rsplit("/", 1) for token in sentence.split()), strict=True)
        for i, (row, tag) in enumerate(zip(describe(words, features.templates), tags, strict=True)):
            for name, found in templates_of(row, features, words, i):
                expected[name, found, tag] = expected.get((name, found, tag), 0) + 1
    assert len(counts) == len(expected) and counts.sum() == sum(expected.values())
    assert sorted(counts.tolist()) == sorted(expected.values())
    assert features.rows.bounds[-1] == len(expected)


def templates_of(row, features, words, i):
    """Each feature as (template, (value or outside mark of each part)), where a mark differs from any word."""
    for template in features.templates:
        values = []
        for part in template.conjuncts:
            place = i + part.offset
            outside = "before" if place < 0 else "after" if place >= len(words) else None
            filled = (
                describe([words[place]], parse_templates(f"{part.function}[0]"))[0] if outside is None else [outside]
            )
            values.append((outside, *filled))
        if all(len(value) > 1 for value in values):
            yield str(template), tuple(values)


def test_boundary_marks_equal_no_word():
    features, _, _ = learned(["<before>/0 x/1"], "lower[-1]")
    values = features.values(["<before>", "<after>", ""])
    assert values["lower"][0] not in (features.radix - 1, features.radix - 2)
    assert len(features.keys[0]) == 2  # the mark, and the word that looks like it


def test_rare_features_are_left_out():
    every, _, _ = learned(["a/0 b/1 a/0 c/1"], "word[0]")
    frequent, counts, _ = learned(["a/0 b/1 a/0 c/1"], "word[0]", min_count=2)
    assert len(every.keys[0]) == 3 and len(frequent.keys[0]) == 1 and counts.tolist() == [2]


def test_unseen_values_give_no_feature():
    features, _, _ = learned(["a/0 b/1"], "word[0]\nword[0] & word[1]")
    windows = Windows.of([["a", "z"], ["a", "b"]], features.margin)
    values = features.values(windows.words)
    assert (features.ids(0, word_keys(features.templates[0], values, features.radix))[:2] >= 0).tolist() == [
        True,
        False,
    ]
    pair = features.ids(1, token_keys(features.templates[1], values, windows, features.radix))
    assert (pair >= 0).tolist() == [False, False, True, True]


def test_too_many_parts_are_refused(monkeypatch):
    """Each part of a conjunction is a digit of one number, which has 63 bits."""
    monkeypatch.setattr("tagger.features.syntax.MAX_CONJUNCTS", 40)
    with pytest.raises(TemplateError):
        learned(["a/0 b/1"], " & ".join(f"word[{i}]" for i in range(40)))


def test_windows_see_marks_around_sentences():
    windows = Windows.of([["a", "b", "c"], [], ["d"]], 2)
    names = [*windows.words, "<", ">"]
    assert [names[i] for i in windows.at(-1)] == ["<", "a", "b", "<"]
    assert [names[i] for i in windows.at(2)] == ["c", ">", ">", ">"]


def test_the_comparison_template_equals_the_description_of_the_rivals_features():
    """The words of DESIGN: last letters of neighbours are all of a short word, affixes only of long enough words."""
    row = describe(["A", "cat", "'s", "Re-1", "toys"], parse_templates(template_text("comparison")))[2]
    assert set(row) == {
        "bias[0]", "word[0]='s", "lower[0]='s", "shape[0]='x", "suffix:1[0]=s", "suffix:2[0]='s", "prefix:1[0]='",
        "prefix:2[0]='s", "lower[-1]=cat", "ending:3[-1]=cat", "lower[1]=re-1", "ending:3[1]=e-1", "lower[-2]=a",
        "lower[2]=toys",
    }  # fmt: skip


def test_very_long_words_are_seen_by_their_ends_in_training_tagging_and_features(tmp_path):
    long, like = "a" * 5000 + "b" * 5000, "a" * 100 + "c" * 50 + "b" * 100
    model = CRFTagger(threads=1).fit([Sentence([long, "x"], ["A", "B"]), Sentence(["x", "y"], ["B", "B"])])
    assert max(map(len, model.lexicon_.words.strings())) == MAX_WORD_LENGTH
    assert model.lexicon_.known([long, like, "a" * 200]).tolist() == [True, True, False]
    assert model.predict([[long], [like]]) == [["A"], ["A"]]
    (tmp_path / "template.txt").write_text("lower[0]\n")
    shown = run(tmp_path, "features", "--features", "template.txt", input=long + "\n").out
    assert shown.split() == [long, "lower[0]=" + "a" * 100 + "b" * 100]
