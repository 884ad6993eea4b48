"""Runs of others: opening one reads no dataset, builds no net and asks for no memory that its files do not have."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.runs.finished_runs import SPEC, finish
from tests.training.squares import MLP_SPEC
from unbraid._internal import files
from unbraid.datasets.user import folder_survey
from unbraid.errors import RunError, SpecError, UnbraidError
from unbraid.training.runs import Run, runs_in


def forge(run: Run, change) -> Path:
    """Changes the spec of a run, and every checksum with it, as a stranger would."""
    path, end = run.folder / "spec.json", run.folder / "finished.json"
    content = json.loads(path.read_text())
    change(content["spec"])
    path.write_text(json.dumps(content | {"sha256": files.seal(content)}))
    record = json.loads(end.read_text())
    record["sha256"]["spec.json"] = files.sha256(path)
    end.write_text(json.dumps(record))
    return run.folder


def pictures_in(path: str, **fields: object):
    return lambda spec: spec.update(dataset={"type": "unbraid.datasets.FromFolder", "path": path, **fields})


def test_a_folder_of_pictures_is_not_looked_at(finished, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("the folder was looked through")

    monkeypatch.setattr(folder_survey, "survey", refuse)
    expected = finished.codes()
    run = Run.open(forge(finished, pictures_in("/", sha256="0" * 64)))
    assert run.codes() == expected
    assert run.model().image_shape == (1, 8, 8)
    assert run.named_scores() == {}
    assert len(runs_in(run.folder.parent)) == 1
    with pytest.raises(SpecError, match="file '/'"):
        Run.open(forge(finished, pictures_in("/")))


@pytest.mark.parametrize(
    ("hidden", "complaint"),
    [([10**9], r"has shape .*; expected \(1000000000,"), ([1] * 200_000, "200,000")],
)
def test_nets_of_another_size_than_the_weights_are_refused_before_they_are_built(tmp_path, hidden, complaint):
    run = finish(Run.place(tmp_path, replace(MLP_SPEC, precision="float32"), 0), seed=0)
    folder = forge(run, lambda spec: spec["model"]["encoder"].update(hidden=hidden))
    begun = time.monotonic()
    with pytest.raises(RunError, match=complaint):
        Run.open(folder).model()
    assert time.monotonic() - begun < 20


LATENTS = "unbraid.models.distributions"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda model: model["latents"].update(size=10**9), "size is 1000000000"),
        (lambda model: model.update(latents={"type": f"{LATENTS}.BernoulliLatents", "size": 10**9}), "size is 1000000"),
        (
            lambda model: model["latents"].update(prior={"type": f"{LATENTS}.FlowPrior", "num_steps": 10**9}),
            r"prior_module\.scale has shape None",
        ),
        (
            lambda model: model.update(likelihood={"type": f"{LATENTS}.LearnedGaussianLikelihood"}),
            r"log_std has shape None",
        ),
    ],
    ids=["latents", "discrete latents", "prior", "likelihood"],
)
def test_a_model_that_the_weights_do_not_fill_is_refused_before_it_is_built(finished, change, complaint):
    folder = forge(finished, lambda spec: change(spec["model"]))
    begun = time.monotonic()
    with pytest.raises(UnbraidError, match=complaint):
        Run.open(folder).model()
    assert time.monotonic() - begun < 5


def test_groups_without_end_are_refused_before_they_are_compared(finished):
    many = {"type": "unbraid.objectives.HFVAE", "groups": [[latent] for latent in range(100_000)]}
    folder = forge(finished, lambda spec: spec.update(objective=many))
    with pytest.raises(SpecError, match="100,000 ind"):
        Run.open(folder)


def test_what_is_to_be_trained_is_checked_all_the_same(finished):
    run = Run.open(forge(finished, lambda spec: spec.update(batch_size=10**6)))
    with pytest.raises(SpecError, match="batch_size is 1000000"):
        run.spec.check()


def test_a_text_of_a_megabyte_does_not_fill_the_screen(finished, tmp_path, caplog):
    long = "x" * 1_000_000
    for change in (
        lambda spec: spec["objective"].update(type=f"mine.{long}"),
        lambda spec: spec["objective"].update(type=long),
        lambda spec: spec["objective"].update({long: 1}),
    ):
        other = finish(Run.place(tmp_path / str(len(list(tmp_path.iterdir()))), SPEC, 3), seed=7)
        forge(other, change)
        try:
            Run.open(other.folder)
        except UnbraidError as error:
            assert len(str(error)) < 5_000  # noqa: PT017
        runs_in(other.folder.parent)
    assert max(len(message) for message in caplog.messages) < 6_000
