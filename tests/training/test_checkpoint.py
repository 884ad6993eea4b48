import json
from dataclasses import replace

import pytest
import torch

from tests.training.squares import MLP_SPEC
from unbraid.runs import Run
from unbraid.training.checkpoint import load_checkpoints, remove_checkpoints, save_checkpoint
from unbraid.training.fleet import MemberState


def state(step, failed_at=None):
    tensors = {
        "weights": torch.tensor([step + 0.1, 0.2], dtype=torch.float64),
        "first_moment": torch.tensor([1e-30, -0.0], dtype=torch.float64),
        "second_moment": torch.tensor([float("inf"), 3.0], dtype=torch.float64),
        "critic_weights": torch.tensor([0.25], dtype=torch.float32),
        "state_covariance": torch.tensor([[1.0, 0.5], [0.5, 2.0]], dtype=torch.float64),
        "state_started": torch.tensor(1.0, dtype=torch.float64),
    }
    return MemberState(step=step, tensors=tensors, failed_at=failed_at)


def same(a, b):
    known = (a.step, a.failed_at, a.tensors.keys()) == (b.step, b.failed_at, b.tensors.keys())
    return known and all(
        torch.equal(tensor, b.tensors[name]) and tensor.dtype == b.tensors[name].dtype for name, tensor in a.tensors.items()
    )


@pytest.fixture
def run(tmp_path):
    run = Run.place(tmp_path, MLP_SPEC, 3)
    run.create()
    return run


def names(run):
    return sorted(path.name for path in (run.folder / "checkpoints").iterdir())


def loaded(run):
    """The good checkpoints, and what was said of the others."""
    said = []
    return load_checkpoints(run, said.append), said


@pytest.mark.parametrize("failed_at", [None, 17])
def test_a_state_comes_back_as_it_was(run, failed_at):
    save_checkpoint(run, state(20, failed_at))
    states, said = loaded(run)
    assert list(states) == [20]
    assert same(states[20], state(20, failed_at))
    assert said == []


def test_it_is_a_safetensors_file_and_a_json_that_tells_what_it_is(run):
    save_checkpoint(run, state(20))
    assert names(run) == ["step-0000000020.json", "step-0000000020.safetensors"]
    record = json.loads((run.folder / "checkpoints" / "step-0000000020.json").read_text())
    assert (record["digest"], record["seed"], record["step"], record["num_parameters"]) == (MLP_SPEC.digest, 3, 20, 2)


def test_the_last_two_are_kept(run):
    for step in (10, 20, 30):
        save_checkpoint(run, state(step))
    assert list(loaded(run)[0]) == [20, 30]


def test_saving_an_earlier_step_removes_the_later_ones(run):
    # A process died at 30 before the rest of the fleet had got there; they went on from 20, and stopped at 25.
    for step in (20, 30, 25):
        save_checkpoint(run, state(step))
    assert list(loaded(run)[0]) == [20, 25]


def test_a_half_written_one_does_not_push_out_a_good_one(run):
    for step in (10, 20):
        save_checkpoint(run, state(step))
    (run.folder / "checkpoints" / "step-0000000020.json").unlink()
    save_checkpoint(run, state(30))
    assert list(loaded(run)[0]) == [10, 30]


def test_without_checkpoints_there_is_nothing_to_load_or_remove(run):
    assert loaded(run) == ({}, [])
    remove_checkpoints(run)


def test_they_can_be_removed_whole_or_not(run):
    for step in (10, 20):
        save_checkpoint(run, state(step))
    (run.folder / "checkpoints" / "step-0000000020.json").unlink()
    remove_checkpoints(run)
    assert not (run.folder / "checkpoints").exists()


def test_what_is_not_ours_stays_where_it_is(run):
    save_checkpoint(run, state(10))
    (run.folder / "checkpoints" / "notes.txt").write_text("mine")
    remove_checkpoints(run)
    assert names(run) == ["notes.txt"]


# --------------------------------------------------------------------------------------------------------------------- damage


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
    [(suffix, damage) for suffix in (".safetensors", ".json") for damage in (truncate, flip_a_bit, empty, remove, another_object)],
)
def test_a_damaged_one_is_passed_over_with_a_message_and_the_one_before_it_is_used(run, suffix, damage):
    for step in (10, 20):
        save_checkpoint(run, state(step))
    damage(run.folder / "checkpoints" / f"step-0000000020{suffix}")
    states, said = loaded(run)
    assert list(states) == [10]
    assert same(states[10], state(10))
    assert len(said) == 1
    assert run.name in said[0]
    assert "step-0000000020" in said[0]


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_no_flipped_bit_goes_unnoticed(run, suffix):
    save_checkpoint(run, state(20, failed_at=17))
    path = run.folder / "checkpoints" / f"step-0000000020{suffix}"
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        states, said = loaded(run)
        assert (states, len(said)) == ({}, 1), f"byte {place}: {content[place : place + 1]!r} became {flipped[place : place + 1]!r}"


def test_the_checkpoint_of_another_run_is_refused(run, tmp_path):
    other = Run.place(tmp_path, replace(MLP_SPEC, learning_rate=0.5), 3)
    save_checkpoint(other, state(20))
    (other.folder / "checkpoints").rename(run.folder / "checkpoints")
    states, said = loaded(run)
    assert states == {}
    assert "another run" in said[0]


@pytest.mark.parametrize("number", [1, 99])
def test_a_format_of_the_past_or_the_future_is_passed_over_by_its_number(run, number):
    # Format 1 knew no critics and no state of an objective.
    save_checkpoint(run, state(20))
    path = run.folder / "checkpoints" / "step-0000000020.json"
    assert '"format": 2' in path.read_text()
    path.write_text(path.read_text().replace('"format": 2', f'"format": {number}'))
    states, said = loaded(run)
    assert states == {}
    assert f"it has format {number}, written by unbraid" in said[0]
    assert "this version reads 2" in said[0]
