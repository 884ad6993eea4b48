"""A study that is killed again and again: the same command finishes it, with the scores of one that never was."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.squares import MLP_SPEC
from unbraid import BetaVAE
from unbraid.studies import Setting, Study, StudyOptions, collect, run_study
from unbraid.studies.plan import plan_study
from unbraid.training.runs import grid

SPEC = replace(MLP_SPEC, objective=BetaVAE(), num_steps=30, precision="float32")
STUDY = Study(
    "killed",
    Setting.each(grid(SPEC, {"objective.beta": [1, 4]}), range(2)),
    metrics=("mig", "sap"),
    keep="scores",
    members_per_fleet=2,
)
ROOT = Path(__file__).parents[2]


def values(folder):
    scores = collect(STUDY, folder)
    return {(s.label, m): scores.values(s.label, m) for s in STUDY.settings for m in ("mig", "sap")}


@pytest.mark.slow
def test_the_same_command_finishes_it(tmp_path):
    file, out = STUDY.save(tmp_path / "study.json"), tmp_path / "runs"
    command = [sys.executable, "-m", "unbraid", "study", "run", str(file), "--out", str(out)]
    command += ["--device", "cpu", "--packages", "tests", "--scorers", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    for num_finished, number in ((0, signal.SIGKILL), (1, signal.SIGTERM), (3, signal.SIGKILL)):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(out.glob("*/finished.json"))) <= num_finished:
            time.sleep(0.01)
        process.send_signal(number)
        process.wait()
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
    assert plan_study(STUDY, out).runs_that_need("nothing") == [
        each for fleet in plan_study(STUDY, out).fleets for each in fleet.runs
    ]
    assert not list(out.rglob("*.safetensors"))
    run_study(STUDY, tmp_path / "whole", StudyOptions("cpu", num_scorers=0, packages=("tests",)))
    assert values(out) == values(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_workers_that_are_stopped_save_checkpoints_and_the_same_command_goes_on(number, tmp_path):
    study = replace(
        STUDY,
        name="stopped",
        settings=Setting.each(grid(replace(SPEC, num_steps=20_000), {"objective.beta": [1, 4]}), [0]),
    )
    study = replace(study, members_per_fleet=1, threads=1)
    file, out = study.save(tmp_path / "study.json"), tmp_path / "runs"
    command = [sys.executable, "-P", "-m", "unbraid", "study", "run", str(file), "--out", str(out)]
    command += ["--device", "cpu", "--packages", "tests", "--scorers", "1", "--workers", "2"]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + 300
    while len(list(out.glob("*/environment.json"))) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(number)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert not list(out.glob("*/finished.json"))
    assert len(list(out.glob("*/checkpoints/*.json"))) == 2
    assert "Traceback" not in said
    assert "--resume" not in said
