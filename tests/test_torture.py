"""A short version of `scripts/torture.py`: no failures, and judges that would notice one."""

import random
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import judges
import mutations
import torture
import torture_processes

from tagger import CRFTagger, read_corpus

SEED = 1_000_000  # other mutants than those of the long run


def failures(rows):
    return [failure for row in rows for failure in row.failures]


@pytest.mark.parametrize(
    "part, trials", [(torture.torture_models, 96), (torture.torture_corpora, 96), (torture.torture_commands, 3)]
)
def test_mutants_end_in_a_refusal_or_a_correct_result(tmp_path, part, trials):
    rows = list(part(tmp_path, trials, SEED))
    assert failures(rows) == []
    assert all(sum(row.counts.values()) >= 3 for row in rows)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return torture_processes.prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def home(prepared, tmp_path):
    return Path(shutil.copytree(prepared, tmp_path / "home"))


@pytest.fixture
def model(home):
    return CRFTagger(max_iterations=3).fit(read_corpus(home / "train.txt"))


def test_death_harms_no_file(home, model):
    rows = list(torture_processes.kill_rows(home, 2, SEED, torture.Row, model))
    assert failures(rows) == []
    assert len(rows) == 3 and all(row.counts[judges.CORRECT] == 2 for row in rows)


def test_signals_harm_no_file(home):
    row = torture_processes.signal_row(home, 3, SEED // 3 * 3, torture.Row)
    assert row.failures == [] and sum(row.counts.values()) == 3


def test_full_disks_harm_no_file(tmp_path, home, model):
    rows = list(torture_processes.disk_rows(tmp_path, home, 3, torture.Row, model))
    assert failures(rows) == []
    assert sum(row.counts[judges.REFUSED] for row in rows) > 5


def test_the_same_seed_makes_the_same_mutant(tmp_path):
    models = torture.good_models(tmp_path)
    for mutate in mutations.MODEL_MUTATIONS.values():
        assert mutate(random.Random(5), models["hmm 0"]) == mutate(random.Random(5), models["hmm 0"])


def test_a_judge_notices_what_is_wrong(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    path.write_bytes(b"no model")
    assert judges.judge_model(path) == judges.REFUSED
    monkeypatch.setattr(judges, "load_model", lambda path: 1 / 0)
    row = torture.Row("models")
    row.add(lambda: judges.judge_model(path), 1)
    assert len(row.failures) == 1 and "ZeroDivisionError" in row.failures[0]


@pytest.mark.parametrize("message", ["no place in it", "file\nname", "name \x1b[2J", "name" * 1000])
def test_a_message_must_be_one_harmless_line_with_a_place(message):
    with pytest.raises(AssertionError):
        judges.check_message(message, "name")


def test_litter_and_half_written_files_are_noticed(home):
    torture_processes.check_folder(home)
    (home / "tmp").write_text("")
    with pytest.raises(AssertionError, match="litter"):
        torture_processes.check_folder(home)
    (home / "tmp").unlink()
    (home / ".tagger-1.tmp").write_text("")
    with pytest.raises(zipfile.BadZipFile):
        torture_processes.check_folder(home)
    (home / ".tagger-1.tmp").unlink()
    (home / "out.txt").write_bytes((home / "done.txt").read_bytes()[:1000])
    with pytest.raises(AssertionError, match="half-written"):
        torture_processes.check_folder(home)
