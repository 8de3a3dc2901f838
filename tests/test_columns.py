"""Columns beside words and tags: read from every format that has them, kept, written back, seen by templates."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from program import run

from tagger import CRFTagger, HMMTagger, PooledTagger, Sentence, load_model, read_corpus, save_model, write_corpus
from tagger.corpus import read_sentences
from tagger.corpus.column_names import ColumnNames
from tagger.corpus.formats import COLUMN_FILES, line_of, recognize_format, render
from tagger.errors import CorpusError, ModelError, TemplateError
from tagger.experiments.search import Setting
from tagger.experiments.trials import SettingTrials
from tagger.features.foreign import is_foreign, left_out, translate
from tagger.features.observer import Observer
from tagger.features.phrases import PhraseList, read_lists
from tagger.features.template import describe, list_names, parse_templates
from tagger.files.reading import Lines
from tagger.models.ensemble import Ensemble
from tagger.models.explain import explain

CONLL2000 = "He PRP B-NP\n# # B-NP\nreckons VBZ B-VP\n\nThe DT B-NP\ndeficit NN I-NP\n\n"
NAMES = ("word", "pos", "tag")
TEMPLATE = "bias[0]\ncolumn:pos[0]\ncolumn:pos[-1] & lower[0]\nsuffix:1(column:pos)[1]\n"


def read(tmp_path, text, name="corpus.txt", **options):
    (tmp_path / name).write_text(text)
    return read_corpus(tmp_path / name, **options)


def test_a_sentence_has_columns_that_survive_copies_and_pickles():
    sentence = Sentence(["a", "b"], columns={"pos": ["D", "N"]})
    assert sentence.columns == {"pos": ("D", "N")} and Sentence(["a"]).columns is None
    assert pickle.loads(pickle.dumps(sentence)).columns == sentence.with_tags("XY").columns == sentence.columns
    assert sentence.with_tags("XY").begin(1).columns == {"pos": ("D",)}
    assert sentence == Sentence(["a", "b"]) and hash(sentence) == hash(Sentence(["a", "b"]))
    with pytest.raises(ValueError, match=r"column 'pos': 2 words, but 1 value\b"):
        Sentence(["a", "b"], columns={"pos": ["D"]})


def test_conll_2000_is_recognised_and_its_middle_column_has_a_number(tmp_path):
    first, second = read(tmp_path, CONLL2000)
    assert first.words == ("He", "#", "reckons") and first.tags == ("B-NP", "B-NP", "B-VP")
    assert first.columns == {"2": ("PRP", "#", "VBZ")} and second.line == 5 and line_of(second, 1) == 6
    (named, _) = read(tmp_path, CONLL2000, columns=NAMES)
    assert named.columns == {"pos": ("PRP", "#", "VBZ")}
    (chunks, _) = read(tmp_path, CONLL2000, columns=["word", "tag", "-"])
    assert chunks.tags == ("PRP", "#", "VBZ") and chunks.columns is None


@pytest.mark.parametrize(
    "text", ["The dog barks .", "a b\nc d", "a/X b/Y\n\nc/X d/Y\n", "a/X\nb/Y\n\n", "a b\n\nc d\n"]
)
def test_other_text_is_no_column_file(text):
    assert recognize_format(text.split("\n")) != "columns"


def test_conll_2003_documents_are_no_sentences_and_stay_in_the_file(tmp_path):
    text = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n"
    (sentence,) = read(tmp_path, text, columns=["word", "pos", "chunk", "tag"])
    assert sentence.words == ("EU", "rejects") and sentence.columns == {
        "pos": ("NNP", "VBZ"),
        "chunk": ("B-NP", "B-VP"),
    }
    assert line_of(sentence, 1) == 4
    assert render(sentence, "columns").decode() == text
    assert render(sentence.with_tags("AB"), "columns").decode() == text.replace("B-ORG", "A").replace("VP O", "VP B")


def test_iob2_has_comments_and_a_column_that_counts(tmp_path):
    text = "# sent_id = 1\n# text = a b\n1\tI\tO\t-\t-\n2\tTampa\tB-LOC\t-\t-\n\n"
    (sentence,) = read(tmp_path, text, "corpus.iob2")
    assert sentence.words == ("I", "Tampa") and sentence.tags == ("O", "B-LOC") and line_of(sentence, 1) == 4
    assert render(sentence.with_tags(["X", "Y"]), "tsv").decode() == text.replace("\tO", "\tX").replace("B-LOC", "Y")


@pytest.mark.parametrize("header, expected", [
    ("word pos chunk", {"tags": ("B-NP",), "pos": ("DT",)}),
    ("chunk pos token", {"tags": ("The",), "pos": ("DT",), "words": ("B-NP",)}),
    ("word other chunk", {"tags": ("B-NP",), "pos": ("DT",)}),
    ("word x pos chunk", {"tags": ("O",), "pos": ("B-NP",)}),
])  # fmt: skip
def test_a_header_line_of_other_names_is_no_token(tmp_path, header, expected):
    """Columns are named by a model, or by the caller: the header decides on their order, if it has their names."""
    row = "The DT B-NP" + (" O" if " x " in header else "")
    (sentence,) = read(tmp_path, f"{header}\n{row}\n\n", format="columns", columns=NAMES)
    found = {"words": sentence.words, "tags": sentence.tags, **sentence.columns}
    assert {name: tuple(values) for name, values in found.items()} == {"words": ("The",)} | expected


@pytest.mark.parametrize("separator, format", [(" ", "columns"), ("\t", "tsv")])
def test_a_header_line_names_the_columns(tmp_path, separator, format):
    text = "Form pos ner\nthe D O\n\nTampa N B-LOC\nBay N I-LOC\n\n".replace(" ", separator)
    sentences = read(tmp_path, text, format=format)
    assert [s.tags for s in sentences] == [("O",), ("B-LOC", "I-LOC")] and sentences[0].columns == {"pos": ("D",)}
    assert read(tmp_path, text, format=format, tag_column="pos")[0].tags == ("D",)
    assert (
        read(tmp_path, text, format=format, columns="Form,pos,ner", word_column="Form", tag_column="ner") == sentences
    )
    other = read(tmp_path, "pos word tag\nD the O\n".replace(" ", separator), format=format, columns=NAMES)
    assert other[0].words == ("the",) and other[0].columns == {"pos": ("D",)}  # by name, not by place
    no_header = read(tmp_path, "word pos\nthe D\na pos\n\n".replace(" ", separator), format=format)
    assert no_header[0].words == ("word", "the", "a")


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("a D X\nb Y\n\n", {"columns": NAMES}, ":2: expected the columns word, pos, tag, got 'b Y'"),
        ("a D X\nb D Y\n\n", {"columns": ["form", "pos", "tag"]}, "expected 'word' among the columns"),
        ("a D X\nb D Y\n\n", {"columns": ["word", "pos", "chunk"]}, "expected 'tag' among the columns"),
        ("a D X\nb D Y\n\n", {"columns": ["word", "pos", "pos"]}, "expected different names"),
        ("a D X\nb D Y\n\n", {"columns": ["word", "p s", "tag"]}, "expected names without spaces"),
        ("a\tD\t\n\n", {"columns": NAMES, "format": "tsv"}, ":1: expected a tag in column 3"),
    ],
)
def test_faults_have_a_place(tmp_path, text, options, message):
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, text, **options)
    assert message in str(caught.value)


def test_conllu_has_its_own_names(tmp_path):
    row = "{}\t{}\t{}\tNOUN\tNN\t{}\t0\troot\t_\t{}\n"
    text = (
        row.format(1, "dogs", "dog", "Case=Nom|Number=Plur", "NER=B|X=1")
        + row.format(2, "bark", "bark", "_", "_")
        + "\n"
    )
    names = ["lemma", "feats", "feats.Number", "misc.NER"]
    (sentence,) = read(tmp_path, text, "corpus.conllu", columns=names)
    assert sentence.columns == {
        "lemma": ("dog", "bark"),
        "feats": ("Case=Nom|Number=Plur", "_"),
        "feats.Number": ("Plur", "_"),
        "misc.NER": ("B", "_"),
    }
    assert read(tmp_path, text, "corpus.conllu")[0].columns is None
    assert read(tmp_path, text, "corpus.conllu", tag_column="lemma")[0].tags == ("dog", "bark")
    with pytest.raises(CorpusError, match=r"expected one of id, form, .* got 'ner'"):
        read(tmp_path, text, "corpus.conllu", tag_column="ner")


def test_every_list_of_the_right_length_is_a_column_of_jsonl(tmp_path):
    record = {
        "tokens": ["a", "b"],
        "ner": ["O", "B"],
        "pos": ["D", "N"],
        "size": [1, 2.5],
        "id": 7,
        "none": [1],
        "x": [[], []],
    }
    (sentence,) = read(tmp_path, json.dumps(record), "corpus.jsonl", word_column="tokens", tag_column="ner")
    assert sentence.tags == ("O", "B") and sentence.columns == {"pos": ("D", "N"), "size": ("1", "2.5")}
    names = ColumnNames(word="tokens", tag="ner")
    assert json.loads(render(sentence.with_tags("XY"), "jsonl", names)) == record | {"ner": ["X", "Y"]}


def test_columns_go_into_every_format_that_can_hold_them(tmp_path):
    sentence = Sentence(["a", "b"], ["X", "Y"], columns={"lemma": ["c", "d"], "n": ["1", ""]})
    assert json.loads(render(sentence, "jsonl"))["n"] == ["1", ""]
    assert render(sentence, "columns") == b"a c 1 X\nb d _ Y\n\n" and render(sentence, "tsv").startswith(
        b"a\tX\tc\t1\n"
    )
    assert render(sentence, "conllu").startswith(b"1\ta\tc\tX\t") and render(sentence, "slash") == b"a/X b/Y\n"
    for format in COLUMN_FILES:
        write_corpus(tmp_path / "again", [sentence], format=format)
        order = ["word", "lemma", "n", "tag"] if format == "columns" else ["word", "tag", "lemma", "n"]
        (again,) = read_corpus(tmp_path / "again", format=format, columns=order)
        assert again == sentence and again.columns == {"lemma": ("c", "d"), "n": ("1", "_")}


@pytest.mark.parametrize(
    "format, text",
    [
        ("slash", "a/X b/Y\n"),
        ("tsv", "a\tX\n\n"),
        ("jsonl", '{"words": ["a"], "tags": ["X"]}\n'),
        ("columns", "a X\n\n"),
    ],
)
def test_a_missing_column_is_one_clear_line(tmp_path, format, text):
    (tmp_path / "corpus").write_text(text)
    with pytest.raises(CorpusError, match=r"corpus.*: expected a column 'pos' for the features, got "):
        list(read_sentences(Lines(tmp_path / "corpus"), format, True, ColumnNames(wanted=("pos",))))


# Templates


def corpus(count=60, seed=3):
    """Tags are a function of the column alone, words say nothing."""
    generator = np.random.default_rng(seed)
    sentences = []
    for length in generator.integers(2, 7, count).tolist():
        pos = [str(p) for p in generator.choice(["Nn", "Vb", "Dt"], length)]
        words = [f"w{i}" for i in generator.integers(0, 4, length)]
        tags = [p[0] + (q[0] if q else "^") for q, p in zip(["", *pos[:-1]], pos, strict=True)]
        sentences.append(Sentence(words, tags, columns={"pos": pos}))
    return sentences


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text(TEMPLATE + "column:pos[-1] & column:pos[0]\n")
    return str(path)


def test_features_look_at_columns_as_they_are_and_through_functions():
    text = "column:pos[-1]\nsuffix:2(column:lemma)[0]\nmatch:/^[A-Z]/(column:pos)[0]\nlower[0]\n"
    templates = parse_templates(text + "extract:/[0-9]+/[0] & column:pos[0]")
    sentence = Sentence(["B2b", "c"], columns={"lemma": ["Beta", "x"], "pos": ["N", "v"]})
    observed = Observer(sources=("pos", "lemma"))([sentence])[0]
    first, second = describe(observed, templates)
    assert set(first) == {
        "column:pos[-1]=<before>", "suffix:2(column:lemma)[0]=ta", "match:/^[A-Z]/(column:pos)[0]", "lower[0]=b2b",
        "extract:/[0-9]+/[0]=2 & column:pos[0]=N",
    }  # fmt: skip
    assert set(second) == {"column:pos[-1]=N", "lower[0]=c"}
    assert parse_templates("\n".join(map(str, templates))) == templates


@pytest.mark.parametrize(
    "line, features",
    [
        (r"match:/\/#&\]/[0] # &", [r"match:/\/#&\]/[0]"]),
        ("extract:/(?i)[a-c]+$/ & word[1]", ["extract:/(?i)[a-c]+$/[0]", "word[1]"]),
        ("column:2[0]&column:3-4[1]", ["column:2[0]", "column:3-4[1]"]),
        ("match:/a*b*c*/", ["match:/a*b*c*/[0]"]),
    ],
)
def test_patterns_may_hold_the_signs_of_templates(line, features):
    (template,) = parse_templates(line)
    assert [str(conjunct) for conjunct in template.conjuncts] == features


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$", r"(a|ab)*c", r"(a)\1", r"a(?=b)", r"(?<!a)b", r"(?>a)b", r"a*a*a*a*b", "a?" * 18, r"(?s)a",
        "(?:aa|a)" * 20, r"(?x)a", "[", "(", "a{1,99999}{2}", "(a?){50}", r"(?P<x>a)(?P=x)", r"(a)?(?(1)b|c)",
        "a" * 201,
    ],
)  # fmt: skip
def test_patterns_that_could_be_slow_are_refused(pattern):
    for function in ("match", "extract"):
        with pytest.raises(TemplateError, match=r"^template:1: expected"):
            parse_templates(f"{function}:/{pattern}/[0]")


@pytest.mark.parametrize(
    "line",
    [
        "column[0]", "column:[0]", "column:a(column:b)[0]", "match[0]", "match:x[0]", "match://[0]",
        "suffix:3(lemma)[0]", "class:4(column:a)[0]", "word:x[0]", "lower[0] &", "& lower[0]", "lower[0] lower[1]",
    ],
)  # fmt: skip
def test_what_is_no_template_is_refused(line):
    with pytest.raises(TemplateError, match=r"^template:1: "):
        parse_templates(line)


@pytest.mark.parametrize("settings", [{}, {"l1": 0.01}, {"candidates": 0.001}, {"order": 2, "candidates": 1e-6}])
def test_a_model_learns_from_columns_and_needs_them_again(template, tmp_path, settings):
    sentences = corpus()
    model = CRFTagger(features=template, min_pair_count=1, max_iterations=60, threads=1, **settings).fit(
        sentences, X_dev=corpus(20, 4)
    )
    assert model.wanted_columns_ == ("pos",)
    if not settings:
        assert model.threshold_ is None and model.score(corpus(30, 5)) == 1.0
        blind = [replace(s, columns={"pos": ["Nn"] * len(s)}) for s in corpus(30, 5)]
        assert model.score(blind) < 0.5
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    test = corpus(10, 6)
    for a, b in zip(model.predict_marginals(test), loaded.predict_marginals(test), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert loaded.predict(test) == model.predict(test) == [tags for x in test for tags in model.predict([x])]
    with pytest.raises(CorpusError, match="expected sentences with a column 'pos' for the features, got words only"):
        loaded.predict([["a", "b"]])
    for reasons, sentence in zip(explain(loaded, test), test, strict=True):
        assert [token.word for token in reasons] == list(sentence.words)
    assert any("column:pos" in reason.name for token in explain(loaded, test)[0] for reason in token.reasons)


def test_many_tags_stay_candidates_where_columns_are_seen(template):
    sentences = [Sentence([f"w{i}"], [f"T{i}"], columns={"pos": [f"p{i}"]}) for i in range(140)]
    assert CRFTagger(features=template, max_iterations=1, threads=1).fit(sentences).proposer_ is None


def test_columns_are_part_of_warm_starts_trials_and_ensembles(template):
    old = CRFTagger(features=template, max_iterations=20, threads=1).fit(corpus(30, 1))
    new = CRFTagger(max_iterations=20, threads=1).fit(corpus(30, 2), init=old)
    assert new.wanted_columns_ == ("pos",) and new.score(corpus(20, 3)) > 0.9
    model = CRFTagger(features=template, max_iterations=20, threads=1)
    for dev in (None, corpus(20, 3)):
        trials = SettingTrials(model, corpus(), dev)
        assert trials.evaluate(Setting(0.1, 0.0, 1)).score > 0.9
    hmm = HMMTagger().fit(corpus(30, 1) + corpus(30, 2))
    both = CRFTagger(features=template, max_iterations=20, threads=1).fit(corpus(30, 1) + corpus(30, 2))
    for members in ([both, hmm], [hmm, both]):
        ensemble = Ensemble(members, ["a", "b"])
        assert ensemble.wanted_columns_ == ("pos",) and len(ensemble.predict(corpus(5, 9))) == 5


def test_a_hostile_pattern_in_a_model_file_is_refused(template, tmp_path):
    model = CRFTagger(features=template, max_iterations=2, threads=1).fit(corpus(10))
    model.template_ = model.template_.replace("column:pos[0]\n", "match:/(a+)+$/(column:pos)[0]\n", 1)
    save_model(model, tmp_path / "model.npz")
    with pytest.raises(ModelError, match="quantified group"):
        load_model(tmp_path / "model.npz")


# Commands


@pytest.fixture
def home(tmp_path, template, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_corpus("train.txt", corpus(), format="columns")
    run(
        ".",
        "train-crf",
        "train.txt",
        "--columns",
        "word,pos,tag",
        "--features",
        template,
        "--max-iterations",
        "30",
        "-q",
    )
    return tmp_path


def test_a_model_remembers_the_names_of_its_columns(home):
    assert load_model("model.npz").columns_ == ColumnNames(names=NAMES)
    gold = corpus(10, 7)
    write_corpus("gold.txt", gold, format="columns")
    assert json.loads(run(".", "eval", "gold.txt", "--json").out)["accuracy"] > 0.9
    rows = [line.split(" ") for line in (home / "gold.txt").read_text().split("\n")]
    (home / "text.txt").write_text("\n".join(" ".join(row[:2]) for row in rows))
    out = run(".", "tag", "text.txt", "--input-format", "columns").out
    tagged = read_corpus_text(home, out)
    assert [s.columns for s in tagged] == [s.columns for s in gold] and tagged[0].tags == gold[0].tags
    (home / "other.tsv").write_text("pos\tx\tword\n" + "".join(f"{row[1]}\t0\t{row[0]}\n" for row in rows[:2]))
    named = run(".", "tag", "other.tsv", "--columns", "pos,-,word").out
    assert named.startswith("pos\tx\tword\ttag\nNn\t0\tw0\t") and len(named.split("\n")) == 5
    assert "column:pos" in run(".", "explain", "text.txt", "--input-format", "columns").out
    shown = run(
        ".", "features", "text.txt", "--input-format", "columns", "--columns", "word,pos", "--features", "chunking"
    )
    assert f"column:pos[0]={rows[0][1]}" in shown.out.split("\n")[0]


def read_corpus_text(home, text):
    (home / "out.txt").write_text(text)
    return read_corpus(home / "out.txt", columns=NAMES)


def test_commands_ask_for_missing_columns_by_name(home):
    for command in (["tag"], ["explain"]):
        failed = run(".", *command, input="a b\n")
        assert failed.code == 1 and "expected a column 'pos' for the features" in failed.err
        assert "--input-format" in failed.err and failed.err.count("\n") == 1
    (home / "two.tsv").write_text("a\tX\n\n")
    failed = run(".", "eval", "two.tsv", "--columns", "word,tag")
    assert failed.code == 1 and "two.tsv: expected a column 'pos'" in failed.err and "--columns" in failed.err


def test_crossval_reads_the_columns_of_the_template(home, template):
    args = [
        "crossval",
        "train.txt",
        "--columns",
        "word,pos,tag",
        "--folds",
        "2",
        "--features",
        template,
        "--max-iterations",
        "5",
    ]
    done = run(".", *args, "--json", "-q")
    assert done.code == 0, done.err


# Templates of CRF++ and Wapiti

THEIRS = r"""# a template
U00:%x[-1,0]
U01:%x[0,0]/%x[0,1]
U:case %X[0,0]
U:first %t[0,0,"^\u"] and %m[1,1,"..?$"]
U:any %T[0,0,"^a/(b)"]
*:both %x[0,1]
U99:

B
"""
LEFT_OUT = r"""B01:%x[@0,0]
U10:%x[@0,0]
U11:%M[0,0,"..$"]
U12:%x[0,0]/%x[1,0]/%x[2,0]/%x[3,0]
U13:%x[0,7]
U14:%y[0,0]
X15:%x[0,0]
"""


def test_templates_of_other_programs_are_read_as_they_are():
    text = translate(THEIRS, [None, "pos", "tag"])
    assert [str(template) for template in parse_templates(text)] == [
        "word[-1]", "word[0] & column:pos[0]", "lower[0]", r"match:/(?i)^a\/\(b\)/[0]", "column:pos[0]", "bias[0]",
        r"match:/^[A-Z]/[0] & extract:/..?$/(column:pos)[1]", "@ column:pos[0]",
    ]  # fmt: skip
    assert left_out(text) == []


def test_what_cannot_be_expressed_is_named_line_by_line():
    lines = left_out(translate(LEFT_OUT, [None, "pos", "tag"]))
    assert [line.split(",")[0] for line in lines] == [f"line {i}" for i in range(1, 8)]
    assert all(line.split(": ")[0].endswith(their) for line, their in zip(lines, LEFT_OUT.split("\n"), strict=False))
    assert not is_foreign(TEMPLATE)


@pytest.mark.parametrize("names", [("--columns", "word,pos,tag"), ("--columns", "word,-,tag"), ()])
def test_a_crf_is_trained_with_a_template_of_another_program(home, names):
    (home / "their.tpl").write_text("U01:%x[0,1]\nU02:%x[-1,1]/%x[0,1]\nB\nB03:%x[0,0]\n")
    done = run(
        ".", "train-crf", "train.txt", *names, "--features", "their.tpl", "--max-iterations", 20, "-o", "their.npz"
    )
    if "word,-,tag" in names:
        assert done.code == 1 and "expected a column '2'" in done.err
        return
    assert done.code == 0 and "warning" not in done.err
    assert "@ word[0]" in run(".", "inspect", "their.npz").out
    gold = corpus(10, 8)
    write_corpus("gold.txt", gold, format="columns")
    assert json.loads(run(".", "eval", "gold.txt", "-m", "their.npz", "--json").out)["accuracy"] > 0.9


# Lists of phrases


@pytest.fixture
def cities(tmp_path):
    (tmp_path / "cities.txt").write_text("Paris\nNew  York\nNew York City\n\nYork\nSan Jose\n" + "x " * 11 + "\n")
    path = tmp_path / "cities-template.txt"
    path.write_text("list:cities.txt[0]\nlist:cities.txt[1] & bias[0]\n")
    return str(path)


def test_a_list_gives_the_place_in_the_longest_phrase(cities, tmp_path):
    phrases = PhraseList.read("cities.txt", cities)
    texts = ["New York City York", "in New", "York Paris", "New York New", "", "x " * 11]
    expected = ["BIES", "..", "SS", "BE.", "", "." * 11]
    for block in ([text.split() for text in texts], [[text] for text in ("Paris", "paris")]):
        places = ["".join(place or "." for place in row) for row in phrases.places(block)]
        assert places == (expected if len(block) > 2 else ["S", "."])


def phrases_by_enumeration(words, phrases):
    places, i = [], 0
    while i < len(words):
        n = max((n for n in range(1, 11) if i + n <= len(words) and tuple(words[i : i + n]) in phrases), default=0)
        places += [None] if n == 0 else ["S"] if n == 1 else ["B", *["I"] * (n - 2), "E"]
        i += max(n, 1)
    return places


def test_places_equal_those_by_enumeration():
    generator = np.random.default_rng(5)
    phrases = {tuple(generator.choice(list("abcé"), n).tolist()) for n in generator.integers(1, 5, 12).tolist()}
    texts = [generator.choice(list("abcé"), n).tolist() for n in range(30)]
    found = PhraseList.of("\n".join(" ".join(phrase) for phrase in [*phrases, *phrases])).places(texts)
    assert found == [phrases_by_enumeration(words, phrases) for words in texts]


def test_a_list_travels_in_the_model(cities, tmp_path):
    X = [["in", "Paris"], ["Paris", "in"], ["in", "New", "York"], ["a", "b"]] * 5
    y = [["O", "S"], ["S", "O"], ["O", "B", "E"], ["O", "O"]] * 5
    model = CRFTagger(features=cities, l2=0.001, max_iterations=30, threads=1).fit(X, y)
    save_model(model, tmp_path / "model.npz")
    (tmp_path / "cities.txt").unlink()
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.predict([["visit", "San", "Jose"], ["in", "York"]]) == [["O", "B", "E"], ["O", "S"]]
    assert CRFTagger(max_iterations=5, threads=1).fit(X, y, init=loaded).lists_ is loaded.lists_
    with pytest.raises(TemplateError, match=r"cities-template.txt: list:cities.txt: expected a file"):
        CRFTagger(features=cities).fit(X, y)


def test_features_shows_places_in_lists(cities):
    out = run(".", "features", "--features", cities, input="New York\n").out
    assert out.startswith("New\tlist:cities.txt[0]=B\tlist:cities.txt[1]=E & bias[0]\n")


def test_a_pool_sees_columns(template, tmp_path):
    pool = PooledTagger(features=template, candidates=1e-6, max_iterations=20, threads=1).fit(corpus())
    assert pool.score(corpus(20, 5)) > 0.6  # the HMM has a vote, and sees words only
    save_model(pool, tmp_path / "pool.npz")
    test = corpus(5, 6)
    assert load_model(tmp_path / "pool.npz").predict(test) == pool.predict(test)
    hmm = HMMTagger().fit(corpus())
    with pytest.raises(ModelError, match="add: expected features of words only"):
        PooledTagger(features=template, max_iterations=2, threads=1).fit(corpus(), add=[hmm])


def test_what_would_be_read_as_a_comment_is_not_written():
    for words in (["-DOCSTART-", "a"], ["#", "a"]):
        with pytest.raises(CorpusError, match="cannot be written in this format"):
            render(Sentence(words[:1], ["X"], columns={"a": ["k"], "b": ["="]}), "columns")


@pytest.mark.parametrize("pos, message", [
    ('["D"]', "expected a list 'pos' of 2 strings or numbers, one for each word"),
    ('"D N"', "expected a list 'pos' of 2 strings or numbers, one for each word"),
    ('[["D"], "N"]', "expected a list 'pos' of 2 strings or numbers, one for each word"),
])  # fmt: skip
def test_a_list_that_does_not_fit_the_words_is_named(home, pos, message):
    failed = run(".", "tag", "--input-format", "jsonl", input=f'{{"words": ["a", "b"], "pos": {pos}}}\n')
    assert failed.code == 1 and message in failed.err and failed.err.count("\n") == 1


def test_the_trellis_of_a_model_that_looks_at_columns(home):
    (home / "text.txt").write_text("w0 Nn\nw3 Dt\n\n")
    done = run(".", "trellis", "--input-format", "columns", "--json", input="w0 Nn\nw3 Dt\n\n")
    assert done.code == 0 and json.loads(done.out)["words"] == ["w0", "w3"]
    other = run(
        ".", "trellis", "--input-format", "columns", "--columns", "pos,word", "--json", input="Nn w0\nDt w3\n\n"
    )
    assert other.out == done.out


def test_a_list_may_have_any_place(tmp_path):
    (tmp_path / "cities.txt").write_text("New York\n")
    (template,) = parse_templates(f"list:{tmp_path}/cities.txt[0]")
    assert str(template) == f"list:{tmp_path}/cities.txt[0]"
    (lists,) = read_lists(list_names([template]), "elsewhere/template.txt").values()
    assert lists.places([["in", "New", "York"]]) == [[None, "B", "E"]]


def test_columns_of_conllu_may_be_named_in_training(tmp_path):
    rows = "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(rows * 2)
    (tmp_path / "their.tpl").write_text("U:%x[0,0]\nU:%x[0,1]\nB:%x[0,2]\n")
    options = ("--columns", "lemma,xpos", "--features", "their.tpl", "--max-iterations", 2)
    done = run(tmp_path, "train-crf", "a.conllu", *options)
    assert done.code == 0, done.err
    assert load_model(tmp_path / "model.npz").wanted_columns_ == ("lemma", "xpos")


def test_a_model_of_words_alone_reads_files_of_other_layouts(tmp_path):
    """It remembers the names of its columns for files that have as many."""
    rows = "1\tthe\tD\t-\t-\n2\tdog\tN\t-\t-\n\n"
    (tmp_path / "train.iob2").write_text(rows * 3)
    assert run(tmp_path, "train-crf", "train.iob2", "--max-iterations", 5, "-q").code == 0
    texts = {
        "a.iob2": rows, "b.tsv": "the\tD\ndog\tN\n\n", "c.txt": "the D\ndog N\n\n", "d.txt": "the/D dog/N\n",
        "e.txt": "the x D\ndog x N\n\n", "f.jsonl": '{"words": ["the", "dog"], "tags": ["D", "N"]}\n',
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        done = run(tmp_path, "eval", name, "--json", "-q")
        assert done.code == 0 and json.loads(done.out)["accuracy"] == 1.0, (name, done.err)
