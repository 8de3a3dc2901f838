"""Files of annotation tools: round trips, several annotators, faults; the sentences worth a look."""

import json

import pytest
from program import run

from tagger import HMMTagger, Sentence, read_corpus, write_corpus
from tagger.corpus.annotation import TOOLS, read_annotations, write_annotations
from tagger.corpus.annotation.labeled_text import Label, LabeledText, as_sentences
from tagger.errors import CorpusError
from tagger.tagging.constraints import Constraints
from tagger.tagging.doubtful import margins, pick_doubtful

TAGGED = [Sentence(["The", "dog", "barks", "."], ["DT", "NN", "VBZ", "."]), Sentence(["Ja"], ["UH"])]
SPANS = [Sentence(["New", "York", "is", "big"], ["B-LOC", "I-LOC", "O", "O"]), Sentence(["Anna"], ["B-PER"])]
FILES = {"doccano": "x.jsonl", "prodigy": "x.jsonl", "label-studio": "x.json", "brat": "x.ann"}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("sentences", [TAGGED, SPANS], ids=["tags", "spans"])
def test_a_round_trip_loses_nothing(tool, sentences, tmp_path):
    path = str(tmp_path / FILES[tool])
    write_annotations(path, sentences, tool)
    once = read_annotations(path, tool)
    assert once == sentences
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    write_annotations(path, once, tool)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


DOCCANO = {"id": 7, "text": "Anna  lives in New York.", "label": [[0, 4, "PER"], [15, 23, "LOC"]], "meta": {"x": 1}}


def test_text_ids_and_other_keys_survive(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(DOCCANO) + "\n")
    [sentence] = read_annotations(str(tmp_path / "a.jsonl"), "doccano")
    assert sentence.words == ("Anna", "lives", "in", "New", "York", ".")
    assert sentence.tags == ("B-PER", "O", "O", "B-LOC", "I-LOC", "O")
    assert sentence.offsets == ((0, 4), (6, 11), (12, 14), (15, 18), (19, 23), (23, 24))
    write_annotations(str(tmp_path / "b.jsonl"), [sentence], "doccano")
    assert json.loads((tmp_path / "b.jsonl").read_text()) == DOCCANO
    for tool in ("prodigy", "label-studio", "brat"):
        path = str(tmp_path / f"there-{FILES[tool]}")
        write_annotations(path, [sentence], tool)
        [back] = read_annotations(path, tool)
        assert back == sentence and back.offsets == sentence.offsets


def test_newer_doccano(tmp_path):
    record = {"text": "Anna ", "entities": [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 5}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    [sentence] = read_annotations(str(tmp_path / "a.jsonl"), "doccano")
    assert (sentence.words, sentence.tags) == (("Anna",), ("PER",))


def test_labels_may_be_read_the_other_way(tmp_path):
    write_annotations(str(tmp_path / "a.jsonl"), TAGGED, "doccano")
    spans = read_annotations(str(tmp_path / "a.jsonl"), "doccano", meaning="spans")
    assert spans[0].tags == ("B-DT", "B-NN", "B-VBZ", "B-.")
    with pytest.raises(CorpusError, match=r"text 1: .*'LOC' on 'New York'"):
        write_annotations(str(tmp_path / "b.jsonl"), SPANS, "doccano")
        words = [{**json.loads(line)} for line in (tmp_path / "b.jsonl").read_text().splitlines()]
        assert words[0]["label"] == [[0, 8, "LOC"]]
        read_annotations(str(tmp_path / "b.jsonl"), "doccano", meaning="tags")


def test_a_forgotten_word_does_not_turn_tags_into_spans():
    texts = [LabeledText("a b c", (Label(0, 1, "X"), Label(4, 5, "Y"))), LabeledText("d", ())]
    assert [sentence.tags for sentence in as_sentences(texts, None, "file")] == [("X", "?", "Y"), ("?",)]
    texts = [LabeledText("a b c", (Label(0, 1, "PER"),))]
    assert [sentence.tags for sentence in as_sentences(texts, None, "file")] == [("B-PER", "O", "O")]


def test_where_annotators_disagree_a_word_is_open():
    texts = [
        LabeledText("a b", (Label(0, 1, "X"), Label(2, 3, "Y")), key="1"),
        LabeledText("a b", (Label(0, 1, "X"), Label(2, 3, "Z")), key="1"),
        LabeledText("a b", (Label(0, 1, "X"), Label(2, 3, "Y"))),
    ]
    assert [sentence.tags for sentence in as_sentences(texts, None, "file")] == [("X", "?"), ("X", "Y")]


def test_label_studio_has_several_annotators_and_predictions(tmp_path):
    def result(*labels):
        return [{"value": {"start": a, "end": b, "labels": [name]}, "type": "labels"} for a, b, name in labels]

    first, second = result((0, 4, "PER")), result((0, 4, "ORG"))
    cancelled = {"result": result((0, 4, "LOC")), "was_cancelled": True}
    task = {"id": 3, "data": {"text": "Anna left"}, "annotations": [{"result": first}, {"result": second}, cancelled]}
    (tmp_path / "a.json").write_text(json.dumps([task, {"data": {"text": "No labels"}}]))
    sentences = read_annotations(str(tmp_path / "a.json"), "label-studio")
    assert [s.tags for s in sentences] == [("?", "O")]
    write_annotations(str(tmp_path / "b.json"), SPANS, "label-studio", suggested=True)
    written = json.loads((tmp_path / "b.json").read_text())
    assert "annotations" not in written[0] and written[0]["predictions"][0]["result"][0]["value"]["labels"] == ["LOC"]


def test_prodigy_keeps_words_and_leaves_out_what_was_rejected(tmp_path):
    tokens = [{"text": "can", "start": 0, "end": 3, "id": 0}, {"text": "not", "start": 3, "end": 6, "id": 1}]
    record = {"text": "cannot", "tokens": tokens, "spans": [{"start": 0, "end": 3, "label": "MD"}]}
    lines = [record | {"answer": answer} for answer in ("accept", "reject", "ignore")]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    [sentence] = read_annotations(str(tmp_path / "a.jsonl"), "prodigy", meaning="tags")
    assert (sentence.words, sentence.tags) == (("can", "not"), ("MD", "?"))


def task(annotation):
    return json.dumps([{"data": {"text": "a"}, "annotations": [annotation]}])


LABELED = {"result": [{"value": {"labels": 3}}]}
BAD = {
    "doccano": [
        "{",
        '{"text": "Anna", "label": 5}',
        '{"text": 3}',
        '{"text": "a", "label": [[0, 9, "X"]]}',
        '{"text": "a", "label": [[0, "X"]]}',
    ],
    "prodigy": [
        '{"text": "a", "spans": [3]}',
        '{"text": "a", "spans": 5}',
        '{"text": "a", "tokens": [{}]}',
        '{"spans": []}',
    ],
    "label-studio": [
        "{}",
        "[3]",
        task(3),
        task({"result": 3}),
        task({"result": [{"value": None}]}),
        '[{"data": {}}]',
        task(LABELED),
    ],
    "brat": [
        "T1\tPER 0\tA",
        "T1\tPER 0 99\tA",
        "T1\tPER 0 1;2 3\tA B",
        "T1\tPER 2 9\tb\nc",
        "T1\tPER 0 1\tb",
        "T1\tPER 0 1",
        "T1\tPER \u00b2 1\tA",
        f"T1\tPER 0 {'1' * 5000}\tA",
    ],
}


@pytest.mark.parametrize("tool, content", [(tool, content) for tool in BAD for content in BAD[tool]])
def test_faults_are_named_with_their_place(tool, content, tmp_path):
    path = tmp_path / FILES[tool]
    path.write_text(content)
    (tmp_path / "x.txt").write_text("A b\nc d e f\n")
    with pytest.raises(CorpusError, match=r"x\.(jsonl|json|ann)"):
        read_annotations(str(path), tool)


@pytest.mark.parametrize("bounds", [[(-4, 99)], [(2, 4), (0, 2)], [(0, 3), (2, 4)], [(0, "2")], [(3, 1)]])
def test_tokens_of_prodigy_lie_in_the_text_in_order(bounds, tmp_path):
    tokens = [{"start": begin, "end": end} for begin, end in bounds]
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": "Anna", "tokens": tokens}))
    with pytest.raises(CorpusError, match=r"x\.jsonl:1: .*tokens"):
        read_annotations(str(tmp_path / "x.jsonl"), "prodigy")


@pytest.mark.parametrize("content", [b"A b\r\nAnna left\r\n", b"\xef\xbb\xbfA b\nAnna left\n"], ids=["crlf", "mark"])
def test_offsets_of_brat_count_all_characters(content, tmp_path):
    (tmp_path / "x.txt").write_bytes(content)
    begin = content.decode().index("Anna")
    first = content.decode().index("A")
    (tmp_path / "x.ann").write_text(f"T1\tPER {begin} {begin + 4}\tAnna\nT2\tX {first} {first + 1}\tA\n")
    sentences = read_annotations(str(tmp_path / "x.ann"), "brat", meaning="spans")
    assert [(s.words, s.tags) for s in sentences] == [
        (("A", "b"), ("B-X", "O")),
        (("Anna", "left"), ("B-PER", "O")),
    ]
    (tmp_path / "x.ann").write_text(f"T1\tPER {begin - 1} {begin + 3}\tAnna\n")
    with pytest.raises(CorpusError, match=r"x\.ann:1"):
        read_annotations(str(tmp_path / "x.ann"), "brat")


def test_line_ends_within_a_text_are_spaces_in_brat(tmp_path):
    record = {"text": "in New\r\nYork now", "label": [[3, 12, "LOC"]]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    sentences = read_annotations(str(tmp_path / "a.jsonl"), "doccano")
    write_annotations(str(tmp_path / "x.ann"), sentences, "brat")
    assert (tmp_path / "x.ann").read_text() == "T1\tLOC 3 12\tNew  York\n"
    assert read_annotations(str(tmp_path / "x.ann"), "brat") == sentences


def test_label_studio_keeps_the_names_of_the_project(tmp_path):
    names = {"from_name": "ner", "to_name": "article", "type": "hypertextlabels"}
    result = [{**names, "value": {"start": 0, "end": 4, "labels": ["PER"]}}]
    tasks = [{"id": 1, "data": {"text": "Anna left"}, "annotations": [{"result": result}]}]
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    sentences = read_annotations(str(tmp_path / "a.json"), "label-studio")
    write_annotations(str(tmp_path / "b.json"), sentences, "label-studio")
    [written] = json.loads((tmp_path / "b.json").read_text())
    [kept] = written["annotations"][0]["result"]
    assert {key: kept[key] for key in names} == names
    assert set(written) == {"id", "data", "annotations"}
    for tool in ("doccano", "prodigy"):
        write_annotations(str(tmp_path / tool), sentences, tool)
        assert "article" not in (tmp_path / tool).read_text()


def test_spans_without_a_decision_are_refused_and_those_without_a_type_named(tmp_path):
    undecided = [*SPANS, Sentence(["Anna", "Lee", "left"], ["?", "?", "O"])]
    with pytest.raises(CorpusError, match=r"sentence 3, token 1: .*2 words"):
        write_annotations(str(tmp_path / "x.jsonl"), undecided, "doccano")
    untyped = [Sentence(["a", "b", "c"], ["B", "E", "S"])]
    for tool, file in FILES.items():
        write_annotations(str(tmp_path / file), untyped, tool)
        [sentence] = read_annotations(str(tmp_path / file), tool)
        assert sentence.tags == ("B-SPAN", "I-SPAN", "B-SPAN")


def test_two_labels_of_one_word_are_refused():
    with pytest.raises(CorpusError, match=r"file: text 1: .*'X' and 'Y' on 'a'"):
        as_sentences([LabeledText("a b", (Label(0, 1, "X"), Label(0, 1, "Y")))], "tags", "file")


def test_brat_replaces_no_input_and_no_file_of_others(tmp_path, models):
    write_corpus(tmp_path / "corpus.txt", TAGGED)
    (tmp_path / "raw.txt").write_text("They can fish .\n")
    (tmp_path / "folder.txt").mkdir()
    before = {name: (tmp_path / name).read_bytes() for name in ("corpus.txt", "raw.txt")}
    tag = ["tag", "-m", models / "hmm.npz", "raw.txt", "--doubtful", 1, "--to-tool", "brat", "-o"]
    refused = [
        (["convert", "corpus.txt", "corpus.ann", "--to-tool", "brat"], "corpus"),
        (["convert", "corpus.txt", "raw.ann", "--to-tool", "brat"], "raw"),
        ([*tag, "raw.ann"], "raw"),
        ([*tag, "corpus.ann"], "corpus"),
        ([*tag, "folder.ann"], "folder"),
    ]
    for args, stem in refused:
        done = run(tmp_path, *args)
        assert done.code and f"{stem}.txt" in done.err and f"{stem}.ann" in done.err
        assert not list(tmp_path.glob("*.ann"))
    for _ in range(2):  # both files may be replaced together
        assert run(tmp_path, "convert", "corpus.txt", "x.ann", "--to-tool", "brat").code == 0
    assert run(tmp_path, "convert", "x.ann", "x.txt", "--from-tool", "brat").code
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_overlapping_labels_are_refused():
    with pytest.raises(CorpusError, match="do not overlap"):
        as_sentences([LabeledText("a b", (Label(0, 3, "X"), Label(2, 3, "Y")))], "spans", "file")


def test_convert_reads_and_writes_tools(tmp_path):
    write_corpus(tmp_path / "corpus.txt", TAGGED)
    for tool, file in FILES.items():
        there = run(tmp_path, "convert", "corpus.txt", f"{tool}-{file}", "--to-tool", tool)
        back = run(tmp_path, "convert", f"{tool}-{file}", f"{tool}-back.txt", "--from-tool", tool)
        assert there.code == back.code == 0 and "2 sentences" in back.err
        assert (tmp_path / f"{tool}-back.txt").read_bytes() == (tmp_path / "corpus.txt").read_bytes()


@pytest.fixture(scope="module")
def unsure():
    """A model that is sure of `a` and `b`, and not of `c`."""
    corpus = [Sentence(["a", "b"], ["X", "Y"])] * 20 + [Sentence(["c"], ["X"])] * 5 + [Sentence(["c"], ["Y"])] * 4
    return HMMTagger().fit(corpus)


def test_doubtful_sentences_are_those_with_the_least_margin(unsure):
    sentences = [Sentence(words.split()) for words in ("a b", "a c", "a a", "c", "a c", "b a c", "a b")]
    values = margins(unsure, sentences)
    for P, value in zip(unsure.predict_marginals(sentences), values, strict=True):
        assert value == pytest.approx(min(abs(row[0] - row[1]) for row in P))
    picked = pick_doubtful(unsure, sentences, 3)
    distinct = {sentence.words: value for sentence, value in zip(sentences, values, strict=True)}
    least = sorted(distinct, key=distinct.get)[:3]
    assert [sentence.words for sentence in picked] == [words for words in distinct if words in least]
    assert pick_doubtful(unsure, sentences, 100) == [Sentence(words) for words in distinct]
    assert pick_doubtful(unsure, [Sentence([])], 3) == []


def test_nothing_is_doubtful_where_constraints_leave_no_choice(unsure):
    constraints = Constraints(unsure.classes_, {"c": ("X",)})
    sentences = [Sentence(["c"]), Sentence(["a", "b"])]
    assert margins(unsure, sentences, constraints.allowed)[0] == pytest.approx(1)
    assert pick_doubtful(unsure, sentences, 1, constraints.allowed) == [sentences[1]]


def test_tag_writes_doubtful_sentences_for_tools(tmp_path, models):
    text = "The dog barks .\nThey can fish .\nThe dog barks .\nBlorf zzz grumble .\n"
    plain = run(tmp_path, "tag", "-m", models / "hmm.npz", "--doubtful", 2, input=text)
    assert plain.code == 0 and plain.out.count("\n") == 2
    done = run(
        tmp_path, "tag", "-m", models / "hmm.npz", "--doubtful", 2, "--to-tool", "doccano", "-o", "x.jsonl", input=text
    )
    assert done.code == 0
    read = read_annotations(str(tmp_path / "x.jsonl"), "doccano")
    (tmp_path / "plain.txt").write_text(plain.out)
    assert read == read_corpus(tmp_path / "plain.txt")
    for args in (["--to-tool", "doccano"], ["--doubtful", 2, "--to-tool", "doccano"], ["--doubtful", 0]):
        assert run(tmp_path, "tag", "-m", models / "hmm.npz", *args, input=text).code == 2


def test_a_sentence_that_a_format_cannot_express_has_no_line(tmp_path):
    """A tool's file was read as a whole."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "New York", "label": [[0, 8, "A B"]]}))
    failed = run(tmp_path, "convert", "a.jsonl", "-", "--from-tool", "doccano")
    assert failed.code == 1 and failed.err.startswith("tagger: a.jsonl: sentence 1: 'B-A B' cannot be written")
