"""Text made safe: what a terminal could obey is written out, and words stay as they are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import run

from tagger.escaping import encoded, quote, shortened, visible
from tagger.reports.text import padded, width

WORDS = [
    "می\u200cروم",  # Persian
    "क्\u200dष",  # Hindi
    "10\u00a0000",
    "全\u3000角",
    "👩\u200d👧",
    "\ue000",  # private use
    "\U000e0fff",  # unassigned
    "a\u200eb",  # a mark of direction, which turns nothing but itself
    "\ufeffa",
    "so\u00adft",
]


@pytest.mark.parametrize("word", WORDS)
def test_words_stay_as_they_are(word):
    assert visible(word) == word and quote(word) == f"'{word}'" and encoded(word).decode() == word


@pytest.mark.parametrize(
    "text, shown",
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x00\n\r\t\x7f", "\\x00\\n\\r\\t\\x7f"),
        ("\x85\x9b", "\\x85\\x9b"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\u202a\u202b\u202c\u202d\u202e", "\\u202a\\u202b\\u202c\\u202d\\u202e"),
        ("\u2066\u2067\u2068\u2069", "\\u2066\\u2067\\u2068\\u2069"),
        ("a\udcff", "a\\udcff"),
    ],
)
def test_what_a_terminal_could_obey_is_written_out(text, shown):
    assert visible(text) == shown and visible(shown) == shown and quote(text) == f"'{shown}'"


def test_line_ends_that_are_meant_can_be_kept():
    assert visible("a\nb\t", keep="\n") == "a\nb\\t"


@given(st.text(st.characters(max_codepoint=126) | st.sampled_from("\x7f\x9b\u2028\u202e"), max_size=40))
def test_quotes_are_those_of_python(text):
    assert quote(text) == repr(text)


def test_long_text_is_cut():
    assert quote("a" * 40) == repr("a" * 40)
    assert quote("a" * 41) == repr("a" * 40) + "…"
    assert shortened("\x1b" * 3, 2) == "\\x1b\\x1b…" and shortened("ab", 2) == "ab"


@pytest.mark.parametrize("text, columns", [("NN", 2), ("名詞", 4), ("e\u0301", 1), ("می\u200cروم", 5), ("", 0)])
def test_a_table_counts_columns_not_characters(text, columns):
    assert width(text) == columns and padded(text, 6) == text + " " * (6 - columns)


def test_a_table_in_a_file_keeps_the_words(tmp_path):
    """The columns of an evaluation are aligned, and neither they nor the JSON lose a letter of a word or tag."""
    word, tag = "می\u200cروم", "فعل\u200cها"
    (tmp_path / "gold.txt").write_text(f"{word}/{tag} x/名詞\n" * 3, "utf-8")
    (tmp_path / "guess.txt").write_text(f"{word}/名詞 x/名詞\n" * 3, "utf-8")
    for options in (["-o", "table.txt"], ["--json", "-o", "table.json"]):
        assert run(tmp_path, "eval", "gold.txt", "--predictions", "guess.txt", *options).code == 0
    table = (tmp_path / "table.txt").read_text("utf-8")
    assert f"[{word}] x" in table and "\ufffd" not in table
    rows = [line for line in table.splitlines() if line.startswith((tag, "名詞 ")) and line.endswith("3")]
    assert len(rows) == 2 and width(rows[0]) == width(rows[1])
    assert tag in json.loads((tmp_path / "table.json").read_text("utf-8"))["tags"]
