"""From a trained fleet to finished runs."""

import threading
from dataclasses import replace

import pytest
import torch
from torch.utils._pytree import tree_map

from tests.training.runs.finished_runs import fail
from tests.training.squares import MLP_SPEC
from unbraid.errors import CodesError
from unbraid.models import encode
from unbraid.training.checkpoint import save_last_good
from unbraid.training.fleet import Fleet
from unbraid.training.fleet_training import conclude, keep, writers
from unbraid.training.runs import Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.state import Member

SPEC = replace(MLP_SPEC, precision="float32")


@pytest.fixture
def images():
    return SPEC.dataset.load()


@pytest.fixture
def runs(tmp_path):
    made = [Run.place(tmp_path, SPEC, seed) for seed in range(3)]
    for run in made:
        RunWriter(run).begin()
    return made


def can_conclude(runs):
    return [RunWriter(run).can_conclude for run in runs]


@pytest.fixture
def fleet(images):
    return Fleet([Member(SPEC, seed) for seed in range(3)], images)


def test_each_run_keeps_its_own_model_and_codes(fleet, runs, images):
    assert keep(fleet, [0, 1, 2], runs, images, 1.5) == [None, None, None]
    for index, run in enumerate(runs):
        assert run.status == "unfinished"
        conclude(run)
        assert run.status == "finished"
        assert torch.equal(run.codes().mean, encode(fleet.model(index), images).mean)
        for name, tensor in fleet.model(index).state_dict().items():
            assert torch.equal(run.model().state_dict()[name], tensor)


def test_only_when_all_of_a_fleet_are_kept_can_any_be_said_to_be_finished(fleet, runs, images):
    keep(fleet, [0, 2], runs, images, 1.5)
    assert can_conclude(runs) == [False] * 3
    keep(fleet, [1], runs, images, 1.5)
    assert can_conclude(runs) == [True] * 3
    conclude(runs[1])
    assert can_conclude(runs) == [True, False, True]
    RunWriter(runs[0]).begin()
    assert can_conclude(runs) == [False] * 3


def test_a_member_that_failed_is_not_waited_for(fleet, runs, images):
    keep(fleet, [0, 2], runs, images, 1.5)
    fail(runs[1], 3)
    assert can_conclude(runs) == [True, False, True]


def test_a_model_that_cannot_encode_does_not_keep_the_others_from_it(fleet, runs, images):
    broken = fleet.state(1)
    fleet.restore(
        [
            fleet.state(0),
            replace(broken, tensors=tree_map(lambda tensor: torch.full_like(tensor, 1e38), broken.tensors)),
            fleet.state(2),
        ]
    )
    errors = keep(fleet, [0, 1, 2], runs, images, 1.5)
    assert [type(error) for error in errors] == [type(None), CodesError, type(None)]
    assert [(run.folder / "codes.safetensors").exists() for run in runs] == [True, False, True]


def test_an_error_of_a_write_surfaces(fleet, runs, images, monkeypatch):
    def full(self, *arguments):
        if self.run.seed == 2:
            raise OSError("disk full")

    monkeypatch.setattr(RunWriter, "keep", full)
    with pytest.raises(OSError, match="disk full"):
        keep(fleet, [0, 1, 2], runs, images, 1.5)


def test_members_that_failed_are_kept_like_the_others_and_all_are_concluded_or_none(fleet, runs, images):
    names = [run.name for run in runs]
    keep(fleet, [0], runs, images, 1.5)
    for index, step in ((1, 4), (2, 7)):
        assert not any(can_conclude(runs))
        state = replace(fleet.state(index), failed_at=step, reason="loss not finite")
        last_good = save_last_good(runs[index], state)
        RunWriter(runs[index]).keep_failure(step, "its loss was not finite", last_good, names)
    assert all(can_conclude(runs))
    conclude(runs[1])  # and death
    assert [run.status for run in runs] == ["unfinished", "failed", "unfinished"]
    assert can_conclude(runs) == [True, False, True]
    conclude(runs[0]), conclude(runs[2])
    assert [run.status for run in runs] == ["finished", "failed", "failed"]
    assert (runs[2].failure.step, runs[2].failure.reason) == (7, "its loss was not finite")
    assert runs[2].failure.last_good.exists()


def test_results_come_in_order_and_from_several_threads():
    meeting = threading.Barrier(4, timeout=60)

    def write(number):
        meeting.wait()
        return number, int(torch.arange(number + 1).sum())

    with writers() as pool:
        assert list(pool.map(write, range(4))) == [(0, 0), (1, 1), (2, 3), (3, 6)]


def test_an_error_surfaces():
    with writers() as pool, pytest.raises(ZeroDivisionError):
        list(pool.map(lambda number: 1 // number, [1, 0, 2]))
