"""Runs of classes of the user's own: found by their source, opened with it, and told apart when it changes."""

import json
import math
import shutil
import sys
from pathlib import Path

import pytest
import torch

from tests._internal.user_modules import fresh, imported, objective_text, write
from tests.training.squares import PACKAGES, Squares
from unbraid import Autoencoder, Run, RunSpec, train, write_report
from unbraid._internal import files
from unbraid.errors import RunError, SpecError
from unbraid.models.distributions import GaussianLatents
from unbraid.show.report.groups import group_members
from unbraid.show.report.members import read_members
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.runs_in import runs_in
from unbraid.training.runs.spec_text import describe_spec, run_labels

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


def test_opening_it_names_the_modules_that_changed_and_shows_the_difference(trained, caplog):
    folder, means = trained
    with fresh(folder):
        run = Run.open(only_run(folder), packages=ALL)
        assert not caplog.messages
        assert (run.source_changes, run.digest) == ([], run.spec.digest)
        assert torch.equal(encoded(run), means)
    write(folder, AFTER)
    with fresh(folder):
        run = Run.open(only_run(folder), packages=ALL)
        [warning] = caplog.messages
        assert "modules helper, net" in warning
        assert str(run.folder / "source") in warning
        assert {"-SCALE = 1.0", "+SCALE = 10.0"} <= set(warning.splitlines())
        assert run.digest != run.spec.digest
        assert not torch.allclose(encoded(run), means)


def test_without_the_classes_codes_scores_and_history_are_there_and_nothing_is_executed(trained, caplog):
    folder, _ = trained
    with fresh(folder):
        expected = Run.open(only_run(folder), packages=ALL).codes()
    caplog.clear()
    (only_run(folder) / "source" / "mine.py").write_text("raise SystemExit")
    with fresh(folder):
        run = Run.open(only_run(folder))
        [warning] = caplog.messages
        assert str(run.folder / "source") in warning
        assert "packages=['mine']" in warning
        assert not {"mine", "net", "helper"} & sys.modules.keys()
        assert run.codes() == expected
        assert 0 <= run.score("mig", progress=False)["mig"].value <= 1
        assert run.scores()
        assert len(run.history) > 0
        assert (type(run.spec.objective).__name__, run.spec.objective.weight) == ("Own", 1.0)
        assert run.spec.model.encoder.width == 16
        assert describe_spec(run.spec)["objective"] == "own"
        assert Run.open(run.folder).spec == run.spec
        with pytest.raises(RunError, match=r"class net\.Net"):
            run.model()
        with pytest.raises(RunError, match="modules helper, mine"):
            RunWriter(run).check_spec()


def test_a_report_shows_the_pictures_that_were_kept_where_the_classes_are_not_here(trained, tmp_path):
    folder, _ = trained
    with fresh(folder):
        run = Run.open(only_run(folder), packages=ALL)
        pictures = run.pictures
        expected = pictures.traversal([0, 1]), pictures.samples(), pictures.reconstructions()
    with fresh(folder):
        run = Run.open(only_run(folder), warn=lambda _: None)
        kept = run.pictures.traversal([0, 1])
        for ours, theirs in [
            *((a.frames, b.frames) for a, b in zip(kept.strips, expected[0].strips, strict=True)),
            *(
                (torch.tensor(a.positions), torch.tensor(b.positions))
                for a, b in zip(kept.strips, expected[0].strips, strict=True)
            ),
            (run.pictures.samples(), expected[1]),
            (run.pictures.reconstructions(), expected[2]),
        ]:
            torch.testing.assert_close(ours, theirs.float(), rtol=0, atol=1e-3)
        write_report([run], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_a_class_that_was_imported_before_need_not_be_named(trained, caplog):
    folder, means = trained
    with fresh(folder):
        imported("mine"), imported("net")
        assert torch.equal(encoded(Run.open(only_run(folder))), means)
        assert not caplog.messages


@pytest.mark.parametrize(
    "record",
    [
        ["mine"],
        "mine",
        {"modules": []},
        {"modules": {"mine": 3}},
        {"modules": {"../../secret": "0"}},
        {"packages": None},
    ],
)
def test_one_run_with_an_odd_source_record_does_not_hide_the_others(trained, caplog, record):
    folder, _ = trained
    other = Path(shutil.copytree(only_run(folder), folder / "runs" / "zz"))
    content = json.loads((other / "spec.json").read_text()) | {"source": record}
    (other / "spec.json").write_text(json.dumps(content | {"sha256": files.seal(content)}))
    finished = json.loads((other / "finished.json").read_text())
    finished["sha256"]["spec.json"] = files.sha256(other / "spec.json")
    (other / "finished.json").write_text(json.dumps(finished))
    with fresh(folder):
        assert [run.name for run in runs_in(folder / "runs", packages=ALL)] == [only_run(folder).name]
    assert any("source is" in message and "skipped" in message for message in caplog.messages)


def test_a_run_that_was_begun_with_another_source_is_not_gone_on_with(trained, tmp_path):
    folder, _ = trained
    with fresh(folder):
        run = Run.place(tmp_path / "begun", spec_of_ones_own(), 0)
        RunWriter(run).begin()
    write(folder, AFTER)
    with fresh(folder):
        opened = Run.open(run.folder, packages=ALL)
        with pytest.raises(RunError, match="modules helper, net"):
            RunWriter(opened).check_spec()


def test_training_is_refused_if_a_file_was_edited_after_its_import(trained, tmp_path):
    folder, _ = trained
    with fresh(folder):
        spec = spec_of_ones_own()
        write(folder, AFTER)
        with pytest.raises(SpecError, match="changed after"):
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
            assert run.score([imported("metric").Own()]).scores[0].value == scale
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
