"""Runs that name classes of the user's own, from the command line."""

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Unbraid
from unbraid import DSprites, RunSpec, train
from unbraid.cli.options import parse_packages
from unbraid.errors import SpecError
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents

MODULE = "unbraid_own_packages"
SOURCE = textwrap.dedent(
    """
    from dataclasses import dataclass

    from unbraid.objectives.objective import Loss, Objective


    @dataclass(frozen=True)
    class Plain(Objective):
        weight: float = 1.0

        def __call__(self, step):
            distortion = -step.log_likelihood.mean()
            return Loss(self.weight * distortion, {"distortion": distortion})
    """
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module of the user's own, and two finished runs that name its objective."""
    folder = tmp_path_factory.mktemp("own")
    (folder / f"{MODULE}.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        own = __import__(MODULE)
        data = DSprites(resolution=8, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=4)
        model = Autoencoder(MLP((4,), decoder_hidden=(4,)), latents=GaussianLatents(2))
        spec = RunSpec(data, model, own.Plain(2.0), num_steps=2, batch_size=4)
        train([spec], [0, 1], folder=folder / "runs", device="cpu")
    del sys.modules[MODULE]
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, which the command is given in, as if nothing of it had been imported."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.delenv("UNBRAID_PACKAGES", raising=False)
    return folder


def test_without_the_name_of_their_package_they_are_listed_with_one_note_and_nothing_is_imported(
    unbraid: Unbraid, here: Path
):
    told = unbraid("runs", "runs")
    assert (told.err.count("Note:"), told.out.count("finished")) == (1, 2)
    assert f"--packages {MODULE}" in told.err
    assert "source" in told.err
    assert MODULE not in sys.modules


def test_their_codes_are_scored_without_the_class_and_their_model_is_not_built(unbraid: Unbraid, here: Path):
    run = min((here / "runs").glob("*-seed0"))
    told = unbraid("score", run, "--metrics", "mig")
    assert (told.code, MODULE in sys.modules) == (0, False)
    assert unbraid("runs", run).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("runs", "runs"),
        ("score", "runs", "--metrics", "mig"),
        ("report", "runs", "--out", "report.html"),
        ("train", "--resume", "--out", "runs"),
    ],
)
def test_every_command_reads_them_once_their_package_is_named(unbraid: Unbraid, here: Path, arguments):
    told = unbraid(*arguments, "--packages", MODULE)
    assert (told.code, told.err.count("passed over")) == (0, 0)


def test_encode_and_a_spec_too(unbraid: Unbraid, here: Path, monkeypatch: pytest.MonkeyPatch):
    run = min((here / "runs").glob("*-seed0"))
    np.savez(here / "images.npz", images=np.zeros((3, 8, 8), dtype=np.uint8))
    monkeypatch.setenv("UNBRAID_PACKAGES", f"{MODULE}")
    assert unbraid("encode", run, "images.npz", "--out", "codes.npz").code == 0
    again = unbraid("train", "--spec", run / "spec.json", "--device", "cpu")
    assert (again.code, "1 of 1 runs are already finished" in again.out) == (0, True)


def test_the_environment_does_the_same(unbraid: Unbraid, here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UNBRAID_PACKAGES", f"json, {MODULE}")
    told = unbraid("runs", "runs")
    assert (told.err, told.out.count("finished")) == ("", 2)


def test_a_changed_module_is_named_in_one_note(unbraid: Unbraid, here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (here / f"{MODULE}.py").write_text(SOURCE.replace("self.weight *", "10 * self.weight *"))
    try:
        told = unbraid("score", "runs", "--metrics", "mig", "--packages", MODULE)
        assert (told.code, told.err.count("another version")) == (0, 1)
        assert f"the module {MODULE}" in told.err
        assert "10 * self.weight" in told.err
    finally:
        (here / f"{MODULE}.py").write_text(SOURCE)


def test_a_file_of_this_folder_takes_no_place_of_an_installed_module(here: Path):
    parse_packages(MODULE)
    assert sys.path[-1] == str(here)


@pytest.mark.parametrize("text", ["mine.py", "./mine", "pkg.mine", "3d"])
def test_what_cannot_be_a_package_is_refused(text):
    with pytest.raises(SpecError, match=text):
        parse_packages(text)
