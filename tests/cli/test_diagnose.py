"""`unbraid diagnose`."""

import json
import shutil

import pytest

from tests.training.runs.finished_runs import fail
from unbraid.training.runs import Run

pytestmark = pytest.mark.slow


def test_findings_are_printed(unbraid, trained):
    run = sorted(trained.iterdir())[0]
    outcome = unbraid("diagnose", run)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(f"{run} (beta-tcvae")
    assert "What to try" in outcome.out
    assert "checks with findings" not in outcome.out  # one run needs no summary
    kept = json.loads(unbraid("diagnose", run, "--json").out)
    assert list(kept) == [run.name]
    beta = next(finding for finding in kept[run.name]["findings"] if finding["check"] == "effective beta")
    assert beta["numbers"]["beta"] > 0


def test_json_is_printed_for_programs(unbraid, trained):
    outcome = unbraid("diagnose", trained, "--json", "--images", 16)
    assert outcome.code == 0, outcome.err
    assert list(json.loads(outcome.out)) == [run.name for run in sorted(trained.iterdir())]


def test_several_runs_are_summed_up_in_a_table(unbraid, trained):
    outcome = unbraid("diagnose", trained, "--images", 16)
    table = outcome.out[outcome.out.index("checks with findings") :].splitlines()[1:]
    assert [line.split()[0] for line in table] == [run.name for run in sorted(trained.iterdir())]
    assert all("without a latent" in line for line in table)


def test_runs_of_one_name_are_told_apart_by_their_folders(unbraid, trained, tmp_path):
    first, second, *_ = sorted(trained.iterdir())
    copy = shutil.copytree(first, tmp_path / "other" / first.name)
    outcome = unbraid("diagnose", first, second, copy, "--json", "--images", 16)
    assert list(json.loads(outcome.out)) == [str(first), second.name, str(copy)]
    said = unbraid("diagnose", first, copy, "--images", 16).out
    assert f"{first} (beta-tcvae" in said
    assert f"{copy} (beta-tcvae" in said


def test_a_damaged_run_does_not_stop_the_others(unbraid, trained):
    damaged = sorted(trained.iterdir())[1]
    (damaged / "weights.safetensors").unlink()
    outcome = unbraid("diagnose", trained, "--json", "--images", 16)
    assert (outcome.code, len(json.loads(outcome.out))) == (1, 3)
    assert f"{damaged} could not be diagnosed: " in outcome.err
    assert "weights.safetensors is missing" in outcome.err
    alone = unbraid("diagnose", damaged)
    assert (alone.code, "weights.safetensors is missing" in alone.err) == (2, True)


def test_a_run_that_failed_is_diagnosed_too(unbraid, trained):
    runs = [Run.open(folder) for folder in sorted(trained.iterdir())]
    (runs[0].folder / "finished.json").unlink()
    fail(runs[0], 2, "the loss was not finite")
    outcome = unbraid("diagnose", trained, "--images", 16)
    assert outcome.code == 0, outcome.err
    assert "2 of 2" in outcome.out
    assert "Skipped" not in outcome.err
    for run in runs[1:]:
        (run.folder / "finished.json").unlink()
    outcome = unbraid("diagnose", trained)
    assert (outcome.code, "3 of 4" in outcome.err) == (0, True)
    assert "max_gradient_norm=1" in outcome.out


def test_a_folder_without_runs_is_refused(unbraid, tmp_path):
    outcome = unbraid("diagnose", tmp_path)
    assert (outcome.code, "nothing to diagnose" in outcome.err) == (2, True)
