"""Runs of classes of the user's own: found by their source, opened with it, and told apart when it changes."""

import math
import shutil
from pathlib import Path

import pytest
import torch

from tests.source.modules_of_ones_own import fresh, imported, objective_text, write
from tests.training.squares import PACKAGES, Squares
from unbraid import Autoencoder, Run, RunSpec, train
from unbraid.distributions import GaussianLatents
from unbraid.errors import RunError, SpecError, UntrustedError
from unbraid.report.groups import group_members
from unbraid.report.members import read_members
from unbraid.runs.run_labels import run_labels
from unbraid.runs.run_writer import RunWriter
from unbraid.runs.runs_in import runs_in

NET = """
from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import Architecture


@dataclass(frozen=True)
class Net(Architecture):
    width: int = 16

    def make_encoder(self, image_shape, latents):
        size = image_shape[0] * image_shape[1] * image_shape[2]
        return nn.Sequential(
            nn.Flatten(), nn.Linear(size, self.width), nn.ReLU(), nn.Linear(self.width, latents.num_parameters)
        )

    def make_decoder(self, num_inputs, image_shape):
        size = image_shape[0] * image_shape[1] * image_shape[2]
        return nn.Sequential(nn.Linear(num_inputs, size), nn.Unflatten(1, image_shape))
"""
SCALED = objective_text("from helper import SCALE", loss="SCALE * distortion")
BEFORE = {"mine": SCALED, "helper": "SCALE = 1.0", "net": NET}
AFTER = {"helper": "SCALE = 10.0", "net": NET.replace("nn.ReLU", "nn.GELU")}
ALL = (*PACKAGES, "mine", "net")


def spec_of_ones_own() -> RunSpec:
    model = Autoencoder(imported("net").Net(), latents=GaussianLatents(2))
    return RunSpec(Squares(), model, imported("mine").Own(), num_steps=2, batch_size=4)


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, torch.Tensor]:
    """A folder with modules and a finished run of their classes, and what the trained encoder makes of an image."""
    folder = tmp_path_factory.mktemp("own")
    write(folder, BEFORE)
    with fresh(folder):
        [run] = train([spec_of_ones_own()], [0], folder=folder / "runs", device="cpu")
        return folder, encoded(run)


@pytest.fixture
def trained(trained_once: tuple[Path, torch.Tensor], tmp_path: Path) -> tuple[Path, torch.Tensor]:
    folder, means = trained_once
    return Path(shutil.copytree(folder, tmp_path / "own")), means


def encoded(run: Run) -> torch.Tensor:
    shape = (3, *run.spec.dataset.image_shape)
    return run.encoder()(torch.linspace(0, 40, math.prod(shape)).sin().abs().reshape(shape).numpy()).mean


def only_run(folder: Path) -> Path:
    return min((folder / "runs").iterdir())


def test_the_run_is_found_again_and_another_source_is_another_run(trained):
    folder, _ = trained
    with fresh(folder):
        assert Run.place(folder / "runs", spec_of_ones_own(), 0).status == "finished"
    write(folder, AFTER)
    with fresh(folder):
        assert Run.place(folder / "runs", spec_of_ones_own(), 0).status == "new"


def test_opening_it_says_which_modules_changed(trained, caplog):
    folder, means = trained
    with fresh(folder):
        run = Run.open(only_run(folder), packages=ALL)
        assert not caplog.messages
        assert (run.source_changes, run.digest) == ([], run.spec.digest)
        assert torch.equal(encoded(run), means)
    write(folder, AFTER)
    with fresh(folder):
        run = Run.open(only_run(folder), packages=ALL)
        [told] = caplog.messages
        assert "was trained with another state of modules helper, net than there is now" in told
        assert run.digest != run.spec.digest
        assert not torch.allclose(encoded(run), means)


def test_its_own_source_builds_the_model_that_was_trained(trained, caplog):
    folder, means = trained
    write(folder, AFTER)
    with fresh(folder):
        run = Run.open(only_run(folder), packages=PACKAGES, trust="source")
        assert not caplog.messages
        assert torch.equal(encoded(run), means)
        assert (run.digest, run.source_changes) == (run.spec.digest, [])
        assert run.spec.to_json()["objective"]["type"] == "mine.Own"
        # It is the same spec: asked for again, it is found; and two runs of it share their classes.
        assert Run.place(folder / "runs", run.spec, 0).status == "finished"
        assert Run.open(only_run(folder), trust="source").spec == run.spec
        assert Run.open(only_run(folder), trust="source").spec.objective != imported("mine").Own()


def test_nothing_is_executed_without_consent(trained):
    folder, _ = trained
    with pytest.raises(UntrustedError, match=r"--packages.*read the source in .*source.*trust=.source."):
        Run.open(only_run(folder))
    with pytest.raises(SpecError, match="trust is 'all'; expected 'source'"):
        Run.open(only_run(folder), trust="all")


def test_source_that_was_changed_is_not_executed(trained):
    folder, _ = trained
    path = only_run(folder) / "source" / "helper.py"
    path.write_text("SCALE = 1.0  # the same")
    Run.open(only_run(folder), trust="source")
    path.write_text("import os")
    with pytest.raises(RunError, match=r"helper\.py is missing or was changed"):
        Run.open(only_run(folder), trust="source")
    path.unlink()
    with fresh(folder), pytest.raises(RunError, match=r"helper\.py is missing or was changed"):
        Run.open(only_run(folder), trust="source")


def test_a_run_that_was_begun_with_another_source_is_not_gone_on_with(trained, tmp_path):
    folder, _ = trained
    with fresh(folder):
        run = Run.place(tmp_path / "begun", spec_of_ones_own(), 0)
        RunWriter(run).begin()
    write(folder, AFTER)
    with fresh(folder):
        opened = Run.open(run.folder, packages=ALL)
        with pytest.raises(RunError, match="begun with another state of modules helper, net"):
            RunWriter(opened).check_spec()
        RunWriter(Run.open(run.folder, trust="source")).check_spec()


def test_training_is_refused_if_a_file_was_edited_after_its_import(trained, tmp_path):
    folder, _ = trained
    with fresh(folder):
        spec = spec_of_ones_own()
        write(folder, AFTER)
        with pytest.raises(SpecError, match=r"(helper|net)\.py was changed since"):
            train([spec], [1], folder=tmp_path / "none", device="cpu")
    assert not (tmp_path / "none").exists()


METRIC = """
from dataclasses import dataclass
from typing import ClassVar

from unbraid.metrics import Metric, Score

SCALE = {}


@dataclass(frozen=True)
class Own(Metric):
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def accepts(self):
        return frozenset()

    def measure(self, statistics):
        return Score("Own", SCALE, settings=self.settings)
"""


def test_scores_of_two_states_of_a_metric_of_ones_own_are_two_scores(trained):
    folder, _ = trained
    for scale in (1.0, 1.0, 2.0):
        write(folder, {"metric": METRIC.format(scale)})
        with fresh(folder):
            run = Run.open(only_run(folder), packages=ALL)
            assert run.score([imported("metric").Own()])[0].value == scale
    assert [score.value for score in run.scores() if score.metric == "Own"] == [1.0, 2.0]
    first, second = (score.settings["source"] for score in run.scores() if score.metric == "Own")
    assert first != second


def test_runs_of_two_states_of_ones_own_code_are_not_taken_for_seeds_of_one(trained):
    folder, _ = trained
    write(folder, AFTER)
    with fresh(folder):
        [later] = train([spec_of_ones_own()], [1], folder=folder / "runs", device="cpu", progress=False)
        runs = runs_in(folder / "runs", packages=ALL)
        assert sorted(run_labels(runs)) == sorted(f"own ({run.digest[:6]})" for run in runs)
        assert later.digest in {run.digest for run in runs}
        assert [len(group.members) for group in group_members(read_members(runs))] == [1, 1]
