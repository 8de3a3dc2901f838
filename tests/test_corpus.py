"""Every format: what it reads, what it refuses and how, what it writes, and that nothing is lost on the way."""

import copy
import gzip
import json
import pickle
import re
import time
from io import BytesIO
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagger.corpus import LOOK_AHEAD, read_corpus, read_sentences, write_corpus
from tagger.corpus.column_names import DEFAULT_NAMES, ColumnNames
from tagger.corpus.formats import FORMATS, recognize_format, slash
from tagger.errors import CorpusError, FileError
from tagger.files.reading import Lines
from tagger.sentence import Sentence

CONLLU = """\
# sent_id = 1
# text = Vámonos al mar.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tV\tMood=Ind\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\tCase=Acc\t1\tobj\t1:obj|2:x\t_
2.1\tgone\tgo\tVERB\tV\t_\t_\t_\t0:root\tEmpty=Yes
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tS\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tD\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tN\t_\t1\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\tF\t_\t1\tpunct\t_\t_

# sent_id = 2
1\tNew York\tNew York\tPROPN\tNP\t_\t0\troot\t_\t_

"""
SLASH = "The/DT dog/NN barks/VBZ\nand/or/CC 1/2/CD\n"
LINES = "The/DT\ndog/NN\n\nBarks/VBZ\n./.\n"
TSV = "The\tDT\ndog\tNN\n\nBarks\tVBZ\n"
PKU = "19980101-01-001-001/m  [中央/n  电台/n]nt  广播/v  。/w\n\n19980101-01-001-002/m  [/w  ]/w\n"
JSONL = '{"words": ["New York", "a/b"], "tags": ["NNP", "X/Y"]}\n'
SAMPLES = {"slash": SLASH, "lines": LINES, "tsv": TSV, "conllu": CONLLU, "pku": PKU, "jsonl": JSONL}
NAMES = list(SAMPLES)
SPACELESS = ["slash", "lines", "pku"]  # formats whose words cannot hold spaces


@pytest.fixture
def file(tmp_path):
    def create(content, name="corpus.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return create


def read_text(text, format=None, tagged=True, column="upos"):
    """The sentences of a text that comes from standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(text.encode())))
        return list(read_sentences(Lines("-"), format, tagged, ColumnNames(column)))


def pairs(sentences):
    return [list(zip(sentence.words, sentence.tags, strict=True)) for sentence in sentences]


def refusal(text, format, **options):
    with pytest.raises(CorpusError) as caught:
        read_text(text, format, **options)
    return str(caught.value)


def conllu_row(number, word, upos="_", xpos="_"):
    return "\t".join([str(number), word, "_", upos, xpos, *"_____"]) + "\n"


# slash


@pytest.mark.parametrize(
    "token, word, tag",
    [
        ("dog/NN", "dog", "NN"),
        ("1/2/CD", "1/2", "CD"),
        ("//SYM", "/", "SYM"),
        ("///SYM", "//", "SYM"),
        ("and/or/CC", "and/or", "CC"),
        ("http://x//NN", "http://x/", "NN"),
        ("./.", ".", "."),
        ("#/#", "#", "#"),
        ("{/-LRB-", "{", "-LRB-"),
    ],
)
@pytest.mark.parametrize("format", SPACELESS)
def test_the_last_slash_splits(format, token, word, tag):
    assert pairs(read_text(token + "\n", format)) == [[(word, tag)]]


def test_spaces_and_tabs_separate_however_many():
    text = "  a/A \t b/B\t\tc/C  \t\n"
    assert pairs(read_text(text, "slash")) == [[("a", "A"), ("b", "B"), ("c", "C")]]


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2028", "\u2029", "\x85", "\u2009", "\x0b", "\x0c", "\x1f"])
@pytest.mark.parametrize("format", SPACELESS)
def test_other_white_space_belongs_to_words(format, space):
    word = f"a{space}b"
    assert pairs(read_text(f"{word}/N {space}/S\n".replace(" ", "\n" if format == "lines" else " "), format)) == [
        [(word, "N"), (space, "S")]
    ]


def test_blank_lines_are_no_sentences():
    assert pairs(read_text("\na/A\n \t\nb/B\n\n", "slash")) == [[("a", "A")], [("b", "B")]]


def test_untagged_lines_keep_their_place_and_their_slashes():
    sentences = read_text("1/2 a\n\n \tb\n", "slash", tagged=False)
    assert sentences == [Sentence(["1/2", "a"]), Sentence([]), Sentence(["b"])]


@pytest.mark.parametrize("token", ["/NN", "dog/", "dog", "/"])
@pytest.mark.parametrize("format", SPACELESS)
def test_a_token_that_is_not_word_slash_tag_is_refused_with_its_place(format, token):
    message = refusal(f"a/A\n{token}\n", format)
    assert message.startswith("stdin:2: ")
    assert repr(token) in message


def test_only_the_bad_token_is_shown_and_shortened():
    message = refusal(f"a/A\ngood/JJ {'x' * 500}\n", "slash")
    assert "good" not in message
    assert "xxx'…" in message
    assert len(message) < 120


@pytest.mark.parametrize("token", ["The_DT", "The,DT", "The"])
@pytest.mark.parametrize("format", ["slash", "lines"])
def test_a_first_line_without_tags_names_other_formats(format, token):
    message = refusal(f"{token}\n", format)
    assert repr(token) in message and all(name in message for name in ("tsv", "conllu"))
    assert "conllu" not in refusal(f"a/A\n{token}\n", format)


# lines


def test_blank_lines_end_sentences_and_final_marks_do_not():
    assert pairs(read_text("a/A\n./.\nb/B\n\n \nc/C\n./.\nd/D\n", "lines")) == [
        [("a", "A"), (".", "."), ("b", "B")],
        [("c", "C"), (".", "."), ("d", "D")],
    ]


@pytest.mark.parametrize("mark", [".", "!", "?", "。", "！", "？"])
def test_without_blank_lines_a_final_mark_ends_the_sentence(mark):
    text = f"a/A\n{mark}/W\nb/B\nc/C\n{mark}/W\n"
    assert pairs(read_text(text, "lines")) == [[("a", "A"), (mark, "W")], [("b", "B"), ("c", "C"), (mark, "W")]]


def test_without_blank_lines_the_rest_is_a_sentence_too():
    assert pairs(read_text("a/A\n./.\nb/B", "lines")) == [[("a", "A"), (".", ".")], [("b", "B")]]


@pytest.mark.parametrize("word", ["...", "?!", ",", "U.S.", "；"])
def test_only_a_final_mark_by_itself_ends_a_sentence(word):
    assert len(read_text(f"a/A\n{word}/W\nb/B\n", "lines")) == 1


def test_a_final_mark_is_a_word_and_not_a_tag():
    assert pairs(read_text("-/.\nb/B\n", "lines")) == [[("-", "."), ("b", "B")]]


def test_two_tokens_on_a_line_are_refused():
    assert refusal("a/A\n\nb/B c/C\n", "lines") == "stdin:3: expected one word/TAG on the line, got 2: 'b/B c/C'"


TWENTY = "The/D\ndog/N\nbarks/V\n./.\n" * 20


@pytest.mark.parametrize("text", [TWENTY + "\n", TWENTY + " \n" + TWENTY, "\n" + TWENTY, TWENTY * 20 + "\n" + TWENTY])
def test_a_stray_blank_line_does_not_join_sentences(text):
    assert {len(sentence) for sentence in read_text(text, "lines")} == {4}
    assert len(read_text(text)) == text.count("./.")


def test_a_blank_line_ends_a_sentence_that_has_no_mark():
    found = read_text("Hello/U\n\n" + TWENTY, "lines")
    assert [len(sentence) for sentence in found] == [1] + [4] * 20


@pytest.mark.parametrize("words", ["a . b . c .", ". . . . . . . . . . . . . . . . . . . . .", "1 . 2 . 3 . 4 . 5"])
def test_marks_inside_of_sentences_are_no_ends(words):
    sentences = [Sentence(tuple(words.split()), tuple(words.split()))]
    for corpus in (sentences, sentences + [Sentence(("x", "."), ("X", "."))] * 9):
        text = "".join(FORMATS["lines"].write(sentence, DEFAULT_NAMES) for sentence in corpus)
        assert read_text(text, "lines") == corpus


@given(st.lists(st.lists(st.sampled_from(["a", "b", ".", "!"]), min_size=1, max_size=60), min_size=1, max_size=5))
@example([["a", "."] * 14])
@example([["a", "."] * 700, ["a", "."] * 700])  # beyond the lines that decide
@example([["a"], ["a", "."] * 700])
def test_sentences_with_any_marks_inside_come_back_whole(corpus):
    sentences = [Sentence(words, ["X"] * len(words)) for words in corpus]
    text = "".join(FORMATS["lines"].write(sentence, DEFAULT_NAMES) for sentence in sentences)
    assert read_text(text, "lines") == sentences


@pytest.mark.parametrize("blanks", ["\n" * 9, "\n \n\t\n"])
def test_blank_lines_at_the_end_of_a_file_say_nothing(blanks):
    assert len(read_text(TWENTY + blanks, "lines")) == 20


def test_untagged_lines_of_words():
    assert read_text("a/b\nc\n\nd\n", "lines", tagged=False) == [Sentence(["a/b", "c"]), Sentence(["d"])]


# tsv


def test_tsv_words_may_hold_spaces_slashes_and_hashes():
    assert pairs(read_text("New York\tNNP\n#\tSYM\n1/2\tCD\n", "tsv")) == [
        [("New York", "NNP"), ("#", "SYM"), ("1/2", "CD")]
    ]


def test_further_columns_of_tsv_are_ignored():
    assert pairs(read_text("a\tA\tlemma\t\nb\tB\n\nc\tC\t\n", "tsv")) == [[("a", "A"), ("b", "B")], [("c", "C")]]


def test_untagged_tsv_needs_one_column_only():
    assert read_text("a\nb\tB\n\nc\n", "tsv", tagged=False) == [Sentence(["a", "b"]), Sentence(["c"])]


@pytest.mark.parametrize("line", ["\tNN", "dog\t", "dog", "dog NN", "dog\t\tNN"])
def test_a_line_that_is_not_word_tab_tag_is_refused(line):
    assert refusal(f"a\tA\n{line}\n", "tsv") == f"stdin:2: expected word TAB tag, got {line!r}"


# conllu


def test_ranges_and_empty_nodes_are_no_tokens():
    first, second = read_text(CONLLU, "conllu")
    assert first.words == ("Vamos", "nos", "a", "el", "mar", ".")
    assert first.tags == ("VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT")
    assert second == Sentence(["New York"], ["PROPN"])


def test_column_chooses_the_tag():
    assert read_text(CONLLU, "conllu", column="xpos")[0].tags == ("V", "P", "S", "D", "N", "F")


@pytest.mark.parametrize("column", ["upos", "xpos"])
def test_conllu_read_and_written_is_the_same_file(file, column):
    path = file(CONLLU)
    write_corpus(path, read_corpus(path, column=column), "conllu", column)
    assert path.read_text() == CONLLU


@pytest.mark.parametrize("column", ["upos", "xpos"])
def test_new_tags_change_one_column_and_nothing_else(column):
    text = CONLLU[: CONLLU.index("\n\n") + 2]
    (sentence,) = read_text(text, "conllu", tagged=False, column=column)
    written = FORMATS["conllu"].write(sentence.with_tags("abcdef"), ColumnNames(column))
    index = {"upos": 3, "xpos": 4}[column]
    changed = {}
    for old_line, new_line in zip(text.split("\n"), written.split("\n"), strict=True):
        old, new = old_line.split("\t"), new_line.split("\t")
        if old != new:
            changed[old[0]] = new[index]
            new[index] = old[index]
        assert old == new
    assert changed == dict(zip("123456", "abcdef", strict=True))


def test_untagged_conllu_may_have_empty_tag_columns_and_is_written_back_untouched():
    text = "# c\n" + conllu_row(1, "a") + "\n"
    (sentence,) = read_text(text, "conllu", tagged=False)
    assert sentence == Sentence(["a"])
    assert FORMATS["conllu"].write(sentence, DEFAULT_NAMES) == text


def test_sentences_from_elsewhere_get_ten_columns():
    written = FORMATS["conllu"].write(Sentence(["a b", "c"], ["X", "Y"]), ColumnNames("xpos"))
    assert written == conllu_row(1, "a b", xpos="X") + conllu_row(2, "c", xpos="Y") + "\n"


def test_the_layout_of_conllu_does_not_show_in_other_formats():
    sentence = read_text(CONLLU, "conllu")[0]
    assert FORMATS["slash"].write(sentence, DEFAULT_NAMES) == "Vamos/VERB nos/PRON a/ADP el/DET mar/NOUN ./PUNCT\n"


def test_several_blank_lines_between_conllu_sentences_are_tolerated():
    assert len(read_text("\n" + CONLLU.replace("\n\n", "\n\n \n\n"), "conllu")) == 2


def test_the_last_conllu_sentence_may_lack_its_blank_line():
    assert len(read_text(CONLLU.rstrip("\n"), "conllu")) == 2


@pytest.mark.parametrize(
    "line",
    [
        "2\tdog\t_\tNOUN\n",
        conllu_row(2, "dog", "NOUN").replace("\n", "\tmore\n"),
        conllu_row(2, "", "NOUN"),
        conllu_row("x", "dog", "NOUN"),
        conllu_row("", "dog", "NOUN"),
        "dog/NOUN\n",
        "well-known/ADJ\n",
        "The end.\n",
        "1-2\tdont\n",
        "1.1\tgone\n",
    ],
)
def test_a_conllu_line_without_ten_columns_an_id_and_a_word_is_refused(line):
    message = refusal(conllu_row(1, "a", "X") + line, "conllu")
    assert message.startswith("stdin:2: ")
    assert repr(line[:3])[:-1] in message


@pytest.mark.parametrize("column, other", [("upos", "xpos"), ("xpos", "upos")])
def test_an_empty_tag_column_is_refused_and_the_other_one_suggested(column, other):
    message = refusal(conllu_row(1, "a", **{other: "X"}), "conllu", column=column)
    place, _, problem = message.partition(": ")
    assert place == "stdin:1" and "'_'" in problem
    assert problem.index(column) < problem.index(other)  # the advice comes last


# pku


def test_ids_and_brackets_of_pku_are_dropped():
    assert pairs(read_text(PKU, "pku")) == [
        [("中央", "n"), ("电台", "n"), ("广播", "v"), ("。", "w")],
        [("[", "w"), ("]", "w")],
    ]


def test_a_bracket_may_close_around_a_bracket():
    assert pairs(read_text("[［/w 中/n ]/w]nt 1/2/m]nz\n", "pku")) == [
        [("［", "w"), ("中", "n"), ("]", "w"), ("1/2", "m")]
    ]


def test_an_id_is_dropped_at_the_beginning_of_a_line_only():
    assert pairs(read_text("19980101-01-001-001/m 见/v 19980101-01-001-002/m\n", "pku")) == [
        [("见", "v"), ("19980101-01-001-002", "m")]
    ]


def test_an_id_alone_is_no_sentence():
    assert read_text("19980101-01-001-001/m\n", "pku") == []


@pytest.mark.parametrize("token", ["[中央", "电台/]nt", "[/", "中央/"])
def test_broken_tokens_inside_brackets_are_refused(token):
    assert refusal(f"a/n\n{token} b/n\n", "pku").startswith("stdin:2: ")


# jsonl


def test_jsonl_words_may_hold_anything():
    words = ["New York", "a\nb", "\t", "\u2028", "//", '"', "\\", "中"]
    text = json.dumps({"words": words, "tags": words, "id": 7}) + "\n\n"
    assert read_text(text, "jsonl") == [Sentence(words, words)]


def test_jsonl_is_written_as_readable_text():
    assert FORMATS["jsonl"].write(Sentence(["中"], ["n"]), DEFAULT_NAMES) == '{"words": ["中"], "tags": ["n"]}\n'
    assert FORMATS["jsonl"].write(Sentence(["中"]), DEFAULT_NAMES) == '{"words": ["中"]}\n'


def test_untagged_jsonl_needs_no_tags():
    assert read_text('{"words": ["a"]}\n{"words": [], "tags": 1}\n', "jsonl", tagged=False) == [
        Sentence(["a"]),
        Sentence([]),
    ]


@pytest.mark.parametrize("line", ["{", "words", '{"words": ["a"], "tags": ["A"]', "[" * 100_000, "9" * 5000 + "x"])
def test_bad_json_is_refused(line):
    message = refusal(JSONL + line + "\n", "jsonl")
    assert message.startswith("stdin:2: ")
    assert repr(line[:40]) in message
    assert len(message) < 120


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "7",
        "null",
        "{}",
        '{"words": ["a"]}',
        '{"words": "a", "tags": "A"}',
        '{"words": ["a"], "tags": ["A", "B"]}',
        '{"words": ["a"], "tags": [1]}',
        '{"words": [null], "tags": ["A"]}',
        '{"words": [""], "tags": ["A"]}',
        '{"words": ["a"], "tags": [""]}',
    ],
)
def test_json_of_another_shape_is_refused(line):
    message = refusal("\n" + line + "\n", "jsonl")
    assert message.startswith("stdin:2: ")
    assert line[:40] in message


# recognition


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_format_is_recognised_by_its_content(format, ends, mark):
    text = SAMPLES[format]
    assert recognize_format(text.split("\n")) == format
    assert read_text(mark + text.replace("\n", ends)) == read_text(text, format)


@pytest.mark.parametrize("name", ["corpus.txt", "corpus.conllu", "corpus.jsonl", "corpus.tsv"])
def test_a_name_does_not_decide_the_format_of_a_corpus(file, name):
    assert len(read_corpus(file(SLASH, name))) == 2


@pytest.mark.parametrize(
    "text, format",
    [
        ("", "slash"),
        (" \n\t\n", "slash"),
        ("a/A b/B\n", "slash"),
        ("a/A\nb/B c/C\n", "slash"),
        ("a/A\tb/B\nc/C\td/D\n", "slash"),
        ("a/A\t\tb/B\nc/C \td/D\n", "slash"),
        ("a/A b/B\t\nc/C d/D\t\n", "slash"),
        ("#/# a/A\n", "slash"),
        ("{/-LRB- a/A }/-RRB-\n", "slash"),
        ("[/-LRB- a/A ]/-RRB-\n", "slash"),
        ("1\u30002/CD\n./.\n", "lines"),
        ("\n\na/A\n", "lines"),
        ("a/A\nb/B\n\nc/C\n", "lines"),
        ("a/A\nb/B\n\n", "lines"),
        ("Yes/UH\nNo/UH\nMaybe/RB\n", "slash"),
        ("Yes/UH\n", "slash"),
        ("1/2\tCD\n", "tsv"),
        ("and/or\tCC\nnor\tN/A\n", "tsv"),
        ("#\tSYM\na\tA\n", "tsv"),
        ("New York\tNNP\textra\n", "tsv"),
        ("1\tone\tCD\n", "tsv"),
        ("中央/n 。/w\n[中央/n 电台/n]nt\n", "pku"),
        ("\n19980101-01-001-001/m 迈向/v\n", "pku"),
    ],
)
def test_look_alikes_are_told_apart(text, format):
    assert recognize_format(text.removesuffix("\n").split("\n")) == format


def test_sentences_of_one_word_stay_sentences(file):
    assert pairs(read_corpus(file("Yes/UH\nNo/UH\n"))) == [[("Yes", "UH")], [("No", "UH")]]


def test_lines_are_recognised_from_the_first_thousand_lines_only():
    assert LOOK_AHEAD == 1000
    short = "./.\n" + "a/A\n" * 998
    assert len(read_text(short + "b/B c/C\n")) == 1000
    assert refusal(short + "a/A\nb/B c/C\n", None).startswith("stdin:1001: expected one word/TAG")


def test_recognition_does_not_disturb_line_numbers():
    assert refusal("a/A b/B\nc/C d\n", None).startswith("stdin:2: ")


@pytest.mark.parametrize("broken", ["3\tbarks\t_\tVERB\n", "3-4\tdont\n"])
def test_one_broken_line_does_not_make_conllu_something_else(broken):
    text = "# text = a b\n" + conllu_row(1, "a", "X") + conllu_row(2, "b", "X") + broken
    assert refusal(text, None).startswith("stdin:4: expected ten columns")


def test_an_error_names_the_file(file):
    path = file("a/A\nb\n")
    with pytest.raises(CorpusError) as caught:
        read_corpus(path)
    assert str(caught.value) == f"{path}:2: expected word/TAG, got no slash in 'b'"


# files


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("format", NAMES)
def test_compressed_corpora_are_written_and_recognised(tmp_path, format, suffix):
    path = tmp_path / f"corpus{suffix}"
    sentences = read_text(SAMPLES[format], format)
    write_corpus(path, sentences, format)
    if format != "pku":
        assert read_corpus(path) == sentences
    assert read_corpus(path, format) == sentences


def test_encoding_gbk(file):
    path = file("中央/n 电台/n\n".encode("gbk"))
    assert pairs(read_corpus(path, encoding="gbk")) == [[("中央", "n"), ("电台", "n")]]
    with pytest.raises(CorpusError, match=r"corpus\.txt:1: .*0xD6.*utf-8"):
        read_corpus(path)


def test_one_character_is_one(file):
    with pytest.raises(CorpusError, match=r"corpus\.txt:1: .*0xFF.* 1 .*utf-8"):
        read_corpus(file(b"a\xff/X\n"))


@pytest.mark.parametrize("format", [None, *NAMES])
def test_bad_bytes_are_refused_with_their_place(file, format):
    path = file(b"\n\xff\n")
    with pytest.raises(CorpusError) as caught:
        read_corpus(path, format)
    problem = str(caught.value).removeprefix(f"{path}:2: ")
    assert problem != str(caught.value) and "0xFF" in problem and "utf-8" in problem


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_closed_where_an_error_ends_the_reading(file, format):
    """The error keeps frames alive that know the file: it must not be left to them to close it."""
    path = file(b"fine/A\n\xff/B\n")
    source = Lines(path)
    with pytest.raises(CorpusError):
        list(read_sentences(source, format))
    assert source._stream.closed


def test_what_can_be_read_but_is_too_deep_to_be_written_is_refused():
    """Where a sentence is written, less of the stack may be left than where it was read."""
    sentence = Sentence(["a"], None, ("jsonl", '{"x": ' + "[" * 5000 + "]" * 5000 + "}"))
    with pytest.raises(CorpusError):
        FORMATS["jsonl"].write(sentence, DEFAULT_NAMES)


def test_tokens_that_come_back_are_remembered_up_to_a_bound(file, monkeypatch):
    monkeypatch.setattr(slash, "MAX_CACHED_TOKENS", 2)
    path = file("a/X b/Y c/Z a/X\nd/X b/Y\n")
    assert [s.tags for s in read_corpus(path)] == [("X", "Y", "Z", "X"), ("X", "Y")]
    split = slash.TokenCache(Lines(path))
    assert [split[token] for token in ("a/X", "b/Y", "c/Z", "a/X")][-1] == ("a", "X") and len(split) <= 2


def test_missing_damaged_and_odd_files_are_file_errors(file, tmp_path):
    for path in [tmp_path / "missing", tmp_path, file(gzip.compress(b"a/A\n")[:-9], "damaged.gz")]:
        with pytest.raises(FileError, match=re.escape(str(path))):
            read_corpus(path)


@pytest.mark.parametrize("format", NAMES)
def test_an_empty_file_has_no_sentences(file, format):
    assert read_corpus(file(""), format) == []
    assert read_corpus(file(" \n\n"), format) == []
    assert read_corpus(file("")) == []


def test_a_corpus_may_be_rewritten_while_it_is_read(file):
    path = file(SLASH)
    write_corpus(path, read_sentences(Lines(path), "slash"), "lines")
    assert read_corpus(path, "lines") == read_text(SLASH, "slash")


def test_a_corpus_that_cannot_be_written_leaves_the_old_one(file, tmp_path):
    path = file(SLASH)
    with pytest.raises(CorpusError):
        write_corpus(path, [Sentence(["a"], ["A"]), Sentence(["a b"], ["A"])])
    assert path.read_text() == SLASH
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_standard_output_gets_utf8(monkeypatch):
    stream = BytesIO()
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=stream))
    write_corpus("-", [Sentence(["中"], ["n"])])
    assert stream.getvalue() == "中/n\n".encode()


# round trips

ORDINARY = "\ufeffaZ09中。é\u3000\u00a0\u2028\x85\x0c.!?#/-"
ANY_LETTER = st.sampled_from(ORDINARY + "[]{}_ \t\n\r\ud800") | st.characters()
EXTRA = {"tsv": " ", "conllu": " ", "jsonl": " \t\n\r"}
BRISK = settings(max_examples=40, deadline=None, derandomize=True)


@st.composite
def tagged_sentences(draw, format):
    """Sentences every word and tag of which the format is made for."""
    letters = ORDINARY + EXTRA.get(format, "") + ("[]{}_" if format != "pku" else "")
    words = st.text(letters, min_size=1, max_size=5)
    tags = st.text(letters if format in EXTRA else letters.replace("/", ""), min_size=1, max_size=3)
    if format == "tsv":
        words, tags = (cells.filter(lambda cell: cell.strip(" ")) for cells in (words, tags))
    if format == "conllu":
        tags = tags.filter(lambda tag: tag != "_")
    tokens = draw(st.lists(st.lists(st.tuples(words, tags), min_size=1, max_size=4), max_size=3))
    return [Sentence(*zip(*sentence, strict=True)) for sentence in tokens]


@st.composite
def any_sentences(draw, tagged):
    """Sentences that hold any strings at all. A byte order mark is left out: it is dropped where a file begins."""
    strings = st.sampled_from("aX") | st.text(ANY_LETTER, max_size=2)
    tokens = draw(st.lists(st.lists(st.tuples(strings, strings), min_size=1, max_size=2), min_size=1, max_size=2))
    return [Sentence(words, tags if tagged else None) for words, tags in (zip(*s, strict=True) for s in tokens)]


def written_and_read(folder, sentences, format, tagged=True):
    path = folder / "corpus"
    write_corpus(path, sentences, format)
    return list(read_sentences(Lines(path), format, tagged))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("round-trips")


@pytest.mark.parametrize("format", NAMES)
@given(data=st.data())
@BRISK
def test_what_a_format_can_express_survives(folder, format, data):
    sentences = data.draw(tagged_sentences(format))
    assert written_and_read(folder, sentences, format) == sentences


@pytest.mark.parametrize("tagged", [True, False], ids=["tagged", "untagged"])
@pytest.mark.parametrize("format", NAMES)
@given(data=st.data())
@BRISK
def test_what_a_format_cannot_express_is_refused_and_not_corrupted(folder, format, tagged, data):
    sentences = data.draw(any_sentences(tagged))
    try:
        found = written_and_read(folder, sentences, format, tagged)
    except CorpusError as error:
        assert "cannot be written" in str(error)
    else:
        assert found == sentences


@pytest.mark.parametrize("format", NAMES)
@given(data=st.data())
@settings(BRISK, max_examples=20)
def test_what_was_written_is_written_again_byte_for_byte(folder, format, data):
    sentences = data.draw(tagged_sentences(format))
    write = FORMATS[format].write
    text = "".join(write(sentence, DEFAULT_NAMES) for sentence in sentences)
    assert "".join(write(sentence, DEFAULT_NAMES) for sentence in read_text("\ufeff" + text, format)) == text


UNWRITABLE = [
    *((format, word, "N") for format in SPACELESS for word in ["", "a b", "a\tb", "a\nb", " "]),
    *((format, "a", tag) for format in SPACELESS for tag in ["", "X/Y", "/", "X Y", "X\tY", "X\nY", "X\r"]),
    *(("tsv", word, "N") for word in ["", " ", "a\tb", "a\nb"]),
    *(("tsv", "a", tag) for tag in ["", " ", "X\tY", "X\nY", "X\r"]),
    *(("conllu", word, "N") for word in ["", "a\tb", "a\nb"]),
    *(("conllu", "a", tag) for tag in ["", "_", "X\tY", "X\nY"]),
    ("pku", "[a", "n"),
    ("pku", "a", "n]nt"),
    ("pku", "19980101-01-001-001", "m"),
    ("jsonl", "", "N"),
    ("jsonl", "a", ""),
]


@pytest.mark.parametrize("format, word, tag", UNWRITABLE)
def test_a_token_that_would_be_read_differently_is_refused(format, word, tag):
    with pytest.raises(CorpusError):
        FORMATS[format].write(Sentence([word], [tag]), DEFAULT_NAMES)


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "a\nb", "a\r"])
@pytest.mark.parametrize("format", SPACELESS)
def test_an_untagged_word_that_would_be_read_differently_is_refused(format, word):
    with pytest.raises(CorpusError):
        FORMATS[format].write(Sentence([word]), DEFAULT_NAMES)


@pytest.mark.parametrize("format", NAMES)
def test_half_a_character_is_no_crash(folder, format):
    try:
        sentences = read_text('{"words": ["\\ud83d"], "tags": ["N"]}\n', "jsonl")
        assert written_and_read(folder, sentences, format) == sentences
    except CorpusError as error:
        assert r"\ud83d" in str(error)


def test_a_refusal_names_what_could_not_be_written_and_a_format_that_can():
    with pytest.raises(CorpusError) as caught:
        FORMATS["slash"].write(Sentence(["New York"], ["NNP"]), DEFAULT_NAMES)
    assert "'New York'" in str(caught.value)
    assert "jsonl" in str(caught.value)


# Sentence


def test_a_sentence_keeps_tuples_of_its_own():
    words = ["a", "b"]
    sentence = Sentence(words, ["A", "B"])
    words.append("c")
    assert sentence == Sentence(("a", "b"), ("A", "B"))
    assert len(sentence) == 2
    assert len({sentence, Sentence(["a", "b"], ["A", "B"])}) == 1


def test_a_sentence_cannot_be_changed():
    with pytest.raises(AttributeError):
        Sentence(["a"]).words = ()


@pytest.mark.parametrize("tags", [[], ["A"], ["A", "B", "C"]])
def test_a_sentence_has_as_many_tags_as_words(tags):
    with pytest.raises(ValueError, match=f"2 .*{len(tags)} "):
        Sentence(["a", "b"], tags)
    with pytest.raises(ValueError):
        Sentence(["a", "b"]).with_tags(tags)


def test_layout_makes_no_difference_but_travels_along():
    sentence = Sentence(["a"], layout=("line",))
    assert sentence == Sentence(["a"])
    for copied in [sentence.with_tags(["A"]), pickle.loads(pickle.dumps(sentence)), copy.deepcopy(sentence)]:
        assert copied.layout == ("line",)


def test_absent_probabilities_are_none_and_others_are_as_many_as_words():
    sentence = Sentence(["a"]).with_tags(["A"])
    assert sentence.probabilities is None and sentence.nbest is None
    assert Sentence(["a"], ["A"], probabilities=[0.5]).probabilities == (0.5,)
    for probabilities in ([], [0.5, 0.5]):
        with pytest.raises(ValueError, match=f"1 .*{len(probabilities)} "):
            Sentence(["a"]).with_tags(["A"], probabilities)


@pytest.mark.parametrize("words", ["ab", 5, {"a": 1}, None])
def test_what_is_no_list_of_words_is_no_sentence(words):
    with pytest.raises(TypeError, match="Sentence"):
        Sentence(words)


# Found by fuzzing


@pytest.mark.parametrize("tagged", [True, False, None])
def test_a_lone_bracket_is_no_empty_word(tmp_path, tagged):
    path = tmp_path / "corpus.txt"
    path.write_text("a/n [ b/n\n")
    if tagged:
        with pytest.raises(CorpusError, match=r"'\['"):
            list(read_sentences(Lines(path), "pku", tagged))
    else:
        assert all("" not in sentence.words for sentence in read_sentences(Lines(path), "pku", tagged))


@pytest.mark.parametrize(
    "line",
    ["[" * 1_000_000, "[" * 1_000_000 + "/w", "a/n" + "]nt" * 300_000, "/n]n" * 250_000, "[a/a " * 200_000],
    ids=["open", "word", "closed", "slashes", "groups"],
)
def test_brackets_without_end_take_no_time(tmp_path, line):
    path = tmp_path / "corpus.txt"
    path.write_text(line + "\n")
    begin = time.process_time()
    assert len(list(read_sentences(Lines(path), None if " " in line else "pku", None))) == 1
    assert time.process_time() - begin < 10
