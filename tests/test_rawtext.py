"""Plain text to sentences: places, paragraphs, lines, and the same result however the text arrives."""

import os
import re
import subprocess
import sys
from io import BytesIO
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger.corpus.formats import render
from tagger.corpus.tokenizers.segmenter import MAX_SENTENCE_LENGTH, RawText, pieces
from tagger.errors import CorpusError, TaggerError
from tagger.files.reading import Lines
from tagger.sentence import Sentence

TEXT = "Hello there.  How\nare you? I'm\r\nfine\r\n\r\nA title\n \nMr.\nSmith left.\nhe did"


class Trickle:
    """An input that arrives in pieces of a given size."""

    def __init__(self, data, size):
        self.stream, self.size = BytesIO(data), size

    def read1(self, count):
        return self.stream.read(self.size)


def read(text, language="english", size=1 << 20, **options):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", SimpleNamespace(buffer=Trickle(data, size)))
        return list(RawText(Lines("-"), language, **options))


def spoken(sentences):
    return [" ".join(sentence.words) for sentence in sentences]


def test_blank_lines_end_paragraphs_and_other_line_ends_are_spaces():
    assert spoken(read(TEXT)) == [
        "Hello there .", "How are you ?", "I 'm fine", "A title", "Mr. Smith left .", "he did",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_it_does_not_matter_where_the_text_is_cut_on_its_way(size):
    assert spoken(read(TEXT, size=size)) == spoken(read(TEXT))


def test_to_somebody_at_a_terminal_a_line_is_a_whole():
    assert spoken(read("Hello\nMr.\n\nIt is. So", by_line=True)) == ["Hello", "Mr.", "It is .", "So"]


def test_offsets_are_places_in_the_text():
    found = [(word, place) for s in read(TEXT) for word, place in zip(s.words, s.offsets, strict=True)]
    assert found[:3] == [("Hello", (0, 5)), ("there", (6, 11)), (".", (11, 12))]
    assert all(TEXT[begin:end] == word for word, (begin, end) in found)


def test_a_byte_order_mark_is_not_counted_and_other_encodings_are_characters_too():
    assert read("\ufeffIt ends.")[0].offsets == ((0, 2), (3, 7), (7, 8))
    assert read("Grüße, 𝄞!")[0].offsets == ((0, 5), (5, 6), (7, 8), (8, 9))


@pytest.mark.parametrize("language", ["english", "chinese"])
@given(text=st.text("aB.!? \n\r'中国。！…”，\u3000", max_size=60), size=st.integers(1, 7))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_how_the_text_arrives_changes_nothing_and_no_letter_is_lost(language, text, size):
    whole = read(text, language)
    trickled = read(text, language, size)
    assert whole == trickled and [s.offsets for s in whole] == [s.offsets for s in trickled]
    assert "".join(word for s in whole for word in s.words) == "".join(text.split())
    assert all(text[a:b] == word for s in whole for word, (a, b) in zip(s.words, s.offsets, strict=True))


def test_no_text_gives_no_sentence():
    assert read("") == read(" \n\n \r\n") == []


def test_endless_words_and_sentences_are_cut():
    assert [len(word) for word in read("x" * 2500)[0].words] == [1000, 1000, 500]
    assert [len(sentence) for sentence in read("word " * (MAX_SENTENCE_LENGTH + 5))] == [MAX_SENTENCE_LENGTH, 5]
    assert [len(word) for word in read("x" * 2500, size=300)[0].words] == [1000, 1000, 500]


def test_nothing_is_kept_of_what_has_been_read():
    """Of ten million characters in one line, fewer than a thousand wait for the rest of a piece."""
    held = 0
    source = ("a" * 999 + " bc" for _ in range(10_000))
    for _, piece, _ in pieces(source, re.compile(r"\S{1,1000}")):
        held = max(held, len(piece))
    assert held <= 1002


def test_the_moment_to_answer_is_when_the_last_sentence_of_what_came_is_out():
    def parts():
        yield "One. Two.\nThr"
        yield "ee"

    text = RawText(SimpleNamespace(texts=parts, silent=True), "english")
    assert [(" ".join(s.words), text.waiting) for s in text] == [("One .", False), ("Two .", True), ("Three", True)]


def test_a_file_is_not_waited_for(tmp_path):
    (tmp_path / "a.txt").write_text("One. Two.\n")
    text = RawText(Lines(tmp_path / "a.txt"), "english")
    assert [text.waiting for _ in text] == [False, False]


@pytest.mark.parametrize("data, line, byte, before", [(b"ab \xff", 1, "0xFF", "3"), (b"ab\ncd\n\xe9x", 3, "0xE9", "0")])
@pytest.mark.parametrize("size", [1, 1000])
def test_bad_bytes_are_refused_with_their_place(data, line, byte, before, size):
    with pytest.raises(CorpusError) as caught:
        read(data, size=size)
    message = str(caught.value)
    assert message.startswith(f"stdin:{line}: ") and {byte, before, "utf-8", "encoding"} <= set(
        re.findall(r"[-\w]+", message)
    )


# Chinese


def test_chinese_words_and_sentences():
    text = "我来到北京。“好吗？”她说……\n没有标点\nPython 3.5 很好！"
    assert spoken(read(text, "chinese")) == [
        "我 来到 北京 。", "“ 好 吗 ？ ”", "她 说 … …", "没有 标点", "Python 3.5 很 好 ！",
    ]  # fmt: skip


def test_jieba_is_loaded_in_silence_even_where_warnings_are_errors(tmp_path):
    code = "from tagger.corpus.tokenizers.chinese import words; print(words('中文'))"
    command = [sys.executable, "-W", "error", "-c", code]
    temporary, compiled = tmp_path / "temporary", tmp_path / "compiled"  # warnings are given when code is compiled
    temporary.mkdir()
    env = os.environ | {"TMPDIR": str(temporary), "PYTHONPYCACHEPREFIX": str(compiled)}
    run = subprocess.run(command, env=env, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert list(temporary.iterdir()) == []  # nor is a cache left where others could put one


def test_without_jieba_the_error_says_what_to_install(monkeypatch):
    from tagger.corpus.tokenizers import chinese

    chinese.jieba.cache_clear()
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(TaggerError, match=r"pip install 'hmm-crf-tagger\[chinese\]'"):
        read("中文", "chinese")


# What the formats make of it

PLACED = Sentence(["I", "'m", "in", "."], ["A", "B", "C", "D"], offsets=[(4, 5), (5, 7), (9, 11), (11, 12)])


def test_jsonl_tells_the_places():
    assert render(PLACED, "jsonl").decode() == (
        '{"words": ["I", "\'m", "in", "."], "tags": ["A", "B", "C", "D"],'
        ' "offsets": [[4, 5], [5, 7], [9, 11], [11, 12]]}\n'
    )


def test_conllu_tells_the_text_the_places_and_where_no_space_is():
    lines = render(PLACED, "conllu").decode().split("\n")
    assert lines[0] == "# text = I'm in."
    assert lines[1] == "1\tI\t_\tA\t_\t_\t_\t_\t_\tSpaceAfter=No|start_char=4|end_char=5"
    assert lines[2] == "2\t'm\t_\tB\t_\t_\t_\t_\t_\tstart_char=5|end_char=7"
    assert lines[4] == "4\t.\t_\tD\t_\t_\t_\t_\t_\tstart_char=11|end_char=12"


def test_other_formats_are_as_ever():
    assert render(PLACED, "slash") == b"I/A 'm/B in/C ./D\n"


def test_offsets_are_as_many_as_words_and_travel_along():
    assert PLACED.with_tags("WXYZ").offsets == PLACED.offsets
    with pytest.raises(ValueError, match=r"1 .*0"):
        Sentence(["a"], offsets=[])
