"""Members that fail: they are named, keep their last good weights, and the others go on."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from tests.told import warned
from tests.training.short_runs import ABSURD, SPEC, stopped
from tests.training.squares import everything
from unbraid._internal import files
from unbraid.errors import RunError, TrainingError
from unbraid.training import TrainingOptions, train
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.runs import Run
from unbraid.training.runs.run_folder import Failure
from unbraid.training.state import Member


def test_a_member_that_fails_is_named_and_the_others_go_on(tmp_path):
    with warned() as said:
        good, bad = train([SPEC, ABSURD], [0], folder=tmp_path)
    assert [run.status for run in (good, bad)] == ["finished", "failed"]
    kept = bad.folder / "checkpoints" / "last-good-0000000001.safetensors"
    assert bad.failure == Failure(2, "the loss was not finite", kept)
    assert bad.history["step"] == [1]
    assert said == [
        (
            f"{bad.name}: the loss was not finite at step 2. Its last finite weights are saved, and the other "
            "runs continue."
        )
    ]
    assert "step 2" in (bad.folder / "log.txt").read_text()


def test_a_loss_above_the_bound_is_a_failure(tmp_path):
    bound = replace(SPEC, max_loss=1.0)
    with pytest.raises(TrainingError, match=r"above max_loss \(1\)"):
        train([bound], [0], folder=tmp_path)
    failure = Run.place(tmp_path, bound, 0).failure
    assert (failure.step, failure.reason) == (1, "the loss was above max_loss (1)")


def test_the_last_good_weights_of_a_member_that_failed_are_kept_and_nothing_else_is(tmp_path):
    _, bad = train([SPEC, ABSURD], [0], folder=tmp_path, options=TrainingOptions(checkpoint_every=3))
    fleet = Fleet([Member(ABSURD, 0)], SPEC.dataset.load())
    fleet.advance()
    path = bad.failure.last_good
    assert sorted(path.parent.iterdir()) == [path.with_suffix(".json"), path]
    for name, tensor in fleet.state(0).tensors.model.weights.items():
        torch.testing.assert_close(load_file(path)[f"model.weights.{name}"], tensor)


def test_a_member_that_failed_unnoticed_before_a_checkpoint_has_its_last_good_weights_kept_in_the_end(tmp_path):
    stopped([SPEC, ABSURD], [0], tmp_path, at=5)
    for path in tmp_path.rglob("last-good-*"):
        path.unlink()
    _, bad = train([SPEC, ABSURD], [0], folder=tmp_path, resume=True)
    assert bad.failure.last_good.exists()


def test_force_moves_nothing_while_another_process_trains_one_of_them(tmp_path):
    finished, other = (train([SPEC], [seed], folder=tmp_path)[0] for seed in (0, 1))
    with (
        files.locked(other.folder / ".lock", wait=False, purpose="training it"),
        pytest.raises(RunError, match="process is training"),
    ):
        train([SPEC], [0, 1], folder=tmp_path, options=TrainingOptions(force=True))
    assert finished.status == other.status == "finished"


def test_a_failed_run_is_not_tried_again_unless_forced(tmp_path):
    train([SPEC, ABSURD], [0], folder=tmp_path)
    before = everything(tmp_path)
    assert [run.status for run in train([SPEC, ABSURD], [0], folder=tmp_path, resume=True)] == ["finished", "failed"]
    assert everything(tmp_path) == before


def test_when_all_fail_training_stops_and_says_so_and_keeps_what_is_known(tmp_path):
    with pytest.raises(TrainingError, match="All 2 runs"):
        train([replace(ABSURD, num_steps=10_000)], [0, 1], folder=tmp_path)
    for seed in (0, 1):
        run = Run.place(tmp_path, replace(ABSURD, num_steps=10_000), seed)
        assert run.status == "failed"
        assert run.history["step"] == [1]
        assert len(list((run.folder / "checkpoints").glob("*.safetensors"))) == 1


def test_a_fleet_that_fails_does_not_keep_the_next_from_being_trained(tmp_path):
    runs = train([replace(ABSURD, batch_size=9), SPEC], [0], folder=tmp_path)
    assert [run.status for run in runs] == ["failed", "finished"]


def test_a_member_whose_last_step_leads_to_infinite_codes_fails_alone(tmp_path):
    # The one step's loss is finite; what it leads to is seen only when the images are encoded.
    one_step = replace(SPEC, num_steps=1)
    with warned() as said:
        good, bad = train([one_step, replace(one_step, optimizer=Adam(1e30))], [0], folder=tmp_path)
    assert [run.status for run in (good, bad)] == ["finished", "failed"]
    assert bad.name in said[0]


def test_a_member_that_failed_stays_failed_after_a_stop(tmp_path):
    stopped([SPEC, ABSURD], [0], tmp_path, at=5)
    good, bad = train([SPEC, ABSURD], [0], folder=tmp_path, resume=True)
    assert [run.status for run in (good, bad)] == ["finished", "failed"]
    assert bad.failure.step == 2
