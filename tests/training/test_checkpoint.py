import json
from dataclasses import replace
from functools import partial

import pytest
import torch
from safetensors.torch import load_file
from torch.utils._pytree import tree_leaves, tree_map

import unbraid
from tests.told import warned
from tests.training.squares import MLP_SPEC
from unbraid.errors import RunError, SpecError
from unbraid.training import TrainingOptions
from unbraid.training.checkpoint import (
    CheckpointTimes,
    load_checkpoint,
    remove_checkpoints,
    remove_later,
    save_checkpoint,
    save_last_good,
    usable_checkpoints,
)
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.runs import History, Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.state import Member, MemberState, Net, TrainState, layout, named_leaves


def carried(weights, moments, of_critic, covariance, started):
    double = partial(torch.tensor, dtype=torch.float64)
    memory = zip(("first_moment", "second_moment"), moments, strict=True)
    return TrainState(
        model=Net({"0": double(weights)}, {name: {"0": double(moment)} for name, moment in memory}),
        critic=Net({"0": torch.tensor(of_critic)}, {}),
        objective={"covariance": double(covariance), "started": double(started)},
    )


LAYOUT = carried([0.0] * 2, ([0.0] * 2, [0.0] * 2), [0.0], [[0.0] * 2] * 2, 0.0)


def state(step, failed_at=None):
    moments = [1e-30, -0.0], [float("inf"), 3.0]
    return MemberState(step, carried([step + 0.1, 0.2], moments, [0.25], [[1.0, 0.5], [0.5, 2.0]], 1.0), failed_at)


def same(a, b):
    def equal(one, other):
        return torch.equal(one, other) and one.dtype == other.dtype

    return (a.step, a.failed_at) == (b.step, b.failed_at) and all(tree_leaves(tree_map(equal, a.tensors, b.tensors)))


@pytest.fixture
def run(tmp_path):
    run = Run.place(tmp_path, MLP_SPEC, 3)
    RunWriter(run).begin()
    return run


def names(run):
    return sorted(path.name for path in (run.folder / "checkpoints").iterdir())


def save(run, state, fleet=("a", "b")):
    save_checkpoint(run, state, fleet, History())


def loaded(run, expected=LAYOUT):
    """What the good checkpoints hold, and what was said of the others."""
    with warned() as said:
        found = usable_checkpoints(run, expected)
    return {step: load_checkpoint(run, checkpoint, expected) for step, checkpoint in found.items()}, said


@pytest.mark.parametrize("failed_at", [None, 17])
def test_a_state_comes_back_as_it_was(run, failed_at):
    save(run, state(20, failed_at))
    states, said = loaded(run)
    assert list(states) == [20]
    assert same(states[20], state(20, failed_at))
    assert said == []


def test_it_is_a_safetensors_file_and_a_json_that_tells_what_it_is(run):
    save(run, state(20))
    assert names(run) == ["step-0000000020.json", "step-0000000020.safetensors"]
    record = json.loads((run.folder / "checkpoints" / "step-0000000020.json").read_text())
    assert (record["format"], record["unbraid"], record["torch"]) == (4, unbraid.__version__, torch.__version__)
    assert (record["digest"], record["seed"], record["step"], record["fleet"]) == (MLP_SPEC.digest, 3, 20, ["a", "b"])
    assert record["tensors"]["model.weights.0"] == {"dtype": "float64", "shape": [2]}
    assert record["tensors"]["critic.weights.0"] == {"dtype": "float32", "shape": [1]}
    assert record["tensors"].keys() == named_leaves(LAYOUT).keys()


def test_it_remembers_who_was_trained_beside_it(run):
    save(run, state(20), fleet=("x", "y"))
    assert usable_checkpoints(run, LAYOUT)[20].fleet == ("x", "y")


def test_the_weights_before_a_failure_are_kept_under_the_step_that_led_to_them_when_the_others_are_removed(run):
    for step in (10, 20):
        save(run, state(step, failed_at=8))
    path = save_last_good(run, state(20, failed_at=8))
    assert path == run.folder / "checkpoints" / "last-good-0000000007.safetensors"
    remove_checkpoints(run)
    assert names(run) == ["last-good-0000000007.json", "last-good-0000000007.safetensors"]
    assert torch.equal(load_file(path)["model.weights.0"], state(20).tensors.model.weights["0"])
    record = json.loads(path.with_suffix(".json").read_text())
    assert (record["step"], record["failed_at"]) == (7, 8)


def test_the_last_two_are_kept(run):
    for step in (10, 20, 30):
        save(run, state(step))
    assert list(loaded(run)[0]) == [20, 30]


def test_saving_an_earlier_step_removes_the_later_ones(run):
    # A process died at 30 before the rest of the fleet had got there; they went on from 20, and stopped at 25.
    for step in (20, 30, 25):
        save(run, state(step))
    assert list(loaded(run)[0]) == [20, 25]


def test_a_half_written_one_does_not_push_out_a_good_one(run):
    for step in (10, 20):
        save(run, state(step))
    (run.folder / "checkpoints" / "step-0000000020.json").unlink()
    save(run, state(30))
    assert list(loaded(run)[0]) == [10, 30]


def test_without_checkpoints_there_is_nothing_to_load_or_remove(run):
    assert loaded(run) == ({}, [])
    remove_checkpoints(run)


def test_they_can_be_removed_whole_or_not(run):
    for step in (10, 20):
        save(run, state(step))
    (run.folder / "checkpoints" / "step-0000000020.json").unlink()
    remove_checkpoints(run)
    assert not (run.folder / "checkpoints").exists()


def test_what_is_not_ours_stays_where_it_is(run):
    save(run, state(10))
    (run.folder / "checkpoints" / "notes.txt").write_text("mine")
    remove_checkpoints(run)
    assert names(run) == ["notes.txt"]


# ---- damage


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


def remove(path):
    path.unlink()


def another_object(path):
    path.write_text("[1, 2]")


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (suffix, damage)
        for suffix in (".safetensors", ".json")
        for damage in (truncate, flip_a_bit, empty, remove, another_object)
    ],
)
def test_a_damaged_one_is_passed_over_with_a_message_and_the_one_before_it_is_used(run, suffix, damage):
    for step in (10, 20):
        save(run, state(step))
    damage(run.folder / "checkpoints" / f"step-0000000020{suffix}")
    states, said = loaded(run)
    assert list(states) == [10]
    assert same(states[10], state(10))
    assert len(said) == 1
    assert run.name in said[0]
    assert "step-0000000020" in said[0]


@pytest.mark.parametrize(
    "name", ["step-0000000020 (1).json", "step-0000000020.json.bak", "step-x.json", "step-9.safetensors"]
)
def test_files_that_only_look_like_checkpoints_are_left_alone(run, name):
    save(run, state(10))
    (run.folder / "checkpoints" / name).write_text("mine")
    assert list(loaded(run)[0]) == [10]
    remove_later(run, 5)
    remove_checkpoints(run)
    assert names(run) == [name]


def test_one_that_is_nested_without_end_is_passed_over(run):
    save(run, state(20))
    (run.folder / "checkpoints" / "step-0000000020.json").write_text("[" * 100_000)
    states, said = loaded(run)
    assert (states, len(said)) == ({}, 1)


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_no_flipped_bit_goes_unnoticed(run, suffix):
    save(run, state(20, failed_at=17))
    path = run.folder / "checkpoints" / f"step-0000000020{suffix}"
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        states, said = loaded(run)
        assert (states, len(said)) == ({}, 1), (
            f"byte {place}: {content[place : place + 1]!r} became {flipped[place : place + 1]!r}"
        )


def test_the_checkpoint_of_another_run_is_refused(run, tmp_path):
    other = Run.place(tmp_path, replace(MLP_SPEC, optimizer=Adam(0.5)), 3)
    save(other, state(20))
    (other.folder / "checkpoints").rename(run.folder / "checkpoints")
    with pytest.raises(RunError, match="checkpoint of a run"):
        loaded(run)


def test_tensors_of_another_shape_are_refused_by_name(run):
    save(run, state(20))
    wider = carried([0.0] * 3, ([0.0] * 2, [0.0] * 2), [0.0], [[0.0] * 2] * 2, 0.0)
    states, said = loaded(run, wider)
    assert states == {}
    assert "(model.weights.0 is float64" in said[0]


@pytest.mark.parametrize("number", [3, 99])
def test_another_format_is_passed_over_by_its_number(run, number):
    save(run, state(20))
    path = run.folder / "checkpoints" / "step-0000000020.json"
    assert '"format": 4' in path.read_text()
    path.write_text(path.read_text().replace('"format": 4', f'"format": {number}'))
    states, said = loaded(run)
    assert states == {}
    assert f"it has format {number} of unbraid" in said[0]
    assert "expected 4" in said[0]


def test_a_checkpoint_beside_the_spec_of_another_seed_is_refused(tmp_path):
    spec = replace(MLP_SPEC, num_steps=6)
    [run] = [Run.place(tmp_path, spec, 0)]
    other = Run(run.folder, spec, 1)
    RunWriter(run).begin()
    save_checkpoint(run, Fleet([Member(spec, 0)], spec.training_data.load()).state(0), [run.name], History())
    with pytest.raises(RunError, match=r"expected seed 1"):
        usable_checkpoints(other, layout(spec))


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def saved(times, clock, seconds):
    with times.saving():
        clock.now += seconds


def test_every_so_many_steps_and_after_the_last():
    times = CheckpointTimes(4, clock=Clock())
    assert [step for step in range(1, 11) if times.is_due(step)] == [4, 8]
    assert times.is_due(10, is_last=True)


def test_by_the_clock_the_first_comes_after_a_minute():
    clock = Clock()
    times = CheckpointTimes(None, clock=clock)
    clock.now += 59.9
    assert not times.is_due(1)
    assert not times.is_due(1, is_last=True)
    clock.now += 0.2
    assert times.is_due(1)


def test_a_large_first_one_waits_until_its_cost_is_two_percent():
    clock = Clock()
    times = CheckpointTimes(None, num_bytes=3_400_000_000, clock=clock)  # 6.8 s, at 500 MB/s
    clock.now += 339
    assert not times.is_due(1)
    clock.now += 2
    assert times.is_due(1)


@pytest.mark.parametrize(("cost", "pause"), [(0.1, 60.0), (4.0, 200.0)])
def test_then_a_minute_or_fifty_times_what_the_last_one_cost_must_pass(cost, pause):
    clock = Clock()
    times = CheckpointTimes(None, clock=clock)
    saved(times, clock, cost)
    clock.now += pause - 0.1
    assert not times.is_due(2)
    clock.now += 0.2
    assert times.is_due(2)


def test_in_the_long_run_less_than_two_percent_of_the_time_go_into_them():
    clock, spent = Clock(), 0.0
    times, began = CheckpointTimes(None, clock=clock), clock.now
    for step in range(20_000):
        clock.now += 1.0
        if times.is_due(step):
            saved(times, clock, 7.0)
            spent += 7.0
    assert 0.01 < spent / (clock.now - began) < 0.02


def test_one_that_failed_does_not_count():
    clock = Clock()
    times = CheckpointTimes(None, clock=clock)
    clock.now += 61
    with pytest.raises(OSError, match="full"), times.saving():
        raise OSError("full")
    assert times.is_due(3)


@pytest.mark.parametrize("every", [0, -3])
def test_no_steps_between_them_are_refused(every):
    with pytest.raises(SpecError, match=f"checkpoint_every is {every}"):
        TrainingOptions(checkpoint_every=every)
