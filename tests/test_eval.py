"""`tagger eval` with intervals, comparisons, tags from elsewhere; and whether its statistics keep their promise."""

import json
import re
import shutil

import numpy as np
import program
import pytest
from paths import TEST, TRAIN

from tagger import HMMTagger, Sentence, load_model, read_corpus, save_model, write_corpus
from tagger.arrays.string_spans import ByteStrings
from tagger.evaluation import significance
from tagger.evaluation.metrics import Comparison, compare
from tagger.evaluation.significance import interval, p_value
from tagger.reports.text import excerpt, in_words
from tagger.words.overlap import fingerprints, overlap


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    """Both models and what the HMM says of the test set."""
    folder = tmp_path_factory.mktemp("eval")
    shutil.copy(models / "hmm.npz", folder)
    shutil.copy(models / "crf.npz", folder / "model.npz")
    test, hmm = read_corpus(TEST), load_model(folder / "hmm.npz")
    write_corpus(folder / "tagged.txt", [s.with_tags(t) for s, t in zip(test, hmm.predict(test), strict=True)])
    return folder


def run(folder, *args):
    return program.run(folder, "eval", *args)


def figures(folder, *args):
    done = run(folder, *args, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_tags_from_elsewhere_are_judged_by_the_same_ruler(folder):
    model, tags = figures(folder, TEST, "-m", "hmm.npz"), figures(folder, TEST, "--predictions", "tagged.txt")
    same = {"tokens", "sentences", "accuracy", "accuracy_interval", "sentence_accuracy", "macro", "tags", "confusions"}
    assert {key: model[key] for key in same} == {key: tags[key] for key in same}
    assert (
        tags["known_accuracy"] is tags["known_tokens"] is tags["tokens_per_second"] is tags["training_overlap"] is None
    )
    both = figures(folder, TEST, "--predictions", "tagged.txt", "-m", "hmm.npz")
    assert both["known_accuracy"] == model["known_accuracy"]


def test_every_figure_of_an_example_worked_by_hand(tmp_path):
    """Two sentences, 2 of 3 and 2 of 2 right. Drawn with replacement they give 4/6, 4/5 (twice as often) and 4/4, so
    that the middle 95 % reach from the least to the most."""
    (tmp_path / "gold.txt").write_text("the/D dog/N barks/V\nzap/V it/P\n")
    (tmp_path / "guess.txt").write_text("the/D dog/N barks/N\nzap/V it/P\n")
    save_model(HMMTagger().fit([Sentence(["the", "dog", "dog"], ["D", "N", "V"])]), tmp_path / "known.npz")
    found = figures(tmp_path, "gold.txt", "--predictions", "guess.txt", "-m", "known.npz")
    right, half = {"precision": 1.0, "recall": 1.0, "f1": 1.0}, pytest.approx(2 / 3)
    assert found == {
        "tokens": 5,
        "sentences": 2,
        "accuracy": 4 / 5,
        "accuracy_interval": [4 / 6, 1.0],
        "known_accuracy": 1.0,
        "unknown_accuracy": pytest.approx(2 / 3),
        "ambiguous_accuracy": 1.0,
        "known_tokens": 2,
        "unknown_tokens": 3,
        "ambiguous_tokens": 1,
        "sentence_accuracy": 1 / 2,
        "macro": {"precision": 3.5 / 4, "recall": 3.5 / 4, "f1": pytest.approx((1 + 1 + 2 / 3 + 2 / 3) / 4)},
        "kappa": pytest.approx((4 / 5 - 6 / 25) / (1 - 6 / 25)),
        "tags": {
            "V": {"precision": 1.0, "recall": 1 / 2, "f1": half, "support": 2},
            "D": right | {"support": 1},
            "N": {"precision": 1 / 2, "recall": 1.0, "f1": half, "support": 1},
            "P": right | {"support": 1},
        },
        "unseen_tags": ["P"],
        "confusions": [{"gold": "V", "guess": "N", "count": 1, "example": [0, 2]}],
        "not_considered": None,
        "training_overlap": None,  # its only sentence is too short to have a hash
        "tokens_per_second": None,
        "compare": [],
    }


def test_the_chance_of_a_difference_worked_by_hand():
    """Three sentences that one tagger has better: of the 8 ways to swap them, 2 are as far from zero."""
    assert p_value(np.array([1, 0, 1, 1, 0])) == pytest.approx(2 / 8, abs=0.015)
    assert p_value(np.array([2, -1])) == pytest.approx(1.0, abs=0.015)  # ±1 and ±3, all at least 1 away
    assert p_value(np.array([3, 1])) == pytest.approx(1 / 2, abs=0.015)  # ±4 and ±2, seen was 4


def test_predictions_need_no_model(folder, tmp_path):
    done = run(tmp_path, TEST, "--predictions", folder / "tagged.txt")
    assert done.code == 0 and "accuracy" in done.out


@pytest.mark.parametrize(
    "change, found",
    [
        (lambda lines: [*lines[:4], lines[4].replace(" ", " new/NN ", 1), *lines[5:]], "sentence 5, token 2: "),
        (lambda lines: [*lines[:4], lines[4].rstrip() + " new/NN\n", *lines[5:]], "sentence 5: "),
        (lambda lines: lines[:-3], " 87 "),
    ],
)
def test_misaligned_predictions_are_refused_with_the_first_place(folder, tmp_path, change, found):
    lines = (folder / "tagged.txt").read_text().splitlines(keepends=True)
    (tmp_path / "other.txt").write_text("".join(change(lines)))
    done = run(folder, TEST, "--predictions", tmp_path / "other.txt")
    assert done.code == 1 and done.out == "" and found in done.err and done.err.count("\n") == 1


def test_a_comparison_is_told_in_words_and_figures(folder):
    found = figures(folder, TEST, "--compare", "hmm.npz", "--compare", "model.npz")
    hmm, self = found["compare"]
    assert hmm["model"] == "hmm.npz" and hmm["accuracy"] == figures(folder, TEST, "-m", "hmm.npz")["accuracy"]
    assert hmm["difference"] == pytest.approx(found["accuracy"] - hmm["accuracy"])
    assert hmm["interval"][0] < hmm["difference"] < hmm["interval"][1] and 0 < hmm["p_value"] <= 1
    assert self["difference"] == 0 and self["p_value"] == 1
    told = run(folder, TEST, "--compare", "hmm.npz", "--compare", "model.npz").out
    assert told.count("hmm.npz") == 1 and "model.npz and model.npz" in told


def test_other_tags_are_named_with_what_to_do(folder, tmp_path):
    (tmp_path / "gold.txt").write_text("a/DET dog/NOUN barks/VERB\n")
    (tmp_path / "others.txt").write_text("a/D dog/N barks/V\n")
    (tmp_path / "map.tsv").write_text("DT\tDET\n")
    save_model(HMMTagger(order=1).fit(read_corpus(tmp_path / "gold.txt")), tmp_path / "own.npz")
    save_model(HMMTagger(order=1).fit(read_corpus(TEST)), tmp_path / "penn.npz")

    def said(*options):
        return run(tmp_path, "gold.txt", *options).err.splitlines()

    assert said("-m", "own.npz") == []
    for options in (["-m", "own.npz", "--compare", "penn.npz"], ["-m", "penn.npz"]):
        (line,) = said(*options)
        assert line.startswith("warning: ") and line.count("3 of 3 tokens") == 2 and "(DET, NOUN, VERB)" in line
    (line,) = said("--predictions", "others.txt")
    assert "3 of 3 tokens" in line and "others.txt" in line and "(D, N, V)" in line and "--map" in line
    assert said("--predictions", "gold.txt", "-m", "penn.npz") == []
    assert said("-m", "penn.npz", "-q") == []


def test_tag_sets_that_have_little_in_common_are_noticed(tmp_path):
    """Universal and Penn tags share SYM; one right tag of four is no reason to believe in the figures."""
    (tmp_path / "gold.txt").write_text("a/DET dog/NOUN barks/VERB +/SYM\n")
    (tmp_path / "others.txt").write_text("a/DT dog/NN barks/VBZ +/SYM\n")
    (tmp_path / "lazy.txt").write_text("a/NOUN dog/NOUN barks/NOUN +/NOUN\n")
    (tmp_path / "half.tsv").write_text("DT\tDET\nNN\tNOUN\n")
    save_model(HMMTagger(order=1).fit(read_corpus(tmp_path / "others.txt")), tmp_path / "penn.npz")
    said = run(tmp_path, "gold.txt", "-m", "penn.npz").err
    assert "3 of 4 tokens" in said and "(DET, NOUN, VERB)" in said
    assert "3 of 4 tokens" in run(tmp_path, "gold.txt", "--predictions", "others.txt").err
    assert run(tmp_path, "gold.txt", "--predictions", "lazy.txt").err == ""  # wrong, but of the same tag set
    assert "warning" not in run(tmp_path, "gold.txt", "-m", "penn.npz", "--map", "half.tsv").err


def test_the_better_one_is_named_first():
    better = in_words(Comparison(0.9, 0.02, (0.01, 0.03), 0.0001), "a", "b")
    assert better.startswith("a ") and "2.00 points (95 % interval 1.00 to 3.00)" in better
    worse = in_words(Comparison(0.9, -0.02, (-0.05, 0.01), 0.3), "a", "b")
    assert worse.startswith("b ") and "2.00 points (95 % interval -1.00 to 5.00)" in worse
    assert better.partition(")")[2] != worse.partition(")")[2]


def test_sentences_of_the_training_corpus_are_noticed(folder):
    done = run(folder, TRAIN)
    assert done.code == 0 and re.search(r"\d+ of the \d+ sentences", done.err)
    save_model(HMMTagger().fit(read_corpus(TEST)), folder / "cheat.npz")
    cheated = run(folder, TEST, "--compare", "cheat.npz").err
    assert cheated.count("\n") == 1 and "cheat.npz" in cheated
    assert figures(folder, TEST)["training_overlap"] == 0 and run(folder, TEST).err == ""


def test_short_sentences_prove_nothing():
    """The training text was *a b c d e* and *Thank you !*; the order of words matters, what stands around does not."""
    seen = fingerprints(ByteStrings.of([*"abcde", "Thank", "you", "!"]), np.arange(8), np.array([5, 3]))
    assert len(seen) == 1
    assert overlap([["Thank", "you", "!"], [*"abcde"], [*"abcdf"], [*"abced"], [*"abcdea"], []], seen) == 1
    assert overlap([], seen) == overlap([["Thank", "you", "!"]], seen) == 0


def test_confusions_come_with_an_example(folder):
    found = figures(folder, TEST)
    sentences = read_corpus(TEST)
    first = found["confusions"][0]
    number, place = first["example"]
    assert sentences[number].tags[place] == first["gold"]
    assert f"[{sentences[number].words[place]}]" in run(folder, TEST).out


def test_an_excerpt_is_short_and_obeys_nobody():
    sentence = Sentence([f"w{i}" for i in range(30)])
    assert excerpt(sentence, 10) == "… w5 w6 w7 w8 w9 [w10] w11 w12 w13 w14 w15 …"
    assert excerpt(sentence, 0).startswith("[w0] w1")
    assert excerpt(Sentence(["می\u200cروم", "\x1b[31mred\u202e"]), 0) == "[می\u200cروم] \\x1b[31mred\\u202e"


def simulated(random, count=150):
    """Sentences with accuracies of their own around 0.9: lengths, and what two equally good taggers get right."""
    lengths = random.integers(3, 30, count)
    share = random.beta(18, 2, count)
    return lengths, random.binomial(lengths, share), random.binomial(lengths, share)


def test_the_interval_covers_and_the_test_rejects_as_often_as_promised(monkeypatch):
    monkeypatch.setattr(significance, "DRAWS", 400)
    monkeypatch.setattr(significance, "SWAPS", 499)
    random = np.random.default_rng(11)
    rounds, covered, rejected = 1000, 0, 0
    for _ in range(rounds):
        lengths, a, b = simulated(random)
        low, high = interval(a, lengths)
        covered += low <= 0.9 <= high
        rejected += p_value(a - b) < 0.05
    assert 0.93 <= covered / rounds <= 0.97
    assert 0.03 <= rejected / rounds <= 0.07


def test_a_real_difference_is_found():
    random = np.random.default_rng(3)
    lengths, a, _ = simulated(random, 400)
    assert p_value(a - random.binomial(lengths, 0.85)) < 0.01


def test_too_little_to_draw_from_has_no_interval():
    assert interval(np.array([3]), np.array([4])) is None
    one = compare([Sentence(["a"], ["X"])], [["X"]], [["Y"]])
    assert one.interval is None and one.difference == 1.0 and one.p_value == 1.0


def test_the_reliability_table_counts_tokens_by_the_probability_of_their_tag(folder):
    """The oracle goes token by token through the marginals of each sentence."""
    gold, model = read_corpus(TEST), load_model(folder / "hmm.npz")
    tokens = [
        (max(row), tag == model.classes_[row.argmax()])
        for sentence, P in zip(gold, model.predict_marginals(gold), strict=True)
        for tag, row in zip(sentence.tags, P, strict=True)
    ]
    expected = [[token for token in tokens if min(9, int(10 * token[0])) == i] for i in range(10)]
    found = figures(folder, TEST, "-m", "hmm.npz", "--calibration")["calibration"]
    # the best path may have a tag that is not the most probable one at its token
    moved = sum(abs(row["tokens"] - len(part)) for row, part in zip(found["bins"], expected, strict=True))
    assert moved <= 0.02 * len(tokens) and sum(row["tokens"] for row in found["bins"]) == len(tokens)
    top, part = found["bins"][9], expected[9]
    assert (top["from"], top["to"], top["tokens"]) == (0.9, 1.0, len(part))
    assert top["confidence"] == pytest.approx(sum(p for p, _ in part) / len(part), abs=1e-6)
    assert top["accuracy"] == pytest.approx(sum(right for _, right in part) / len(part))
    assert top["interval"][0] < top["accuracy"] < top["interval"][1]
    ece = sum(row["tokens"] * abs(row["accuracy"] - row["confidence"]) for row in found["bins"] if row["tokens"])
    assert found["error"] == pytest.approx(ece / len(tokens))
    assert found["bins"][0] == {"from": 0, "to": 0.1, "tokens": 0} | dict.fromkeys(
        ("confidence", "accuracy", "interval", "calibrated")
    )


def test_the_reliability_table_is_text_too_and_only_where_asked_for(folder):
    found = figures(folder, TEST, "-m", "hmm.npz", "--calibration")["calibration"]
    table = run(folder, TEST, "-m", "hmm.npz", "--calibration", "--compare", "hmm.npz").out
    rows = [line.split() for line in table.partition("\nconfidence ")[2].splitlines() if "–" in line[:10]]
    shown = [row for row in found["bins"] if row["tokens"]]
    assert [(row[0], row[2]) for row in rows] == [
        (f"{100 * bin['from']:.0f}–{100 * bin['to']:.0f}", f"{bin['tokens']:,}") for bin in shown
    ]
    last = table.splitlines()[-3]
    assert last.startswith(f"expected calibration error {100 * found['error']:.2f} %; ")
    off = [f"{100 * bin['from']:.0f}–{100 * bin['to']:.0f} %" for bin in shown if not bin["calibrated"]]
    assert last.endswith(f"off in {', '.join(off)}" if off else "or in its interval")
    assert "calibration" not in figures(folder, TEST, "-m", "hmm.npz")
    assert "calibration" not in run(folder, TEST, "-m", "hmm.npz").out
    refused = run(folder, TEST, "--predictions", "tagged.txt", "--calibration")
    assert refused.code == 2 and "--calibration: expected a model" in refused.err
