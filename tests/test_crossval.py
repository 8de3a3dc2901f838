"""Cross-validation, learning curves and `check`: nothing is judged by who has seen it, and slips are found."""

import json
import multiprocessing

import pytest
from paths import TEST, TRAIN
from program import run

from tagger import HMMTagger, Sentence, evaluate, read_corpus, write_corpus
from tagger.errors import TrainingError
from tagger.experiments.corpus_check import common, contradicted, survey, unusual
from tagger.experiments.crossval import CurvePoint, TaggerFactory, cross_validate, fold_numbers, learning_curve
from tagger.models.store import load_classes
from tagger.tagging.workers import processes

HMM = TaggerFactory(HMMTagger, {"order": 1})


def test_equal_sentences_are_in_one_fold_and_folds_are_of_like_size():
    sentences = read_corpus(TRAIN)
    doubled = [*sentences, *[s.with_tags(["X"] * len(s)) for s in sentences[:100]]]
    numbers = fold_numbers(doubled, 10, 0)
    assert numbers[:100] == numbers[len(sentences) :]
    sizes = [numbers.count(fold) for fold in range(10)]
    assert max(sizes) - min(sizes) < 40 and set(numbers) == set(range(10))
    assert fold_numbers(doubled[::-1], 10, 0) == numbers[::-1]
    assert fold_numbers(doubled, 10, 1) != numbers


def test_too_few_sentences_for_the_folds_are_refused():
    with pytest.raises(TrainingError, match=r"3.* 1"):
        fold_numbers([Sentence(["a"], ["X"])] * 9, 3, 0)


def test_contiguous_folds_are_stretches_of_like_size():
    sentences = read_corpus(TEST)
    numbers = fold_numbers(sentences, 7, 0, contiguous=True)
    assert numbers == sorted(numbers) and set(numbers) == set(range(7))
    sizes = [numbers.count(fold) for fold in range(7)]
    assert max(sizes) - min(sizes) <= 1
    with pytest.raises(TrainingError, match="9 folds"):
        fold_numbers(sentences[:8], 9, 0, contiguous=True)
    members = [fold.members for fold in cross_validate(HMM, sentences, 7, contiguous=True)]
    assert [i for stretch in members for i in stretch] == list(range(len(sentences)))


def test_documents_leak_between_folds_that_are_not_contiguous():
    """The tag of a word is that of its document: a model that has seen another sentence of it gets it right."""
    documents = [[Sentence([f"word{d}", f"x{i}"], ["ABC"[d % 3], "N"]) for i in range(6)] for d in range(12)]
    sentences = [sentence for document in documents for sentence in document]
    leaking, fair = (
        [fold.accuracy for fold in cross_validate(HMM, sentences, 12, contiguous=stretches)]
        for stretches in (False, True)
    )
    assert min(leaking) > 0.95 > max(fair)


def test_every_sentence_is_judged_once_by_who_has_not_seen_it():
    sentences = [Sentence([f"only{i}", "x"], ["A" if i % 2 else "B", "C"]) for i in range(30)]
    folds = list(cross_validate(HMM, sentences, 5))
    assert sorted(i for fold in folds for i in fold.members) == list(range(30))
    for fold in folds:
        held = [sentences[i] for i in fold.members]
        model = HMMTagger(order=1).fit([s for i, s in enumerate(sentences) if i not in fold.members])
        assert fold.tags == model.predict(held) and not model.lexicon_.known([s.words[0] for s in held]).any()


def test_any_number_of_jobs_finds_the_same():
    sentences, others = read_corpus(TEST), {*multiprocessing.active_children()}  # other libraries keep processes
    assert list(cross_validate(HMM, sentences, 4, run=processes(3))) == list(cross_validate(HMM, sentences, 4))
    assert {*multiprocessing.active_children()} <= others


def test_a_learning_curve_ends_with_the_whole_corpus():
    sentences, dev = read_corpus(TRAIN), read_corpus(TEST)
    rows = list(learning_curve(HMM, sentences, dev, 4))
    assert [row.tokens for row in rows] == sorted(row.tokens for row in rows)
    guesses = HMMTagger(order=1).fit(sentences).predict(dev)
    whole = evaluate(dev, guesses)
    assert rows[-1] == CurvePoint(sum(map(len, sentences)), whole.accuracy, whole.accuracy_interval)
    assert rows[-1].score > rows[0].score


def test_a_contiguous_learning_curve_takes_the_beginning_of_the_corpus():
    sentences, dev = read_corpus(TEST), read_corpus(TRAIN)[:50]
    rows = list(learning_curve(HMM, sentences, dev, 3, contiguous=True))
    parts = [sentences[: len(sentences) >> power] for power in (2, 1, 0)]
    assert [row.tokens for row in rows] == [sum(map(len, part)) for part in parts]
    assert [row.score for row in rows] == [HMMTagger(order=1).fit(part).score(dev) for part in parts]


def test_slips_are_found():
    good = [Sentence(f"the dog {verb} .".split(), ["D", "N", "V", "."]) for verb in ("runs", "barks", "eats") * 20]
    slip = Sentence(["the", "dog", "runs", "."], ["N", "N", "V", "."])
    corpus = [*good[:30], slip, *good[30:], *[Sentence([f"w{i}", "dog", "."], ["D", "N", "."]) for i in range(9)]]
    (doubt,) = unusual(corpus)
    assert (doubt.sentence, doubt.token, doubt.word, doubt.tag, doubt.expected) == (30, 0, "the", "N", "D")
    found = contradicted(corpus, cross_validate(HMM, corpus, 3), at_least=0.9)
    assert (30, 0, "D") in {(d.sentence, d.token, d.expected) for d in found}
    counted = survey(corpus)
    assert counted.repeated == 61 - 3 and counted.tokens == 61 * 4 + 27
    assert [sorted(group) for group in counted.disagreeing if 30 in group]
    assert common(corpus, [slip]) == 21


def test_the_commands_tell_it(tmp_path):
    crossval = run(tmp_path, "crossval", TEST, "--kind", "hmm", "--folds", 3, "--order", 1, "--json")
    found = json.loads(crossval.out)
    assert crossval.err == "" and len(found["folds"]) == 3 and 0.5 < found["mean"] < 1
    assert "mean" in run(tmp_path, "crossval", TEST, "--folds", 2, "--max-iterations", 5).out
    weighted = sum(fold["tokens"] * fold["accuracy"] for fold in found["folds"])
    assert found["accuracy"] == pytest.approx(weighted / sum(fold["tokens"] for fold in found["folds"]))
    assert found["accuracy_interval"][0] < found["accuracy"] < found["accuracy_interval"][1]
    stretches = ["crossval", TEST, "--kind", "hmm", "--folds", 3, "--contiguous"]
    lines = run(tmp_path, *stretches).out.splitlines()
    assert lines[4].split()[:2] == ["all", "1,523"] and "95 % interval" in lines[4]
    expected = [
        fold.accuracy for fold in cross_validate(TaggerFactory(HMMTagger, {}), read_corpus(TEST), 3, contiguous=True)
    ]
    assert [float(line.split()[2]) for line in lines[1:4]] == [round(100 * accuracy, 2) for accuracy in expected]
    assert run(tmp_path, *stretches, "--seed", 1).code == 2
    curve = run(tmp_path, "learning-curve", TEST, "--dev", TRAIN, "--kind", "hmm", "--points", 3, "--contiguous")
    assert f" {sum(map(len, read_corpus(TEST)[:21]))} " in curve.out
    curve = run(tmp_path, "learning-curve", TEST, "--dev", TRAIN, "--kind", "hmm", "--points", 3)
    assert curve.code == 0 and "The last doubling" in curve.out and curve.out.count("█") > 3
    check = run(tmp_path, "check", TEST, "--against", TEST)
    assert check.code == 0 and "sentences also in" in check.out and check.err == ""
    assert json.loads(run(tmp_path, "check", TEST, "--json").out)["in_both"] is None


def test_sentences_that_disagree_are_shown_and_obey_nobody(tmp_path):
    lines = ["the/DT dog/NN runs/VBZ", "the/DT dog/VB runs/NNS", "a/\x1b[31mDT b/X", "the/DT dog/NN runs/VBZ"]
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n")
    told = run(tmp_path, "check", "corpus.txt").out
    assert "same words and other tags: 3\n  the [dog] runs\n" in told
    assert (
        "NN in sentence 1 (line 1), VB in sentence 2 (line 2), NN in sentence 4 (line 4); tokens that differ: 2\n"
        in told
    )
    assert "\x1b" not in told and "\\x1b[31mDT" in told


@pytest.mark.parametrize("option", [["--tune"], ["--dev", "x"], ["--unlabeled", "x"], ["--resume"]])
def test_an_option_that_sets_no_part_of_the_model_is_wrong_usage(tmp_path, option):
    done = run(tmp_path, "crossval", TEST, *option)
    assert done.code == 2 and option[0] in done.err


@pytest.mark.parametrize(
    "command", [["crossval", TEST, "--folds", 3], ["learning-curve", TEST, "--dev", TRAIN, "--points", 2]]
)
def test_word_classes_reach_the_models_of_experiments(tmp_path, command):
    run(tmp_path, "convert", TRAIN, "raw.txt", "--strip-tags")
    run(tmp_path, "learn-classes", "raw.txt", "-q", "-o", "classes.npz")
    plain, classed = (run(tmp_path, *command, "--kind", "hmm", *more) for more in ([], ["--classes", "classes.npz"]))
    assert plain.code == classed.code == 0 and plain.out != classed.out
    classes = {"classes": load_classes(tmp_path / "classes.npz")}
    folds = list(cross_validate(TaggerFactory(HMMTagger, {}, classes), read_corpus(TEST), 3, run=processes(2)))
    printed = [f"{100 * fold.accuracy:.2f} %" for fold in folds]
    assert command[0] != "crossval" or [line[-7:] for line in classed.out.splitlines()[1:4]] == printed


def test_an_option_that_training_does_not_know_is_wrong_usage(tmp_path):
    done = run(tmp_path, "crossval", TEST, "--kind", "hmm", "--l2", "1")
    assert done.code == 2 and "--l2" in done.err
    done = run(tmp_path, "crossval", TEST, "--min-cout", "1")
    assert done.code == 2 and "--min-count" in done.err


def test_tags_that_occur_once_are_shown_with_their_place(tmp_path):
    (tmp_path / "corpus.txt").write_text("ein/D Brief/N\nein/D Brief/M\nein/D Haus/N\nder/D Brief/X\n")
    told = run(tmp_path, "check", "corpus.txt").out
    places = ["  M in sentence 2 (line 2): ein [Brief]\n", "  X in sentence 4 (line 4): der [Brief]\n\n"]
    assert "".join(["\nTags that occur once: 2\n", *places]) in told
    assert (
        "occur once: 2\n  M in sentence 2 (line 2): ein [Brief]\n\n"
        in run(tmp_path, "check", "corpus.txt", "--most", 1).out
    )
    found = json.loads(run(tmp_path, "check", "corpus.txt", "--json").out)["only_once"]
    assert len(found) == 2
    assert found[0] == {"sentence": 2, "line": 2, "sent_id": None, "token": 2, "word": "Brief", "tag": "M"}


FORMS = {  # of three sentences whose fifth word, behind a blank line or two, has a tag that occurs once
    "corpus.txt": ("a/D b/N\n\na/D b/N\nc/X a/D b/N\n", 4),
    "corpus.tsv": ("\n\na\tD\nb\tN\n\na\tD\nb\tN\n\n\nc\tX\na\tD\nb\tN", 10),
    "corpus.lines": ("a/D\nb/N\n\na/D\nb/N\n\nc/X\na/D\nb/N\n", 7),
    "unbroken.lines": ("a/D\n./N\na/D\n./N\nc/X\na/D\n./N\n", 5),
    "corpus.jsonl": (
        '{"words": ["a", "b"], "tags": ["D", "N"]}\n' * 2 + '{"words": ["c", "a"], "tags": ["X", "D"]}\n',
        3,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_line_of_a_doubtful_tag_is_named(tmp_path, name):
    text, line = FORMS[name]
    (tmp_path / name).write_text(text)
    assert f"X in sentence 3 (line {line}): [c]" in run(tmp_path, "check", name).out
    (found,) = json.loads(run(tmp_path, "check", name, "--json").out)["only_once"]
    assert (found["sentence"], found["line"], found["token"], found["sent_id"]) == (3, line, 1, None)


@pytest.mark.parametrize("end", ["\n", ""])
def test_in_conllu_the_line_of_a_word_and_the_id_of_its_sentence_are_named(tmp_path, end):
    rest = "\t_" * 6
    rows = [f"1\ta\t_\tD{rest}", f"2-3\tbc\t_\t_{rest}", f"2\tb\t_\tN{rest}", f"3\tc\t_\tX{rest}"]
    blocks = [["# newdoc", ""], ["# sent_id = w-1", rows[0], rows[2], ""], ["# sent_id = w-2", "# text = abc", *rows]]
    blocks += [["", "# sent_id = w-3", rows[0], rows[2].replace("N", "D")]]
    (tmp_path / "corpus.conllu").write_text("\n".join(line for block in blocks for line in block) + end)
    told = run(tmp_path, "check", "corpus.conllu").out
    assert "X in sentence 2 (line 12, sent_id w-2): a b [c]" in told
    assert "N in sentence 1 (line 5, sent_id w-1), D in sentence 3 (line 16, sent_id w-3)" in told
    found = json.loads(run(tmp_path, "check", "corpus.conllu", "--json").out)
    assert found["disagreeing"] == [
        [{"sentence": 1, "line": 4, "sent_id": "w-1"}, {"sentence": 3, "line": 15, "sent_id": "w-3"}]
    ]
    assert found["only_once"][0]["line"] == 12 and found["only_once"][0]["sent_id"] == "w-2"


def test_a_tiny_corpus_is_checked_without_a_model(tmp_path):
    write_corpus(tmp_path / "tiny.txt", [Sentence(["a"], ["X"])])
    done = run(tmp_path, "check", "tiny.txt")
    assert done.code == 0 and "tokens" in done.out
