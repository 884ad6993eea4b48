"""`unbraid doctor`."""

import sys
from collections import namedtuple
from pathlib import Path

import pytest
import torch

import unbraid
from unbraid.cli import doctor as doctor_module

LOOKS = ["unbraid", "packages", "device", "threads", "cache", "disk", "memory", "test run"]


@pytest.fixture
def _no_test_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_module, "make_test_run", lambda folder, device: doctor_module.CheckResult("made"))


def test_a_sound_machine_is_looked_over_and_a_model_trained_scored_and_shown(unbraid, tmp_path):
    outcome = unbraid("doctor", "--out", tmp_path, "--device", "cpu")
    assert (outcome.code, outcome.err) == (0, "")
    *lines, empty, end = outcome.out.splitlines()
    assert [line[:9].strip() for line in lines] == LOOKS
    assert (empty, end) == ("", "No problems found.")
    assert f"torch {torch.__version__}" in lines[1]
    assert f"free in {tmp_path}" in lines[5]
    assert "trained, read back, scored and shown in" in lines[-1]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_not_left_behind(unbraid, tmp_path):
    assert unbraid("doctor", "--out", tmp_path / "new" / "runs", "--device", "cpu").code == 0
    assert list(tmp_path.iterdir()) == []


def test_what_a_test_run_raises_is_what_is_wrong(unbraid, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("no kernel image")

    monkeypatch.setattr("unbraid.training.train", fail)
    outcome = unbraid("doctor", "--out", tmp_path, "--device", "cpu")
    assert outcome.code == 1
    assert outcome.err == "Error: test run: RuntimeError: no kernel image\n"
    assert "No problems found" not in outcome.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_no_test_run")
def test_a_look_that_fails_does_not_hide_the_others(unbraid, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "unbraid._internal.memory", None)  # importing it fails
    outcome = unbraid("doctor", "--out", tmp_path, "--device", "cpu")
    assert (outcome.code, [line[:9].strip() for line in outcome.out.splitlines()[:-1]]) == (1, LOOKS)
    assert "Error: memory: ModuleNotFoundError" in outcome.err
    assert "disk:" not in outcome.err


def test_packages_that_are_missing_or_too_old_are_named_with_the_command_that_mends_it(monkeypatch):
    asked = ["numpy>=99.1", "nonesuch>=1.0", "scipy>=1.12", "typer[all]>=0.20", 'ray>=2; extra == "ray"']
    monkeypatch.setattr(doctor_module.metadata, "requires", lambda name: asked)
    found = doctor_module.check_packages()
    assert "not installed: nonesuch" in found.found
    assert found.wrong.endswith("pip install 'numpy>=99.1' 'nonesuch>=1.0'")


def test_extras_that_are_missing_are_told_and_not_wrong(monkeypatch):
    asked = ['nonesuch>=2; extra == "ray"', 'numpy>=1; extra == "figures"', 'ruff>=1; extra == "lint"']
    monkeypatch.setattr(doctor_module.metadata, "requires", lambda name: asked)
    found = doctor_module.check_packages()
    assert found.found.startswith("numpy ")
    assert found.found.endswith("; not installed: nonesuch")
    assert found.wrong is None


def test_a_gpu_that_torch_cannot_use_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_module, "_DEVICES", tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert doctor_module.check_device("cpu").wrong is None
    (tmp_path / "nvidia0").touch()
    assert torch.__version__ in doctor_module.check_device("cpu").wrong


def test_more_threads_than_cores_are_told(monkeypatch):
    monkeypatch.setattr("unbraid._internal.cpu.usable_cores", lambda: 3)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1000)
    assert doctor_module.check_threads().wrong.endswith("export OMP_NUM_THREADS=3")


def test_little_disk_and_little_memory_are_told(monkeypatch, tmp_path):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor_module.shutil, "disk_usage", lambda place: usage(2, 1, 10**6))
    monkeypatch.setattr("unbraid._internal.memory.free_memory", lambda device: 10**6)
    assert doctor_module.check_disk(tmp_path, "Fix it.").wrong == "Only 1.0 MB are free. Fix it."
    assert doctor_module.check_memory().wrong.startswith("Only 1.0 MB are free.")


@pytest.mark.usefixtures("_no_test_run")
def test_a_folder_that_cannot_be_written_is_told(unbraid, tmp_path):
    (tmp_path / "file").touch()
    outcome = unbraid("doctor", "--out", tmp_path / "file", "--device", "cpu")
    assert outcome.code == 1
    assert "cannot be written" in outcome.err


def test_the_place_of_the_package_is_found():
    assert doctor_module.check_unbraid().wrong is None
    assert str(Path(unbraid.__file__).parent) in doctor_module.check_unbraid().found
