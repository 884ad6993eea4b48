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
from unbraid.runs import grid
from unbraid.studies import Setting, Study, StudyOptions, collect, run_study
from unbraid.studies.plan import plan_study

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
    assert plan_study(STUDY, out).those_that_need("nothing") == [
        each for fleet in plan_study(STUDY, out).fleets for each in fleet.runs
    ]
    assert not list(out.rglob("*.safetensors"))
    run_study(STUDY, tmp_path / "whole", StudyOptions("cpu", num_scorers=0, packages=("tests",)))
    assert values(out) == values(tmp_path / "whole")
