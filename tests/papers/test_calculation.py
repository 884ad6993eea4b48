"""Calculations: kept case by case, never computed twice, refused under another definition."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from unbraid.errors import SpecError, UnbraidError
from unbraid.papers import Calculation
from unbraid.papers.work import digest_of
from unbraid.studies import Within
from unbraid.studies.execute import StudyOptions

QUIET = StudyOptions(progress=False)


class Counted:
    """Computes twice the seed, and counts how often it was asked."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.calls: list[tuple[str, int]] = []
        self.fails_at = fails_at

    def __call__(self, label: str, seed: int) -> Mapping[str, float]:
        self.calls.append((label, seed))
        if seed == self.fails_at:
            raise UnbraidError("no number for this seed")
        return {"double": 2.0 * seed, "double:half": seed}


def calculation(compute: Counted) -> Calculation:
    claim = Within("Doubles are at most 6.", "double", ("a", "b"), high=6)
    return Calculation("doubles", {"a": (1, 2), "b": (3,)}, {"double": None}, compute, (claim,))


def test_some_cases_are_computed_alone(tmp_path: Path) -> None:
    compute = Counted()
    assert calculation(compute).run(tmp_path, StudyOptions(progress=False, settings=("b",))).num_scored == 1
    assert compute.calls == [("b", 3)]


def test_numbers_of_every_case_are_kept_and_not_computed_twice(tmp_path: Path) -> None:
    compute = Counted()
    work = calculation(compute)
    assert work.run(tmp_path, QUIET).num_scored == 3
    assert work.run(tmp_path, QUIET).num_scored == 0
    assert compute.calls == [("a", 1), ("a", 2), ("b", 3)]
    scores = work.scores(tmp_path)
    assert scores.values("a", "double") == {1: 2.0, 2: 4.0}
    assert scores.values("a", "double:half") == {1: 1.0, 2: 2.0}


def test_a_case_that_fails_leaves_the_others(tmp_path: Path) -> None:
    done = calculation(Counted(fails_at=2)).run(tmp_path, QUIET)
    assert done.num_scored == 2
    assert done.failures == {"a-2": "no number for this seed"}
    again = Counted()
    assert calculation(again).run(tmp_path, QUIET).num_scored == 1
    assert again.calls == [("a", 2)]


def test_a_budget_that_is_spent_leaves_cases(tmp_path: Path) -> None:
    done = calculation(Counted()).run(tmp_path, replace(QUIET, budget=-1.0))
    assert (done.num_scored, done.num_left) == (0, 3)


def test_numbers_of_another_version_are_computed_again(tmp_path: Path) -> None:
    calculation(Counted()).run(tmp_path, QUIET)
    assert replace(calculation(Counted()), version=2).run(tmp_path, QUIET).num_scored == 3


def test_a_metric_that_was_not_announced_is_refused(tmp_path: Path) -> None:
    work = Calculation("odd", {"a": (0,)}, {"one": None}, lambda label, seed: {"other": 1.0})
    with pytest.raises(SpecError, match="'other', which is none of one"):
        work.run(tmp_path, replace(QUIET, fail_fast=True))


def test_a_claim_about_a_case_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="'c'"):
        Calculation("odd", {"a": (0,)}, {"one": None}, Counted(), (Within("?", "one", ("c",)),))


def test_numbers_of_one_size_are_never_those_of_another(tmp_path: Path) -> None:
    small, large = (replace(calculation(Counted()), size=size) for size in ("smoke", "paper"))
    assert (small.run(tmp_path, QUIET).num_scored, large.run(tmp_path, QUIET).num_scored) == (3, 3)
    assert len({digest_of(work) for work in (small, large, calculation(Counted()))}) == 3
