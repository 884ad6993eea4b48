"""Runs by the folders that hold them."""

import re
import shutil
from dataclasses import replace

import pytest

from unbraid.cli.runs import open_runs, select_finished, select_with_model
from unbraid.datasets import MNIST, DSprites, FromFolder
from unbraid.errors import DataError, RunError, UnbraidError
from unbraid.objectives import VAE, BetaVAE
from unbraid.training.runs import Run, RunSpec
from unbraid.training.runs.run_writer import RunWriter


def test_runs_are_found_at_any_depth_but_not_where_they_were_put_aside(trained, tmp_path):
    first, *others = sorted(trained.iterdir())
    shutil.move(first, trained / "deep" / "deeper" / first.name)
    shutil.move(others[0], trained / ".archived" / others[0].name)
    assert {run.name for run in open_runs([tmp_path])} == {first.name, others[1].name, others[2].name}


def test_a_run_named_twice_is_opened_once(trained):
    first = min(trained.iterdir())
    assert len(open_runs([trained, first, trained / "." / first.name])) == 4


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RunError, match="folder .*nowhere"):
        open_runs([tmp_path / "nowhere"])


def test_a_broken_run_is_passed_over_if_found_and_refused_if_named(trained, capsys):
    broken = min(trained.iterdir())
    (broken / "spec.json").write_text("{")
    assert len(open_runs([trained])) == 3
    assert f"{broken} is skipped" in capsys.readouterr().err
    with pytest.raises(UnbraidError, match="spec.json"):
        open_runs([broken])


def test_the_unfinished_are_left_out_with_a_note(trained, capsys):
    runs = open_runs([trained])
    (runs[0].folder / "finished.json").unlink()
    assert select_finished(runs, "score") == runs[1:]
    assert f"1 of 4 runs: {runs[0].name} is unfinished." in capsys.readouterr().err


def test_nothing_finished_is_refused_with_a_way_out(trained):
    runs = open_runs([trained])
    for run in runs:
        (run.folder / "finished.json").unlink()
    with pytest.raises(
        RunError,
        match="train --resume --out",
    ):
        select_finished(runs, "score")
    with pytest.raises(RunError, match="spec.json"):
        select_finished([], "score")


def test_a_run_whose_spec_is_a_link_to_nowhere_is_passed_over_by_name(tmp_path, capsys):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "spec.json").symlink_to(tmp_path / "gone.json")
    assert open_runs([tmp_path]) == []
    assert f"skipped: {tmp_path / 'odd' / 'spec.json'} cannot be read" in capsys.readouterr().err
    with pytest.raises(RunError, match=r"spec\.json cannot"):
        open_runs([tmp_path / "odd"])


def test_kin_come_together_with_weights_and_seeds_ascending(tmp_path):
    spec = RunSpec(DSprites(num_positions=4), objective=VAE())
    for objective, seed in [(BetaVAE(16.0), 0), (BetaVAE(4.0), 10), (BetaVAE(4.0), 2), (VAE(), 3)]:
        RunWriter(Run.place(tmp_path, replace(spec, objective=objective), seed)).begin()
    found = open_runs([tmp_path])
    assert [(run.spec.objective, run.seed) for run in found] == [
        (BetaVAE(4.0), 2),
        (BetaVAE(4.0), 10),
        (BetaVAE(16.0), 0),
        (VAE(), 3),
    ]


def test_a_file_where_a_folder_was_expected_is_called_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    (tmp_path / "runs").write_text("not a folder")
    with pytest.raises(RunError, match="folder of runs"):
        open_runs([tmp_path / "runs"])
    with pytest.raises(RunError, match="runs"):
        Run.open(tmp_path / "runs")
    with pytest.raises(DataError, match="runs"):
        _ = FromFolder(str(tmp_path / "runs")).num_images
    with pytest.raises(DataError, match="--dataset.root"):
        MNIST(root=str(tmp_path / "runs")).open()
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "runs"))
    with pytest.raises(DataError, match="UNBRAID_DATA"):
        MNIST().open()


def test_runs_whose_weights_were_let_go_are_left_out_with_a_note(trained, capsys):
    runs = open_runs([trained])
    RunWriter(runs[0]).remove_arrays()
    assert select_with_model(runs, "explore") == runs[1:]
    note = capsys.readouterr().err
    assert "1 of 4" in note
    assert runs[0].name in note


def test_runs_of_which_scores_alone_are_left_are_refused_with_a_way_out(trained):
    runs = open_runs([trained])
    for run in runs:
        RunWriter(run).remove_arrays()
    with pytest.raises(RunError, match=f"{runs[0].name} and of all.* --force"):
        select_with_model(runs, "explore")
    with pytest.raises(RunError, match=rf"{runs[0].name}\."):
        select_with_model(runs[:1], "explore")


@pytest.mark.parametrize("command", ["score", "report", "explore", "diagnose"])
def test_one_run_without_weights_does_not_stop_a_folder(unbraid, trained, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    RunWriter(open_runs([trained])[0]).remove_arrays()
    outcome = unbraid(command, trained, *(["--metric", "mig"] if command == "score" else []))
    assert outcome.code == 0, outcome.err
    assert re.search("1 of 4", outcome.err)
