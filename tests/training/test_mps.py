"""MPS has no float64: what needs it is computed on the CPU. There is no MPS here, so a pretended device stands in."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.squares import MLP_SPEC
from unbraid._internal import device as devices
from unbraid._internal.device import resolve_device, wide_device, widest
from unbraid.errors import SpecError
from unbraid.training import train
from unbraid.training.runs import Run

ROOT = Path(__file__).parents[2]
MPS = torch.device("mps")


@pytest.mark.slow
def test_no_objective_has_a_float64_tensor_on_the_device_in_training_or_encoding():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.training.pretend_device"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] > 20
    assert found["wrong"] == {}


def test_mps_is_a_device_where_torch_has_it(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert resolve_device("mps") == MPS
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(SpecError, match="'mps'.*'cpu'"):
        resolve_device("mps")


def test_float64_is_on_the_cpu_where_the_device_has_none():
    assert [wide_device(torch.device(name)).type for name in ("mps", "cpu", "cuda")] == ["cpu", "cpu", "cuda"]
    assert widest(torch.ones(2)).dtype == torch.float64


def test_a_run_in_float64_is_refused_before_a_folder_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(SpecError, match="'float64'.*'float32'"):
        train(MLP_SPEC, folder=tmp_path, device="mps", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_scores_are_computed_on_the_cpu(tmp_path, monkeypatch):
    (run,) = train(replace(MLP_SPEC, num_steps=2), folder=tmp_path, device="cpu", progress=False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert run.codes(device="mps").mean.device.type == "cpu"
    on_the_cpu = run.score("mig", device="cpu", progress=False)["mig"]
    (tmp_path / run.name / "scores.json").unlink()
    assert Run.open(run.folder, packages=["tests"]).score("mig", device="mps", progress=False)["mig"] == on_the_cpu


def test_auto_is_not_mps(monkeypatch):
    """Which was not run on MPS."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.automatic_device().type == "cpu"
