"""Which runs start together."""

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

from tests.training.squares import MLP_SPEC
from unbraid.training.checkpoint import remove_later, save_checkpoint
from unbraid.training.fleet import Fleet
from unbraid.training.runs import History, Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.starts import Start, starts
from unbraid.training.state import Member, MemberState


@pytest.fixture(scope="module")
def carried():
    return Fleet([Member(MLP_SPEC, 0)], MLP_SPEC.dataset.load()).state(0).tensors


@pytest.fixture
def runs(tmp_path):
    made = [Run.place(tmp_path, MLP_SPEC, seed) for seed in range(6)]
    for run in made:
        RunWriter(run).begin()
    return made


def saved(runs, step, carried, beside=None):
    """Checkpoint the runs as a fleet."""
    for run in runs:
        save_checkpoint(run, MemberState(step, carried, None), [each.name for each in beside or runs], History())


def told(runs):
    """Seeds and step of each start."""
    return [([run.seed for run in start.runs], start.step) for start in starts(runs)]


def test_runs_that_were_not_begun_start_together_at_the_beginning(runs):
    assert told(runs) == [([0, 1, 2, 3, 4, 5], 0)]
    assert starts(runs)[0].states() == []


def test_no_runs_no_starts():
    assert starts([]) == []


def test_those_that_were_in_one_fleet_go_on_together_each_fleet_from_its_own_step(runs, carried):
    saved(runs[:2], 10, carried)
    saved(runs[2:4], 30, carried)
    assert told(runs) == [([0, 1], 10), ([2, 3], 30), ([4, 5], 0)]


def test_two_fleets_at_the_same_step_stay_two(runs, carried):
    saved(runs[:3], 10, carried)
    saved(runs[3:], 10, carried)
    assert told(runs) == [([0, 1, 2], 10), ([3, 4, 5], 10)]


def test_a_fleet_that_died_within_its_first_checkpoint_starts_afresh_and_takes_no_other_with_it(runs, carried):
    saved(runs[:1], 10, carried, beside=runs[:3])
    saved(runs[3:], 20, carried)
    assert told(runs) == [([0, 1, 2], 0), ([3, 4, 5], 20)]


def test_a_fleet_that_died_within_its_second_goes_back_to_the_first(runs, carried):
    saved(runs, 10, carried)
    saved(runs[:4], 20, carried, beside=runs)
    assert told(runs) == [([0, 1, 2, 3, 4, 5], 10)]


def test_one_that_lost_all_its_checkpoints_starts_afresh_alone(runs, carried):
    saved(runs[1:], 10, carried, beside=runs)
    saved(runs[1:], 20, carried, beside=runs)
    assert told(runs) == [([0], 0), ([1, 2, 3, 4, 5], 20)]


def test_a_run_of_another_name_is_found_in_its_folder(runs, carried, tmp_path):
    saved(runs[:2], 10, carried)
    moved = Run(runs[0].folder.rename(tmp_path / "moved"), MLP_SPEC, 0)
    assert told([moved, runs[1]]) == [([0, 1], 10)]


def test_the_states_are_those_of_the_checkpoints(runs, carried):
    changed = tree_map(lambda tensor: tensor + 1, carried)
    saved(runs[:1], 10, carried, beside=runs[:2])
    saved(runs[1:2], 10, changed, beside=runs[:2])
    [start] = starts(runs[:2])
    first, second = start.states()
    assert (first.step, second.step) == (10, 10)
    assert all(tree_leaves(tree_map(torch.equal, first.tensors, carried)))
    assert all(tree_leaves(tree_map(torch.equal, second.tensors, changed)))


def test_a_start_is_split_with_its_checkpoints(runs, carried):
    saved(runs, 10, carried)
    [start] = starts(runs)
    parts = start.split_to(4)
    assert [([run.seed for run in part.runs], part.step) for part in parts] == [([0, 1, 2], 10), ([3, 4, 5], 10)]
    assert len(parts[1].states()) == 3
    assert Start(tuple(runs)).split_to(3) == [Start(tuple(runs[:3])), Start(tuple(runs[3:]))]


def test_two_deaths_while_checkpointing_do_not_tear_a_fleet_apart(runs, carried):
    fleet = runs[:2]
    saved(fleet, 10, carried)
    saved(fleet[:1], 20, carried, beside=fleet)  # the first death
    assert told(fleet) == [([0, 1], 10)]
    for run in fleet:
        remove_later(run, 10)
    saved(fleet[:1], 25, carried, beside=fleet)  # the second
    assert told(fleet) == [([0, 1], 10)]
