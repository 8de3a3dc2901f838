"""Word classes: learned from neighbours, kept in a table, used by templates, not believed when strangers send them."""

import gzip
import pickle
import random

import numpy as np
import pytest
from program import run

from tagger import CRFTagger, Sentence, load_model, save_model
from tagger.errors import CorpusError, FileError, ModelError, TemplateError, TrainingError
from tagger.features.clustering import (
    NeighbourCounter,
    blocks,
    count_cells,
    count_words,
    frequent_words,
    learn_classes,
    neighbour_counts,
    ppmi,
    project,
)
from tagger.features.template import describe, parse_templates, template_text
from tagger.features.word_classes import TREE_SIZES, WordClasses, cut, read_clusters
from tagger.models.store import load_classes, save_classes

NOUNS, VERBS = ([f"{kind}{i}" for i in "abcdefghijklmnopqrst"] for kind in "xy")


def made_up(sentences, seed, known=20):
    """A language whose words say nothing by their spelling: nouns stand after `the`, verbs after `they`."""
    chance = random.Random(seed)
    for _ in range(sentences):
        noun, verb = chance.choice(NOUNS[:known])[::-1], chance.choice(VERBS[:known])[::-1]
        yield Sentence(["the", noun, "there", "they", verb, "now"], ["D", "N", "R", "P", "V", "R"])


RAW = [sentence.words for sentence in made_up(1000, seed=1)]
UNKNOWN = [Sentence([word[::-1]], [tag]) for words, tag in ((NOUNS, "N"), (VERBS, "V")) for word in words[10:]]
FEW = list(made_up(30, seed=2, known=10))


@pytest.fixture(scope="module")
def classes():
    return learn_classes(lambda: RAW, sizes=(4, 12))


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text("bias[0]\nword[0]\nclass:4[0]\n")
    return str(path)


def test_words_with_other_neighbours_are_in_other_classes(classes):
    for size in (4, 12):
        found = (classes.find([word[::-1] for word in words]) for words in (NOUNS, VERBS))
        nouns, verbs = ({*classes.names(size, rows).strings()} for rows in found)
        assert not nouns & verbs and None not in nouns | verbs


def test_words_that_the_corpus_lacks_are_tagged_better(classes, template, tmp_path):
    (tmp_path / "plain.txt").write_text("bias[0]\nword[0]\n")
    plain = CRFTagger(features=str(tmp_path / "plain.txt")).fit(FEW)
    better = CRFTagger(features=template).fit(FEW, classes=classes)
    assert plain.score(UNKNOWN) <= 0.5 and better.score(UNKNOWN) == 1.0


def test_neighbours_are_counted_as_by_hand():
    text = [["a", "b", "a"], ["b", "1x"], [], ["c"]]
    words, tokens = frequent_words(map(count_words, blocks(text)), 1, lambda learning: None)
    assert (words, tokens) == (["a", "b", "0x", "c"], 6)  # by falling count, then by spelling
    table = neighbour_counts(map(NeighbourCounter(words), blocks(text)), tokens, lambda learning: None).toarray()
    left, right = np.split(table, 2, axis=1)  # columns a, b, 0x, c, end
    assert left.tolist() == [[0, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert right.tolist() == [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]


def test_blocks_change_nothing(monkeypatch, classes):
    monkeypatch.setattr("tagger.features.clustering.BLOCK_TOKENS", 100)
    same = learn_classes(lambda: iter(RAW), sizes=(4, 12))
    assert all((same.classes[size] == classes.classes[size]).all() for size in (4, 12))


def test_counting_forgets_rare_words_when_there_are_too_many(monkeypatch):
    """A word that comes once in a hundred new ones is forgotten each time, where only fifty are remembered."""
    text = [["seldom" if i % 100 == 0 else chr(0x4E00 + i), "often"] for i in range(300)]
    assert frequent_words(map(count_words, blocks(text)), 3, lambda learning: None) == (["often", "seldom"], 600)
    monkeypatch.setattr("tagger.features.clustering.MAX_COUNTED_WORDS", 50)
    monkeypatch.setattr("tagger.features.clustering.BLOCK_TOKENS", 10)
    assert frequent_words(map(count_words, blocks(text)), 3, lambda learning: None) == (["often"], 600)


def test_projection_keeps_the_angles_that_all_directions_give():
    """As many directions as the matrix has: the singular value decomposition of NumPy gives the same angles."""
    matrix = ppmi(count_cells(np.random.default_rng(0).integers(0, 12, (2, 300)), (12, 12)))
    U, S, _ = np.linalg.svd(matrix.toarray())
    expected = U * S**0.5
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    rows = project(matrix, 12, lambda learning: None)
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=1e-3)


def test_ppmi_is_high_where_a_neighbour_is_more_frequent_than_expected(monkeypatch):
    monkeypatch.setattr("tagger.features.clustering.CONTEXT_SMOOTHING", 1.0)
    counts = count_cells(np.repeat([[0, 0, 1, 0, 1], [0, 1, 1, 2, 3]], [6, 2, 2, 8, 2], axis=1), (2, 4))
    table = ppmi(counts).toarray()  # left side: 6 2 / 0 2, right side: 8 0 / 0 2; half the row sums are 8 and 2
    expected = [[np.log(6 / (8 * 0.6)), 0, 0, 0], [0, np.log(2 / (2 * 0.4)), 0, np.log(2 / (2 * 0.2))]]
    expected[0][2] = np.log(8 / (8 * 0.8))
    np.testing.assert_allclose(table, expected, rtol=1e-6)


def test_too_little_text_makes_no_classes():
    with pytest.raises(TrainingError):
        learn_classes(lambda: [["a", "b"]])


def test_a_word_is_found_as_it_stands_then_in_lower_case_with_digits_alike():
    table = WordClasses.of(["may", "May", "0th"], {4: np.array([1, 2, 3])})
    assert table.names(4, table.find(["may", "May", "MAY", "5th", "٣TH", "june"])).strings() == [
        "1",
        "2",
        "1",
        "3",
        "3",
        None,
    ]
    templates = parse_templates("class:4[0]\nclass:4[-1] & word[0]")
    assert describe(["MAY", "June"], templates, table) == [
        ["class:4[0]=1", "class:4[-1]=<before> & word[0]=MAY"],
        ["class:4[-1]=1 & word[0]=June"],
    ]


@pytest.mark.parametrize("line", ["class[0]", "class:0[0]", "class:32-128[0]"])
def test_wrong_class_features_are_refused(line):
    with pytest.raises(TemplateError, match="template:1"):
        parse_templates(line)


def test_class_features_need_classes_of_that_size(template, classes):
    with pytest.raises(TemplateError, match=r"template\.txt: .*class:4"):
        CRFTagger(features=template).fit(FEW)
    with pytest.raises(TemplateError, match=r"class:4.*class:12"):
        CRFTagger(features=template).fit(FEW, classes=classes.restricted([12]))


@pytest.mark.parametrize(
    "sizes, own, beside",
    [
        ((32, 128, 512), (32, 128, 512), 128),
        (TREE_SIZES, (32, 128, 512), 128),
        ((64,), (64,), 64),
        ((8, 64),) * 2 + (64,),
    ],
)
def test_a_template_without_classes_gets_those_there_are(classes, sizes, own, beside):
    table = WordClasses(classes.words, dict.fromkeys(sizes, classes.classes[4]))
    model = CRFTagger(features="comparison", max_iterations=2).fit(FEW, classes=table)
    added = "".join(f"class:{size}[0]\n" for size in own) + f"class:{beside}[-1]\nclass:{beside}[1]\n"
    head = "\n# word classes, added to a template that names none\n"
    assert model.template_ == template_text("comparison") + head + added
    assert model.features_.classes.sizes == list(own)


def test_models_with_classes_are_stored_loaded_and_pickled(classes, template, tmp_path):
    model = CRFTagger(features=template).fit(FEW, classes=classes)
    save_model(model, tmp_path / "a.npz")
    save_model(CRFTagger(features=template).fit(FEW, classes=classes), tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    for same in (load_model(tmp_path / "a.npz"), pickle.loads(pickle.dumps(model))):
        assert same.predict(UNKNOWN) == model.predict(UNKNOWN)
        assert same.features_.classes.sizes == [4]  # what the template needs, no more


def test_adapting_keeps_the_classes(classes, template):
    old = CRFTagger(features=template).fit(FEW, classes=classes)
    adapted = CRFTagger(l2=10.0).fit([Sentence(["lol", UNKNOWN[0].words[0]], ["UH", "N"])], init=old)
    assert adapted.score(UNKNOWN) == 1.0
    with pytest.raises(TrainingError):
        CRFTagger().fit(FEW, init=old, classes=classes)


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"classes.sizes": None}, "classes.sizes"),
        ({"classes.sizes": np.array([], np.uint8)}, "classes"),
        ({"classes.sizes": np.array([0], np.uint8)}, "classes"),
        ({"classes.sizes": np.array([4, 4], np.uint8)}, "classes"),
        ({"classes.sizes": np.array([12], np.uint8)}, "classes.12"),
        ({"classes.4": np.array([1], np.uint8)}, "classes.4"),
        ({"classes.4": np.zeros(44, np.float32)}, "classes.4"),
        ({"classes.4": np.full(44, 4, np.uint8)}, "npz"),
        ({"classes.words.lengths": np.full(44, 2**60, np.uint64)}, "npz"),
        ({"classes.words.blob": np.zeros(3, np.uint8)}, "npz"),
    ],
)
def test_hostile_classes_are_refused(classes, template, tmp_path, changes, complaint):
    assert len(classes) == 44
    save_model(CRFTagger(features=template, max_iterations=2).fit(FEW, classes=classes), tmp_path / "m.npz")
    save_classes(classes.restricted([4]), tmp_path / "c.npz")
    for name, load in (("m.npz", load_model), ("c.npz", load_classes)):
        with np.load(tmp_path / name) as members:
            arrays = {member: members[member] for member in members} | changes
        np.savez(tmp_path / name, **{member: array for member, array in arrays.items() if array is not None})
        with pytest.raises(ModelError, match=complaint):
            load(tmp_path / name)


def test_classes_other_than_the_template_needs_are_refused(classes, template, tmp_path):
    save_model(CRFTagger(features=template, max_iterations=2).fit(FEW, classes=classes), tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as members:
        arrays = {name: members[name] for name in members}
    np.savez(
        tmp_path / "m.npz", **arrays | {"classes.sizes": np.array([12], np.uint8), "classes.12": arrays["classes.4"]}
    )
    with pytest.raises(ModelError, match=r"m\.npz.*12.*4"):
        load_model(tmp_path / "m.npz")


def test_class_files_are_what_was_saved_and_nothing_else(classes, tmp_path):
    save_classes(classes, tmp_path / "c.npz")
    same = load_classes(tmp_path / "c.npz")
    words = [w for sentence in RAW[:20] for w in sentence]
    assert same.names(12, same.find(words)).strings() == classes.names(12, classes.find(words)).strings()
    with pytest.raises(ModelError, match=r"c.npz.*'classes'"):
        load_model(tmp_path / "c.npz")
    save_model(CRFTagger(max_iterations=1).fit(FEW), tmp_path / "m.npz")
    with pytest.raises(ModelError, match=r"m.npz"):
        load_classes(tmp_path / "m.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "c.npz").read_bytes()[:200])
    with pytest.raises(ModelError, match=r"cut.npz"):
        load_classes(tmp_path / "cut.npz")
    with pytest.raises(FileError, match=r"none\.npz"):
        load_classes(tmp_path / "none.npz")


def test_clusters_of_other_programs_are_read(tmp_path):
    with gzip.open(tmp_path / "paths.gz", "wt") as stream:
        stream.write("".join(f"{i:06b}\tw{chr(97 + i // 8)}{chr(97 + i % 8)}\t7\n" for i in range(64)))
    table = load_classes(tmp_path / "paths.gz")
    assert table.names(16, table.find(["waa", "wad", "wae", "WHH", "no"])).strings() == ["0", "0", "1", "15", None]
    assert table.names(64, table.find(["wab"])).strings() == ["1"] and table.names(
        512, table.find(["wab"])
    ).strings() == ["1"]


def test_a_tree_is_cut_as_deep_as_the_size_allows():
    paths = ["00", "010", "0110", "0111", "1"]
    assert cut(paths, 2).tolist() == [0, 0, 0, 0, 1]
    assert cut(paths, 3).tolist() == [0, 1, 1, 1, 2]
    assert cut(paths, 100).tolist() == [0, 1, 2, 3, 4]
    assert cut(paths, 1).tolist() == [0] * 5


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("0\ta\t1\nb\n", "x.txt:2: "),
        ("0\ta\t1\n\n", "x.txt:2: "),
        ("\ta\t1\n", "x.txt:1: "),
        ("0\t\t1\n", "x.txt:1: "),
        ("0\ta\tb\tc\n", "x.txt:1: "),
        ("", "x.txt: "),
    ],
)
def test_faults_of_cluster_files_have_a_place(tmp_path, text, complaint):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(CorpusError) as error:
        read_clusters(str(tmp_path / "x.txt"))
    assert complaint in str(error.value)


def test_one_long_path_does_not_make_all_paths_long():
    """As many cells as words times the longest path would be 8 GB."""
    paths = ["0" * 100_000, *["1"] * 20_000]
    assert cut(paths, 3).tolist() == [0] + [1] * 20_000


def test_a_damaged_compressed_file_of_classes_is_a_file_error(tmp_path):
    (tmp_path / "c.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(FileError, match=r"c.gz"):
        load_classes(tmp_path / "c.gz")


def tagger(folder, *args, code=0):
    result = run(folder, *args)
    assert result.code == code, result.err
    return result.out + result.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    text = "".join(" ".join(words) + "\n" for words in RAW)
    (folder / "raw.txt").write_text(text)
    with gzip.open(folder / "raw.txt.gz", "wt") as stream:
        stream.write(text)
    lines = [" ".join(map("/".join, zip(sentence.words, sentence.tags, strict=True))) for sentence in FEW]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    (folder / "template.txt").write_text("bias[0]\nword[0]\nclass:32[0]\n")
    (folder / "coarse.txt").write_text("bias[0]\nword[0]\nclass:4[0]\n")
    return folder


def test_raw_text_compressed_or_not_threads_or_not_same_bytes(folder):
    common = ("train-crf", "corpus.txt", "-q", "--features", "template.txt", "--unlabeled")
    assert tagger(folder, *common, "raw.txt", "-o", "a.npz", "--threads", "1") == ""
    tagger(folder, *common, "raw.txt.gz", "-o", "b.npz", "--threads", "2")
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert len(load_model(folder / "a.npz").features_.classes) == 44


def test_classes_once_for_many_trainings(folder):
    said = tagger(folder, "learn-classes", "raw.txt.gz", "--size", "4", "-o", "c.npz")
    assert "44 words in 4 classes" in said and "Try: tagger train-crf corpus.txt --classes c.npz" in said
    tagger(folder, "train-crf", "corpus.txt", "--classes", "c.npz", "--max-iterations", "2", "-q")
    tagger(folder, "train-crf", "corpus.txt", "-q", "--features", "coarse.txt", "--classes", "c.npz", "-o", "d.npz")
    assert load_model(folder / "d.npz").score(UNKNOWN) == 1.0
    (folder / "words.txt").write_text("the\n")
    shown = tagger(folder, "features", "words.txt", "--features", "coarse.txt", "--classes", "c.npz")
    assert "class:4[0]=" in shown


def test_a_bar_for_each_step(folder, monkeypatch, capsys):
    from tagger.cli import progress, raw_text

    monkeypatch.setattr(progress, "show_bar", lambda quiet: True)
    raw_text.learn_from([str(folder / "raw.txt")], "utf-8", quiet=False, sizes=(4, 8))
    shown = capsys.readouterr().err
    assert all(step in shown for step in ("words:", "neighbours: ", "directions: ", "4 classes: ", "8 classes: "))


@pytest.mark.parametrize(
    "args, code, complaint",
    [
        (["--features", "template.txt"], 1, "template.txt: "),
        (["--unlabeled", "-"], 2, "--unlabeled"),
        (["--unlabeled", "raw.txt", "--classes", "c.npz"], 2, "--classes"),
        (["--init", "m.npz", "--classes", "c.npz"], 2, "--classes"),
        (["--unlabeled", "none.txt"], 1, "none.txt"),
        (["--unlabeled", "raw.txt", "-o", "raw.txt"], 1, "raw.txt"),
        (["--classes", "corpus.txt"], 1, "corpus.txt:1: "),
    ],
)
def test_what_does_not_go_together_is_refused(folder, args, code, complaint):
    assert complaint in tagger(folder, "train-crf", "corpus.txt", *args, code=code)
