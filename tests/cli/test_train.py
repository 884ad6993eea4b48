"""`unbraid train`."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.words import words
from unbraid._internal.progress import Event
from unbraid.cli import train as train_module
from unbraid.cli.progress import PlainDisplay
from unbraid.objectives import BetaVAE
from unbraid.training.presets import preset
from unbraid.training.runs import Run


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_every_spec_is_trained_from_every_seed(unbraid, tiny, tmp_path):
    outcome = unbraid(
        "train", *tiny, *words("--objective vae --objective beta-vae --objective.beta 1,4 --seeds 0,2 --out"), tmp_path
    )
    assert outcome.code == 0, outcome.err
    runs = [Run.open(tmp_path / name) for name in names(tmp_path)]
    assert sorted(
        (type(run.spec.objective).__name__, getattr(run.spec.objective, "beta", 1.0), run.seed) for run in runs
    ) == [
        ("BetaVAE", 1.0, 0),
        ("BetaVAE", 1.0, 2),
        ("BetaVAE", 4.0, 0),
        ("BetaVAE", 4.0, 2),
        ("VAE", 1.0, 0),
        ("VAE", 1.0, 2),
    ]
    assert all(run.status == "finished" for run in runs)
    assert "Training 6" in outcome.out
    assert "Encoding the images with " in outcome.out
    assert outcome.out.endswith(f"Score them with: unbraid score {tmp_path}\n")


def test_epochs_and_minutes_set_the_number_of_steps(unbraid, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.training.budgets.seconds_per_step", lambda members, images: 0.1)
    assert unbraid("train", *tiny, "--out", tmp_path / "time", "--minutes", "0.005").code == 0
    assert unbraid("train", *tiny, "--out", tmp_path / "data", "--epochs", "0.5").code == 0
    [by_time, by_data] = [Run.open(next((tmp_path / name).glob("*-seed0"))).spec for name in ("time", "data")]
    assert by_time.num_steps == 3
    assert by_data.num_steps == -(-by_data.dataset.num_images // (2 * by_data.batch_size))
    assert unbraid("train", *tiny, "--out", tmp_path, "--epochs", "1", "--minutes", "1").code == 2


def test_a_finished_run_is_found_not_repeated(unbraid, tiny, tmp_path):
    unbraid("train", *tiny, "--out", tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    outcome = unbraid("train", *tiny, "--out", tmp_path)
    assert outcome.code == 0
    assert "1 of 1" in outcome.out
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_force_says_so_and_keeps_the_old_folder(unbraid, tiny, tmp_path):
    unbraid("train", *tiny, "--out", tmp_path)
    [name] = names(tmp_path)
    outcome = unbraid("train", *tiny, "--out", tmp_path, "--force")
    assert outcome.code == 0
    assert str(tmp_path / ".archived") in outcome.out
    assert Run.open(tmp_path / name).status == "finished"
    assert Run.open(tmp_path / ".archived" / f"{name}-1").status == "finished"


def test_weights_on_the_way_and_the_last_state_are_kept_if_asked_for(unbraid, tiny, tmp_path):
    asked = ("train", *tiny[:-3], "4", *tiny[-2:], "--out", tmp_path)
    assert unbraid(*asked, "--snapshots", "3,1", "--keep-state").code == 0
    [run] = [Run.open(tmp_path / name) for name in names(tmp_path)]
    assert (run.snapshots, run.has_state) == ((1, 3), True)
    again = unbraid(*asked, "--snapshots", "2")
    assert again.code == 0
    assert "step 2" in again.err
    scored = unbraid("score", run.folder, "--metrics", "mig", "--step", "3", "--device", "cpu")
    assert "after 3 steps" in scored.out
    assert [score.scoring for score in run.scores()] == [{"step": 3}]
    refused = unbraid(*asked, "--snapshots", "1,x")
    assert refused.code == 2
    assert "--snapshots is '1,x'" in refused.err


def test_a_spec_that_a_run_wrote_is_trained_from_other_seeds(unbraid, tiny, tmp_path):
    unbraid("train", *tiny, "--objective", "beta-vae:beta=linear:0:7", "--out", tmp_path)
    (first,) = [Run.open(path) for path in tmp_path.iterdir() if not path.name.startswith(".")]
    asked = ("train", "--spec", first.folder / "spec.json", "--out", tmp_path)
    assert unbraid(*asked, "--seeds", "0-1", "--objective.beta", "linear:0:7").code == 0
    assert [Run.open(tmp_path / name).seed for name in names(tmp_path)] == [0, 1]
    assert {Run.open(tmp_path / name).spec for name in names(tmp_path)} == {first.spec}
    refused = unbraid(*asked, "--objective.beta", "5")
    assert refused.code == 2
    assert "--objective.beta 5." in refused.err


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read"),
        ("{", "cannot be read"),
        ("3", "spec.json: spec is 3; expected a RunSpec."),
        ('{"spec": {"type": "unbraid.objectives.VAE"}}', "is not a RunSpec"),
        ('{"spec": {"type": "os.path.join"}}', "'os.path.join' is not a RunSpec"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(unbraid, tmp_path, content, complaint):
    path = tmp_path / "spec.json"
    if content is not None:
        path.write_text(content)
    refused = unbraid("train", "--spec", path, "--out", tmp_path / "runs")
    assert refused.code == 2
    assert complaint in " ".join(refused.err.split())


def test_an_unfinished_run_is_refused_without_a_word_from_the_user(unbraid, tiny, trained):
    unfinished = next(path for path in trained.iterdir() if path.name.startswith("vae"))
    (unfinished / "finished.json").unlink()
    outcome = unbraid("train", *tiny, "--objective", "vae", "--seeds", "0-1", "--out", trained)
    assert outcome.code == 2
    assert "--resume" in outcome.err
    assert "--force" in outcome.err
    assert unbraid("train", *tiny, "--objective", "vae", "--seeds", "0-1", "--out", trained, "--resume").code == 0
    assert Run.open(unfinished).status == "finished"


def test_resume_alone_goes_on_with_all_that_is_unfinished(unbraid, trained):
    folders = sorted(trained.iterdir())
    for folder in folders[:3]:
        (folder / "finished.json").unlink()
    outcome = unbraid("train", "--resume", "--out", trained)
    assert outcome.code == 0, outcome.err
    assert [Run.open(folder).status for folder in folders] == ["finished"] * 4
    assert folders[3].name not in outcome.out


def test_resume_with_nothing_to_resume_says_so(unbraid, trained):
    outcome = unbraid("train", "--resume", "--out", trained)
    assert (outcome.code, outcome.out.count("\n")) == (0, 1)
    assert f"nothing to resume: {trained}" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--resume", "--force"], "--resume and --force"),
        (["--resume", "--out", "nowhere"], "folder nowhere"),
        (["--resume", "--seeds", "0-3"], "--dataset"),
        (["--seeds", "5-2", "--dataset", "dsprites"], "2-5"),
        (["--device", "abacus", "--dataset", "dsprites"], "'auto', 'cpu', 'cuda'"),
        (["--dataset", "dsprites", "--objective.beta", "abc"], "--objective.beta is 'abc'"),
        (["--dataset", "dsprites", "--out", "file"], "--out is file"),
        (["--dataset", "from-arrays", "--dataset.path", "gone.npz"], "gone.npz"),
        (["--dataset", "dsprites", "--dataset.resolution", "8", "--model.encoder", "conv"], "16 to 256 pixels"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    outcome = unbraid("train", *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert outcome.err.startswith("Error: ")
    assert outcome.err.count("\n") == 1
    assert names(tmp_path) == ["file"]


def test_a_folder_that_cannot_be_made_is_told_in_a_line(unbraid, tiny):
    outcome = unbraid("train", *tiny, "--out", "/dev/null/runs")
    assert outcome.code in (1, 2)
    assert outcome.err.startswith("Error: ")
    assert outcome.err.count("\n") == 1


def test_a_run_that_fails_is_a_failure(unbraid, tiny, tmp_path):
    outcome = unbraid("train", *tiny, "--optimizer.learning-rate", "0.001,1e38", "--out", tmp_path)
    assert outcome.code == 1
    [failed] = [run for name in names(tmp_path) if (run := Run.open(tmp_path / name)).status == "failed"]
    assert f"1 of 2 runs failed. The failed run is {failed.folder}: " in outcome.err
    assert (
        f"at step 2; its last good weights are in {failed.folder / 'checkpoints' / 'last-good-0000000001.safetensors'}."
        in outcome.err
    )
    assert "--optimizer.learning-rate" in outcome.err
    assert "Traceback" not in outcome.err
    assert "step 2" in unbraid("runs", tmp_path).out


def test_a_loss_above_the_bound_is_a_failure(unbraid, tiny, tmp_path):
    outcome = unbraid("train", *tiny, "--max-loss", "1e-3", "--out", tmp_path)
    assert outcome.code == 1
    assert "above max_loss (0.001)" in outcome.err


def test_the_plan_is_printed_before_training(unbraid, tiny, tmp_path):
    lines = unbraid("train", *tiny, "--seeds", "0-2", "--out", tmp_path).out.splitlines()
    plan = next(number for number, line in enumerate(lines) if line.startswith("Plan: 3 models, 2 steps each, on cpu."))
    assert lines[plan + 1] == "Training 3 models side by side for 2 steps ..."


def test_stopped_and_resumed_a_run_has_the_weights_of_an_undisturbed_one(unbraid, tiny, tmp_path, monkeypatch):
    steps = [*tiny[:-4], "--steps", "6", "--device", "cpu"]
    assert unbraid("train", *steps, "--out", tmp_path / "undisturbed").code == 0

    def interrupt(display: object, event: Event) -> None:
        if event.about == "training" and event.done == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(PlainDisplay, "__call__", interrupt)
        stopped = unbraid("train", *steps, "--out", tmp_path / "stopped")
    assert stopped.code == 1
    assert stopped.err.startswith(
        "Error: Stopped by a signal at step 3 of 6 with a checkpoint. Resume with the same command and --resume"
    )
    assert "unfinished" in unbraid("runs", tmp_path / "stopped").out

    assert unbraid("train", "--resume", "--out", tmp_path / "stopped").code == 0
    [name] = names(tmp_path / "stopped")
    for file in ("weights.safetensors", "history.csv"):
        assert (tmp_path / "stopped" / name / file).read_bytes() == (
            tmp_path / "undisturbed" / name / file
        ).read_bytes()


@pytest.mark.slow
def test_a_signal_from_outside_stops_training_with_a_checkpoint_and_no_traceback(tiny, tmp_path):
    command = [
        sys.executable,
        "-m",
        "unbraid",
        "train",
        *tiny[:-4],
        *words("--steps 1000000 --device cpu --out"),
        str(tmp_path),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    while "Training 1 model" not in process.stdout.readline():
        assert process.poll() is None, process.communicate()
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.startswith("Error: Stopped by a signal at step ")
    assert err.count("\n") == 1
    [name] = names(tmp_path)
    assert list((tmp_path / name / "checkpoints").iterdir())


def test_a_run_that_failed_before_is_told_and_not_repeated(unbraid, tiny, tmp_path):
    unbraid("train", *tiny, "--optimizer.learning-rate", "0.001,1e38", "--out", tmp_path)
    outcome = unbraid("train", *tiny, "--optimizer.learning-rate", "0.001,1e38", "--out", tmp_path)
    assert outcome.code == 1
    assert "1 of 2" in outcome.err
    assert "Drawing or reading" not in outcome.out


def test_a_named_starting_point_is_trained_and_flags_change_it(unbraid, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(train_module, "train_with_progress", lambda runs, *_, **__: asked.extend(runs))
    monkeypatch.setattr(train_module, "raise_for_failures", lambda runs: None)
    told = unbraid(
        "train", "--preset", "beta-vae-sprites", "--steps", "5", "--objective.beta", "1,2", "--out", tmp_path
    )
    assert told.code == 0, told.err
    expected = [replace(preset("beta-vae-sprites"), num_steps=5, objective=BetaVAE(beta)) for beta in (1.0, 2.0)]
    assert [run.spec for run in asked] == expected


def test_a_starting_point_that_is_none_or_one_beside_a_spec_is_refused(unbraid, tmp_path):
    refused = unbraid("train", "--preset", "infogan-sprite", "--out", tmp_path)
    assert refused.code == 2
    assert "'infogan-sprites'?" in " ".join(refused.err.split())
    both = unbraid("train", "--preset", "infogan-sprites", "--spec", tmp_path / "spec.json", "--out", tmp_path)
    assert both.code == 2
    assert "--preset infogan-sprites" in " ".join(both.err.split())


def test_the_number_of_processes_reaches_training(unbraid, tiny, tmp_path):
    assert unbraid("train", *tiny, *words("--seeds 0,1 --workers 1 --out"), tmp_path).code == 0
    runs = [Run.open(tmp_path / name) for name in names(tmp_path)]
    assert [run.environments[0]["threads"] for run in runs] == [1, 1]
    assert unbraid("train", *tiny, "--workers", "-1", "--out", tmp_path).code == 2
