"""A training writes each file of a run whole, and takes no run for another."""

import shutil
from dataclasses import replace

import pytest

from tests.training.runs.finished_runs import SPEC
from tests.training.squares import everything
from unbraid.errors import RunError
from unbraid.objectives import VAE
from unbraid.training.runs import Run
from unbraid.training.runs.run_writer import RunWriter


def test_the_log_grows_by_lines_that_begin_with_the_time_and_a_torn_one_keeps_to_itself(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).log("one")
    before = (run.folder / "log.txt").stat().st_ino
    RunWriter(run).log("two")
    with (run.folder / "log.txt").open("a") as stream:
        stream.write("2026-11-15T12:00:00+00:00 half a li")
    RunWriter(run).log("three")
    lines = (run.folder / "log.txt").read_text().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["one", "two", "half a li", "three"]
    assert all(line.partition(" ")[0].endswith("+00:00") for line in lines)
    assert (run.folder / "log.txt").stat().st_ino == before  # it is not written anew


def test_beginning_again_changes_nothing(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    before = everything(run.folder)
    RunWriter(run).begin()
    assert everything(run.folder) == before


def test_a_log_that_is_no_text_still_grows(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    (run.folder / "log.txt").write_bytes(b"\xff\xfe\n")
    RunWriter(run).log("on")
    assert (run.folder / "log.txt").read_bytes().endswith(b" on\n")


@pytest.mark.parametrize(
    "content", ['{"fleet": 3}', '{"fleet": [3]}', '{"reason": 3, "fleet": []}', "[]", "{", "[" * 900]
)
def test_what_is_kept_and_makes_no_sense_is_not_concluded(tmp_path, content):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    (run.folder / "kept.json").write_text(content)
    assert not RunWriter(run).can_conclude


def test_beginning_removes_half_written_files_and_nothing_else(finished):
    before = everything(finished.folder)
    (finished.folder / ".history.csv.0123.part").write_text("half")
    (finished.folder / "checkpoints").mkdir()
    (finished.folder / "checkpoints" / ".step-0000000010.json.4567.part").write_text("half")
    RunWriter(finished).begin()
    assert everything(finished.folder) == before


@pytest.mark.parametrize(
    "other", [Run.place, lambda parent, spec, seed: Run.place(parent, replace(spec, batch_size=9), 3)]
)
def test_nor_is_a_run_gone_on_with_under_the_spec_of_another(tmp_path, other):
    run, stranger = Run.place(tmp_path, SPEC, 3), other(tmp_path, SPEC, 4)
    RunWriter(run).begin()
    RunWriter(stranger).begin()
    shutil.copy(stranger.folder / "spec.json", run.folder)
    with pytest.raises(RunError, match=r"spec\.json"):
        RunWriter(run).check_spec()


def test_a_spec_whose_configs_have_a_new_version_is_that_of_another_run(tmp_path, monkeypatch):
    run = Run.place(tmp_path, SPEC, 3)
    with monkeypatch.context() as old:
        old.setattr("unbraid.training.runs.run_writer.__version__", "0.0.9")
        RunWriter(run).begin()
    monkeypatch.setattr(VAE, "config_version", 2, raising=False)
    RunWriter(run).check_spec()
    monkeypatch.setattr(type(SPEC.objective), "config_version", 2, raising=False)
    with pytest.raises(RunError, match=r"unbraid 0\.0\.9"):
        RunWriter(run).check_spec()
