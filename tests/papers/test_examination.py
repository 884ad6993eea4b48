"""Examinations: models of a study are trained, examined once, and let go."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.papers.made_items import study
from unbraid.errors import SpecError, UnbraidError
from unbraid.papers import ExaminedWork
from unbraid.papers.examination import of_each
from unbraid.studies import Higher
from unbraid.studies.execute import StudyOptions

QUIET = StudyOptions(device="cpu", num_scorers=0, progress=False, packages=("unbraid", "tests"))
CLAIM = Higher("Seeds are seeds.", "twice", "beta 4", "beta 1")


class Counted:
    """Examines runs of a setting, and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.devices: set[torch.device] = set()

    def __call__(self, runs, device):
        self.devices.add(device)
        self.calls.append(tuple(runs))
        assert all(run.model() is not None and len(run.codes()) for run in runs.values())
        return {seed: {"twice": 2.0 * seed, "twice:others": len(runs) - 1} for seed in runs}


@pytest.fixture
def examine() -> Counted:
    return Counted()


@pytest.fixture
def work(examine: Counted) -> ExaminedWork:
    return ExaminedWork(replace(study("made2000-examined"), claims=()), {"twice": None}, examine, (CLAIM,))


def arrays(folder: Path) -> int:
    return len(list(folder.glob("*/weights.safetensors")))


def test_runs_are_examined_once_setting_by_setting_and_then_let_go(work, examine, tmp_path: Path) -> None:
    done = work.run(tmp_path, QUIET)
    assert (done.num_trained, done.num_scored, dict(done.failures)) == (4, 4 + 4, {})
    assert examine.calls == [(0, 1), (0, 1)]
    assert examine.devices == {torch.device("cpu")}  # as asked
    scores = work.scores(tmp_path)
    assert scores.values("beta 4", "twice") == {0: 0.0, 1: 2.0}
    assert scores.values("beta 4", "twice:others") == {0: 1.0, 1: 1.0}
    assert set(scores.values("beta 4", "mig")) == {0, 1}
    assert arrays(tmp_path) == 0  # the study keeps scores alone
    assert (work.run(tmp_path, QUIET).num_trained, len(examine.calls)) == (0, 2)
    again = replace(work, version=2).keeping("all")  # whose weights were let go
    assert again.run(tmp_path, QUIET).num_trained == 4
    assert (len(examine.calls), arrays(tmp_path), len(list((tmp_path / ".aside").iterdir()))) == (4, 4, 4)


def test_some_settings_are_examined_alone(work, examine, tmp_path: Path) -> None:
    asked = replace(QUIET, settings=("beta 4",))
    assert work.run(tmp_path, asked).num_trained == 2
    assert (examine.calls, set(work.scores(tmp_path).values("beta 4", "twice"))) == ([(0, 1)], {0, 1})
    assert work.run(tmp_path, QUIET).num_trained == 2  # the others


def test_the_history_has_the_information_of_each_latent_where_it_is_read(work, tmp_path: Path) -> None:
    def curves(run):
        return {"twice": len(run.history.latent_information()[0])}

    plain = replace(work, examine=of_each(lambda run: {"twice": 0.0})).keeping("all")
    plain.run(tmp_path, QUIET)
    asking = replace(plain, examine=of_each(curves), latent_information_every=1)
    assert asking.run(tmp_path, QUIET).num_trained == 4  # they had been trained without
    assert set(asking.scores(tmp_path).values("beta 1", "twice").values()) == {2.0}


def test_its_definition_has_what_is_examined(work) -> None:
    assert replace(work, version=2).definition() != work.definition()
    assert work.definition()["examined"] == [{"twice": None}, 1, None]
    assert work.empty().metrics == ("mig", "twice")


def test_what_cannot_be_examined_is_told_and_nothing_is_let_go(work, tmp_path: Path) -> None:
    def refuse(runs, device):
        raise UnbraidError("no thickness")

    done = replace(work, examine=refuse).run(tmp_path, QUIET)
    assert set(done.failures.values()) == {"no thickness"}
    assert arrays(tmp_path) == 4
    with pytest.raises(UnbraidError, match="no thickness"):
        replace(work, examine=refuse).run(tmp_path, replace(QUIET, fail_fast=True))
    with pytest.raises(SpecError, match="examined 'thrice', which is none of twice"):
        replace(work, examine=of_each(lambda run: {"thrice": 1.0})).run(tmp_path, replace(QUIET, fail_fast=True))


def test_a_claim_about_a_number_that_is_not_there_is_refused(work) -> None:
    with pytest.raises(UnbraidError, match="thrice"):
        replace(work, claims=(replace(CLAIM, metric="thrice"),))
