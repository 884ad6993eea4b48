"""The ELBO on held-out images is a column of the history, and changes nothing else."""

import math
from dataclasses import replace

import pytest

from tests.training.short_runs import SPEC, stopped
from tests.training.squares import result
from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import SpecError
from unbraid.metrics.scoring import Scoring
from unbraid.models.distributions import DeterministicLatents
from unbraid.models.trained.elbo import hard_elbo
from unbraid.objectives import AAE
from unbraid.training import TrainingOptions, reporter, train
from unbraid.training.runs.scored_images import scored_images

SPLIT = replace(SPEC, subset=RandomSplit(0.75))


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    return train(
        [SPLIT],
        [0, 1],
        folder=tmp_path_factory.mktemp("watched"),
        options=TrainingOptions(held_out_every=4),
        progress=False,
    )


def known(run):
    steps, values = run.history.column("step"), run.history.column("held_out_elbo")
    return {int(step): value for step, value in zip(steps, values, strict=True) if not math.isnan(value)}


def test_it_is_the_elbo_of_images_that_were_not_trained_on(watched):
    held_out = scored_images(SPLIT, "test").open()
    for run in watched:
        assert list(known(run)) == [4, 8, 10]
        assert known(run)[10] == pytest.approx(hard_elbo(run.model(), held_out).value)
        assert run.history.at_the_end("held_out_elbo") == known(run)[10]
        assert run.score("elbo", Scoring(part="test")).scores[0].value == pytest.approx(known(run)[10])
    assert known(watched[0]) != known(watched[1])


def test_nothing_else_changes(watched, tmp_path):
    for run, other in zip(train([SPLIT], [0, 1], folder=tmp_path, progress=False), watched, strict=True):
        ours, theirs = result(run), result(other)
        assert {name: bits for name, bits in ours.items() if name != "history.csv"} == {
            name: bits for name, bits in theirs.items() if name != "history.csv"
        }
        for column in run.history.columns:
            assert run.history.column(column) == other.history.column(column)


def test_a_run_that_is_resumed_has_the_same_column(watched, tmp_path):
    [run, _] = stopped([SPLIT], [0, 1], tmp_path, at=5, options=TrainingOptions(held_out_every=4))
    train([SPLIT], [0, 1], folder=tmp_path, resume=True, options=TrainingOptions(held_out_every=4), progress=False)
    assert run.history.to_csv() == watched[0].history.to_csv()


def test_it_may_begin_and_end_when_a_run_is_resumed(watched, tmp_path):
    [late] = stopped([SPLIT], [0], tmp_path / "late", at=5)
    train(
        [SPLIT], [0], folder=tmp_path / "late", resume=True, options=TrainingOptions(held_out_every=4), progress=False
    )
    assert list(known(late)) == [8, 10]
    [early] = stopped([SPLIT], [0], tmp_path / "early", at=5, options=TrainingOptions(held_out_every=4))
    train([SPLIT], [0], folder=tmp_path / "early", resume=True, progress=False)
    assert list(known(early)) == [4]


def test_it_is_measured_at_rows_of_the_history_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(reporter, "_ROWS_OF_HISTORY", 3)
    [run] = train([SPLIT], [0], folder=tmp_path, options=TrainingOptions(held_out_every=5), progress=False)
    assert [int(step) for step in run.history.column("step")] == [1, 3, 6, 9, 10]
    assert list(known(run)) == [6, 10]


def test_without_held_out_images_or_a_density_there_is_none(tmp_path):
    with pytest.raises(SpecError, match="a spec holds none out. Give it a subset"):
        train([SPEC], [0], folder=tmp_path, options=TrainingOptions(held_out_every=4))
    deterministic = replace(SPLIT, model=replace(SPLIT.model, latents=DeterministicLatents(3)), objective=AAE())
    with pytest.raises(SpecError, match="DeterministicLatents have no density"):
        train([deterministic], [0], folder=tmp_path, options=TrainingOptions(held_out_every=4))
    with pytest.raises(SpecError, match="held_out_every is '4'; expected a whole number"):
        train([SPLIT], [0], folder=tmp_path, options=TrainingOptions(held_out_every="4"))
    with pytest.raises(SpecError, match="held_out_every is 0"):
        train([SPLIT], [0], folder=tmp_path, options=TrainingOptions(held_out_every=0))
    assert list(tmp_path.iterdir()) == []
