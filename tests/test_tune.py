"""The search for settings: the walk, the trainings it compares, and `train-crf --tune`."""

import re
import signal
import sys
import time
from dataclasses import replace

import numpy as np
import program
import pytest
from paths import TEST, TRAIN

from tagger import CRFTagger, load_model, read_corpus, write_corpus
from tagger.experiments.crossval import fold_numbers
from tagger.experiments.search import MIN_L1, MIN_L2, Search, Setting, Trial, neighbour
from tagger.experiments.trials import FOLDS, SettingTrials

START = Setting(l2=0.25, l1=0.0, min_count=1)


# The walk


def search(worth):
    """A search where a setting is worth what the function says; and what was asked, in its order."""
    asked = []

    def judge(setting):
        asked.append(setting)
        return Trial(setting, worth(setting), 0)

    return Search(judge), asked


def hill(setting):
    """Highest at l2 = 2, l1 = 1/8, min_count = 3; the heights of l2 and l1 hang together."""
    x, y = np.log2(setting.l2), np.log2(max(setting.l1, MIN_L1 / 2))
    return -((x - 1) ** 2) - (y + 3) ** 2 - 0.3 * (x - 1) * (y + 3) - (setting.min_count - 3) ** 2


def test_the_walk_climbs_the_hill_and_tries_nothing_twice():
    walk, asked = search(hill)
    best = walk.run(START)
    assert best.setting == Setting(2.0, 0.125, 3) and walk.best == best
    assert len(asked) == len(set(asked)) < 40 and asked == list(walk.trials)


def test_a_single_bad_step_does_not_end_the_walk_and_two_do():
    worth = {0.25: 1, 0.5: 0, 1.0: 2, 2.0: 0, 4.0: 0, 8.0: 9}
    walk, asked = search(lambda setting: worth.get(setting.l2, -1) - setting.l1 - setting.min_count)
    assert walk.run(START).setting == Setting(1.0, 0.0, 1)
    assert 8.0 not in {setting.l2 for setting in asked}


def test_where_nothing_makes_a_difference_the_start_is_kept():
    walk, asked = search(lambda setting: 0.5)
    assert walk.run(START).setting == START
    assert len(asked) == 1 + 2 + 2 + 2 + 2  # two steps each: l2 up and down, l1 up, min_count up


def test_steps_have_an_end_below_and_none_above():
    down = [START]
    while found := neighbour(down[-1], "l2", up=False):
        down.append(found)
    assert [setting.l2 for setting in down] == [0.25, 0.125, 0.0625, 0.03125, MIN_L2]
    assert neighbour(replace(START, l2=0.0), "l2", up=True).l2 == MIN_L2
    assert neighbour(replace(START, l2=0.0), "l2", up=False) is None
    assert neighbour(START, "l1", up=True).l1 == MIN_L1 and neighbour(START, "l1", up=False) is None
    assert neighbour(replace(START, l1=MIN_L1), "l1", up=False).l1 == 0
    assert neighbour(START, "min_count", up=False) is None and neighbour(START, "min_count", up=True).min_count == 2


# The trainings


@pytest.fixture(scope="module")
def corpus():
    """Every tag is in every fold's training part, or the tag sets would differ."""
    sentences = read_corpus(TRAIN)[:60]
    often = {"NN", "DT", "IN", "PRP", "VBD", ".", "RB", "JJ"}
    return [sentence.with_tags([tag if tag in often else "X" for tag in sentence.tags]) for sentence in sentences]


EXACT = {"tolerance": 1e-7, "max_iterations": 300, "features": "comparison"}


@pytest.fixture
def whole_sentences(monkeypatch):
    """No sentence loses its final mark: which ones do depends on the corpus, and a fold is another one."""
    monkeypatch.setattr("tagger.corpus.final_marks.SHARE", 0.0)


@pytest.mark.usefixtures("whole_sentences")
@pytest.mark.parametrize("setting", [Setting(0.5, 0.0, 1), Setting(0.5, 0.0, 3), Setting(0.1, 0.3, 2)])
def test_a_trial_of_a_fold_is_a_training_without_its_sentences(corpus, setting):
    rehearsal = SettingTrials(CRFTagger(**EXACT), corpus)
    numbers = fold_numbers(corpus, FOLDS, 0)
    rest = [sentence for sentence, number in zip(corpus, numbers, strict=True) if number != 2]
    alone = CRFTagger(**EXACT | vars(setting)).fit(rest)
    found = rehearsal.train(setting, 2)
    assert found.loss == pytest.approx(alone.summary_["loss"], rel=1e-4)
    kept = rehearsal.parameters.kept(rehearsal.counts[2], setting.min_count, rehearsal.model.min_pair_count)
    assert kept.sum() == alone.summary_["parameters"] and not found.x[~kept].any()
    rehearsal.model.set_weights(rehearsal.layout.split(found.x))
    held = rehearsal.test_sets[2]
    same = [a == b for a, b in zip(rehearsal.model.predict(held), alone.predict(held), strict=True)]
    assert np.mean(same) > 0.9


@pytest.mark.usefixtures("whole_sentences")
def test_parts_of_tags_are_held_at_zero_like_tags(corpus):
    joined = {"NN": "N+S", "DT": "D+S", "PRP": "P+S", "VBD": "V+P", "X": "X+P"}
    sentences = [sentence.with_tags([joined.get(tag, tag) for tag in sentence.tags]) for sentence in corpus]
    rehearsal = SettingTrials(CRFTagger(**EXACT), sentences)
    assert rehearsal.model.tag_parts_.names
    numbers = fold_numbers(sentences, FOLDS, 0)
    rest = [sentence for sentence, number in zip(sentences, numbers, strict=True) if number != 0]
    alone = CRFTagger(**EXACT | {"min_count": 2}).fit(rest)
    assert (
        rehearsal.parameters.kept(rehearsal.counts[0], 2, rehearsal.model.min_pair_count).sum()
        == alone.summary_["parameters"]
    )
    assert rehearsal.train(Setting(0.25, 0.0, 2), 0).loss == pytest.approx(alone.summary_["loss"], rel=1e-4)


def test_a_warm_start_ends_where_a_cold_one_does(corpus):
    cold, warm = (SettingTrials(CRFTagger(**EXACT), corpus, dev=corpus[:20]) for _ in range(2))
    warm.evaluate(Setting(0.25, 0.0, 1))
    setting = Setting(0.5, 0.1, 2)
    assert warm.train(setting, None).loss == pytest.approx(cold.train(setting, None).loss, rel=1e-4)


def test_the_model_of_a_search_is_described_like_the_given_one(corpus):
    model = CRFTagger(**EXACT)
    model.column_, model.tokenizer_ = "xpos", "chinese"
    tried = SettingTrials(model, corpus, dev=corpus[:20]).model
    assert (tried.column_, tried.tokenizer_) == ("xpos", "chinese")


def test_every_fold_judges_its_own_sentences_once(corpus):
    judges = SettingTrials(CRFTagger(**EXACT), corpus).test_sets
    assert sorted(id(s) for own in judges.values() for s in own) == sorted(map(id, corpus))


def test_no_fold_begins_with_the_weights_of_another(corpus, monkeypatch):
    rehearsal = SettingTrials(CRFTagger(max_iterations=3), corpus)
    rehearsal.evaluate(Setting(0.25, 0.0, 1))
    begun = []
    monkeypatch.setattr(rehearsal.likelihood.__class__, "curvature", lambda self, weights: begun.append(weights) or 1.0)
    for fold in range(FOLDS):
        rehearsal.train(Setting(0.5, 0.0, 1), fold)
    for fold, weights in enumerate(begun):
        assert np.array_equal(weights, rehearsal.results[fold].x)
        assert not any(np.array_equal(weights, rehearsal.results[other].x) for other in range(FOLDS) if other != fold)


def test_a_model_to_go_on_from_keeps_its_features(corpus):
    old = CRFTagger(max_iterations=20).fit(corpus[:50])
    rehearsal = SettingTrials(CRFTagger(max_iterations=20), corpus[50:], dev=corpus[:20], init=old)
    kept = rehearsal.parameters.kept(rehearsal.counts[None], 1000, rehearsal.model.min_pair_count)
    assert kept[rehearsal.layout.centre != 0].all() and not kept.all()
    assert rehearsal.evaluate(Setting(0.5, 0.0, 1)).score > 0.9


# The command


@pytest.fixture(scope="module")
def dev(tmp_path_factory):
    """A dev set on which searches take little time, beside a training set."""
    folder = tmp_path_factory.mktemp("parts")
    write_corpus(folder / "train.txt", read_corpus(TRAIN)[:150])
    write_corpus(folder / "dev.txt", read_corpus(TEST)[:50])
    return folder / "dev.txt"


@pytest.fixture(scope="module")
def train(dev):
    return ["train-crf", dev.with_name("train.txt"), "--features", "comparison"]


def run(folder, *words):
    done = program.run(folder, *words)
    assert "Traceback" not in done.err and "Warning" not in done.err
    return done


def test_the_model_is_the_one_that_the_settings_found_give(tmp_path, train, dev):
    train = [*train, "--dev", dev, "--max-iterations", 15]
    done = run(tmp_path, *train, "--tune")
    assert done.code == 0, done.err
    rows = [line.split() for line in done.err.splitlines() if line.endswith(" %") and "best" not in line]
    best = max(rows, key=lambda row: float(row[4]))
    options = f"--l2 {best[0]} --l1 {best[1]} --min-count {best[2]}"
    assert f"best of {len(rows)}: {options}, {best[4]} %" in done.err
    assert run(tmp_path, *train, *options.split(), "-q", "-o", "plain.npz").err == ""
    tuned, plain = load_model(tmp_path / "model.npz"), load_model(tmp_path / "plain.npz")
    assert tuned.get_params() == plain.get_params()
    assert all(np.array_equal(a, plain.arrays()[name]) for name, a in tuned.arrays().items())
    assert tuned.summary_ == plain.summary_ | {"settings_tried": len(rows)}


def test_without_a_dev_set_the_folds_judge(tmp_path):
    write_corpus(tmp_path / "small.txt", read_corpus(TEST)[:20])
    done = program.run(tmp_path, "train-crf", "small.txt", "--tune", "--features", "comparison", "--max-iterations", 3)
    assert done.code == 0 and "5-fold" in done.err
    assert "dev accuracy" not in done.err and (tmp_path / "model.npz").exists()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--tune", "--resume"], "--resume"),
        (["--tune", "--partial"], "--dev"),
        (["--tune", "--patience", "3"], "--dev"),
    ],
)
def test_what_makes_no_sense_together_is_wrong_usage(tmp_path, train, options, message):
    done = run(tmp_path, *train, *options)
    assert done.code == 2 and message in done.err


def interrupted(folder, number, after, *words):
    """A search that gets a signal when so many settings have been tried; what it says, and its exit code."""
    process = program.start(folder, *words, "--tune", text=True)
    said = []
    while sum(line.endswith(" %\n") for line in said) < after:
        said.append(process.stderr.readline())
        assert said[-1], said
    time.sleep(0.05)
    process.send_signal(number)
    rest = process.communicate(timeout=60)[1]
    return "".join(said) + rest, process.returncode


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_search_by_a_dev_set_saves_the_best_so_far(tmp_path, train, dev, number, code):
    options = ["--dev", dev, "--tolerance", 0, "--max-iterations", 60]
    said, status = interrupted(tmp_path, number, 2, *train, *options)
    assert status == code and "best of 2: " in said and "model.npz" in said
    model = load_model(tmp_path / "model.npz")
    rows = [float(line.split()[4]) for line in said.splitlines() if line.endswith(" %") and "best" not in line]
    assert f"{100 * model.score(read_corpus(dev)):.2f}" == f"{max(rows):.2f}"
    assert model.summary_["settings_tried"] == 2 and list(tmp_path.iterdir()) == [tmp_path / "model.npz"]


def test_an_interrupted_cross_validation_tells_the_best_settings(tmp_path, train):
    said, status = interrupted(tmp_path, signal.SIGINT, 1, *train, "--max-iterations", 20)
    assert status == 130 and "best of 1: --l2 0.25 --l1 0 --min-count 1" in said
    assert list(tmp_path.iterdir()) == []


HOOKED = """
import os, signal, sys
from tagger import CRFTagger
from tagger.cli import main
fit = CRFTagger.fit
def hooked(self, *args, watch, **more):
    def hook(progress):
        if progress.iteration == {iteration}:
            {action}
        return watch(progress)
    return fit(self, *args, watch=hook, **more)
CRFTagger.fit = hooked
main()
"""


def hooked(folder, iteration, action, *words):
    """A search after which something happens in the training."""
    code = HOOKED.format(iteration=iteration, action=action)
    return program.run_process(folder, *words, "--tune", command=[sys.executable, "-c", code])


def test_interrupted_while_training_after_the_search_the_better_model_is_saved(tmp_path, train, dev):
    """The last training has hardly begun: what the search has found is better."""
    options = ["--dev", dev, "--max-iterations", 10]
    done = hooked(tmp_path, 1, "os.kill(os.getpid(), signal.SIGINT)", *train, *options)
    assert done.code == 130, done.err
    assert load_model(tmp_path / "model.npz").score(read_corpus(dev)) > 0.7


def test_killed_while_training_after_the_search_it_can_be_resumed_with_the_settings_found(tmp_path, train, dev):
    options = ["--dev", dev, "--max-iterations", 12]
    done = hooked(tmp_path, 11, "os._exit(9)", *train, *options)
    assert done.code == 9 and [path.name for path in tmp_path.iterdir()] == ["model.npz.checkpoint"]
    best = re.search(r"best of \d+: (--l2 \S+ --l1 \S+ --min-count \d+),", done.err)[1]
    resumed = run(tmp_path, *train, *options, *best.split(), "--resume", "--log", "log")
    assert resumed.code == 0 and (tmp_path / "log").read_text().startswith('{"iteration": 11, ')
