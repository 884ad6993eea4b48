"""From specs and seeds to runs."""

import contextlib
import errno
import resource
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.short_runs import SPEC, stopped
from tests.training.squares import PACKAGES, Squares, everything, result
from tests.training.watchers import Stopwatch
from unbraid._internal import files
from unbraid.datasets import FromArrays
from unbraid.datasets.subsets import HeldOutCombinations
from unbraid.errors import RunError, SpecError
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE
from unbraid.training import TrainingOptions, train
from unbraid.training.fleet import Fleet
from unbraid.training.runs import Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.runs_in import Runs, runs_in
from unbraid.training.state import Member


def test_every_spec_is_trained_from_every_seed_in_that_order(tmp_path):
    runs = train([SPEC, replace(SPEC, batch_size=9)], [4, 2], folder=tmp_path)
    assert [(run.spec.batch_size, run.seed, run.status) for run in runs] == [
        (b, s, "finished") for b in (8, 9) for s in (4, 2)
    ]


def test_the_runs_are_those_of_runs_in(tmp_path):
    runs = train(replace(SPEC, num_steps=2), [0, 1], folder=tmp_path, progress=False)
    assert isinstance(runs, Runs)
    assert runs == runs_in(tmp_path, packages=PACKAGES)
    assert runs.where(seed=1) == runs[1:]


def test_what_can_share_a_fleet_does(tmp_path):
    watch = Stopwatch()
    objectives = (VAE(), BetaVAE(), BetaTCVAE(beta=2.0))
    train(
        [*(replace(SPEC, objective=each) for each in objectives), replace(SPEC, batch_size=9)],
        [0, 1],
        folder=tmp_path,
        watch=watch,
    )
    assert [len(progress.runs) for progress in watch.seen] == [6] * 10 + [2] * 10


def test_the_weights_that_are_kept_are_those_of_the_fleet(tmp_path):
    [_, run] = train([SPEC], [0, 1], folder=tmp_path)
    fleet = Fleet([Member(SPEC, 0), Member(SPEC, 1)], SPEC.dataset.load())
    for _ in range(SPEC.num_steps):
        fleet.advance()
    for name, expected in fleet.model(1).state_dict().items():
        assert torch.equal(run.model().state_dict()[name], expected)


def test_the_history_holds_the_loss_and_its_parts_at_every_step_of_a_short_run(tmp_path):
    watch = Stopwatch()
    [run] = train([SPEC], [0], folder=tmp_path, watch=watch)
    assert run.history.columns[:2] == ("step", "loss")
    assert run.history["step"] == list(range(1, 11))
    assert run.history["loss"] == [progress.values["loss"][0] for progress in watch.seen]
    assert [(progress.done, progress.total) for progress in watch.seen] == [(step, 10) for step in range(1, 11)]


def test_the_log_says_what_happened(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path)
    first, last = (run.folder / "log.txt").read_text().splitlines()
    assert "0 to 10" in first
    assert "finished" in last


def test_a_finished_run_holds_no_checkpoints_and_no_half_written_files(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path, options=TrainingOptions(checkpoint_every=3))
    names = {
        ".lock",
        "codes.safetensors",
        "environment.json",
        "finished.json",
        "history.csv",
        "log.txt",
        "pictures.safetensors",
        "source/tests.training.squares.py",
        "spec.json",
        "weights.safetensors",
    }
    assert set(everything(run.folder)) == names


def test_images_may_have_weights(tmp_path):
    images = Squares().load()
    weights = np.linspace(0, 1, 36)
    dataset = FromArrays.from_arrays(images.pixels, images.values, factor_names=["row", "column"], weights=weights)
    runs = train(
        [replace(SPEC, dataset=dataset, objective=BetaTCVAE(estimator="stratified_pairs"))],
        [0, 1],
        folder=tmp_path,
        options=TrainingOptions(checkpoint_every=4),
    )
    for run in runs:
        assert np.isfinite(run.history["loss"]).all()
        torch.testing.assert_close(
            run.codes().weights.double(), torch.from_numpy(weights / weights.sum()), rtol=1e-6, atol=0
        )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_training_on_the_gpu_can_be_stopped_resumed_and_read_back_without_one(tmp_path):
    stopped([SPEC], [0, 1], tmp_path, at=7, options=TrainingOptions(checkpoint_every=5), device="cuda")
    [run, _] = train([SPEC], [0, 1], folder=tmp_path, resume=True, device="cuda")
    assert run.codes().mean.device.type == "cpu"
    assert next(run.model().parameters()).device.type == "cpu"


# ---- again, and by force


def test_the_same_spec_and_seed_again_find_the_finished_run(tmp_path):
    train([SPEC], [0], folder=tmp_path)
    before = everything(tmp_path)
    watch = Stopwatch()
    [run] = train([SPEC], [0], folder=tmp_path, watch=watch)
    assert run.status == "finished"
    assert everything(tmp_path) == before
    assert watch.seen == []


def test_only_what_is_missing_is_trained(tmp_path):
    train([SPEC], [0], folder=tmp_path)
    before = everything(tmp_path)
    runs = train([SPEC], [1, 0], folder=tmp_path)
    assert [(run.seed, run.status) for run in runs] == [(1, "finished"), (0, "finished")]
    assert before.items() <= everything(tmp_path).items()


def test_force_puts_the_old_folder_aside_and_deletes_nothing(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path)
    first = everything(run.folder)
    for _ in range(2):
        [run] = train([SPEC], [0], folder=tmp_path, options=TrainingOptions(force=True))
        assert run.status == "finished"
    aside = tmp_path / ".archived"
    assert sorted(path.name for path in aside.iterdir()) == [f"{run.name}-1", f"{run.name}-2"]
    assert everything(aside / f"{run.name}-1") == first


def test_putting_aside_what_is_not_there_does_nothing(tmp_path):
    assert RunWriter(Run.place(tmp_path, SPEC, 0)).archive() is None
    assert everything(tmp_path) == {}


def test_an_unfinished_run_is_refused_unless_one_says_what_to_do(tmp_path):
    stopped([SPEC], [0], tmp_path, at=3)
    before = everything(tmp_path)
    with pytest.raises(RunError, match="--resume.*--force"):
        train([SPEC], [0], folder=tmp_path)
    assert everything(tmp_path) == before
    assert train([SPEC], [0], folder=tmp_path, options=TrainingOptions(force=True))[0].status == "finished"


def test_the_same_run_twice_in_one_call_is_refused(tmp_path):
    with pytest.raises(RunError, match="twice"):
        train([SPEC, SPEC], [0], folder=tmp_path)
    assert everything(tmp_path) == {}


def test_a_checkpoint_every_zero_steps_is_refused(tmp_path):
    with pytest.raises(SpecError, match="checkpoint_every is 0"):
        train([SPEC], [0], folder=tmp_path, options=TrainingOptions(checkpoint_every=0))


@pytest.mark.parametrize("seeds", [torch.arange(2), iter([np.int64(0), np.uint8(1)])])
def test_seeds_may_be_any_integers(tmp_path, undisturbed, seeds):
    runs = train([SPEC], seeds, folder=tmp_path)
    assert [result(run) for run in runs] == undisturbed
    assert [type(Run.open(run.folder, packages=("unbraid", "tests")).seed) for run in runs] == [int, int]


@pytest.mark.parametrize("seed", [1.5, 1.0, np.float64(1), 2**63, -(2**63) - 1, True, "1", None])
def test_what_is_no_seed_is_refused_before_anything_is_made(tmp_path, seed):
    with pytest.raises(SpecError, match=".*0"):
        train([SPEC], [0, seed], folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "meta", ""])
def test_a_device_that_is_not_there_is_refused_before_anything_is_made(tmp_path, device):
    with pytest.raises(SpecError, match=f"device is '{device}'"):
        train([SPEC], [0], folder=tmp_path, device=device)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_cuda_is_refused(tmp_path):
    with pytest.raises(SpecError, match="0 GPUs"):
        train([SPEC], [0], folder=tmp_path, device="cuda")
    assert not list(tmp_path.iterdir())


def test_images_too_few_for_a_later_kind_are_found_out_before_the_first_is_trained(tmp_path):
    few = replace(SPEC, batch_size=36, subset=HeldOutCombinations(("row", "column"), ((0, 0),)))
    with pytest.raises(SpecError, match="batch_size is 36"):
        train([SPEC, few], [0], folder=tmp_path)
    assert everything(tmp_path) == {}


def test_nothing_to_do_is_done():
    assert train([], [0]) == ()


# ---- two at a time


@pytest.mark.parametrize(
    "options", [{"resume": True}, {"options": TrainingOptions(force=True)}, {}], ids=["resume", "force", "new"]
)
def test_a_run_that_is_being_trained_is_refused_and_left_alone(tmp_path, undisturbed, options):
    def meddle():
        before = everything(tmp_path)
        with pytest.raises(RunError):
            train([SPEC], [0], folder=tmp_path, **options)
        assert everything(tmp_path) == before

    [run, _] = train(
        [SPEC], [0, 1], folder=tmp_path, watch=Stopwatch(5, meddle), options=TrainingOptions(checkpoint_every=3)
    )
    assert result(run) == undisturbed[0]


def test_one_run_in_use_stops_the_fleet_before_it_begins_any_other(tmp_path):
    taken = Run.place(tmp_path, SPEC, 1)
    with files.locked(taken.folder / ".lock", wait=False, purpose="testing"), pytest.raises(RunError, match=taken.name):
        train([SPEC], [0, 1], folder=tmp_path)
    assert Run.place(tmp_path, SPEC, 0).status == "new"
    assert len(train([SPEC], [0, 1], folder=tmp_path)) == 2


def test_where_the_locks_cannot_all_be_taken_nothing_is_left(tmp_path, monkeypatch):
    taken = []

    @contextlib.contextmanager
    def third_fails(path, **options):
        if len(taken) == 2:
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        taken.append(path)
        with locked(path, **options):
            yield

    locked = files.locked
    monkeypatch.setattr(files, "locked", third_fails)
    with pytest.raises(OSError, match="Too many open"):
        train([SPEC], [0, 1, 2], folder=tmp_path)
    assert len(taken) == 2
    assert not list(tmp_path.iterdir())


def test_more_runs_are_trained_than_files_may_be_open(tmp_path, monkeypatch, undisturbed):
    most, open_now = [], set()

    @contextlib.contextmanager
    def counted(path, **options):
        with locked(path, **options):
            open_now.add(path)
            most.append(len(open_now))
            yield
        open_now.discard(path)

    def refuse(kind, limits):
        raise ValueError("not allowed to raise maximum limit")

    locked = files.locked
    monkeypatch.setattr(files, "locked", counted)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (5, 5))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    runs = train([SPEC], [0, 1, 2, 3, 4], folder=tmp_path)
    assert [result(run) for run in runs[:2]] == undisturbed
    assert [run.status for run in runs] == ["finished"] * 5
    assert max(most) == 2


def test_the_same_command_makes_the_same_fleets_when_some_are_finished(tmp_path, monkeypatch):
    """Parts are cut from what was asked for: with parts of two, 0 and 1, then 2 and 3, then 4."""
    monkeypatch.setattr(files, "room_for_open_files", lambda wanted: 2)
    train([SPEC], [0], folder=tmp_path)
    watch = Stopwatch()
    train([SPEC], [0, 1, 2, 3, 4], folder=tmp_path, watch=watch)
    fleets = dict.fromkeys(tuple(int(name[-1]) for name in progress.runs) for progress in watch.seen)
    assert list(fleets) == [(1,), (2, 3), (4,)]


def test_a_run_that_another_process_finishes_while_the_images_load_is_not_trained_again(tmp_path, monkeypatch):
    opened, others = Squares.open, []

    def open_slowly(self, *, verify=False):
        if not others:
            others.append("another process")
            train([SPEC], [0], folder=tmp_path)
            others.append(everything(tmp_path))
        return opened(self, verify=verify)

    monkeypatch.setattr(Squares, "open", open_slowly)
    assert train([SPEC], [0], folder=tmp_path)[0].status == "finished"
    assert everything(tmp_path) == others[1]
