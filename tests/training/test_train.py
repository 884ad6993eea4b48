import contextlib
import errno
import resource
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.training.squares import MLP_SPEC, Squares, everything, result
from tests.training.watchers import Stopwatch
from unbraid import files
from unbraid.data import FromArrays
from unbraid.errors import RunError, SpecError, TrainingError
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE
from unbraid.optimisers import Adam
from unbraid.runs import Run
from unbraid.runs.records import Failure
from unbraid.runs.run_writer import RunWriter
from unbraid.sampling import HeldOutCombinations
from unbraid.training import train
from unbraid.training.fleet import Fleet
from unbraid.training.state import Member

SPEC = replace(MLP_SPEC, num_steps=10, precision="float32")
ABSURD = replace(SPEC, optimiser=Adam(1e30))
"""Its second loss is not finite."""


def stop():
    signal.raise_signal(signal.SIGTERM)


def stopped(specs, seeds, folder, at, **options):
    """Train until a signal comes at a step, and return the runs."""
    with pytest.raises(TrainingError, match=f"Stopped at step {at}"):
        train(specs, seeds, folder=folder, watch=Stopwatch(at, stop), **options)
    return [Run.place(folder, spec, seed) for spec in specs for seed in seeds]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What becomes of SPEC from the seeds 0 and 1 when nothing happens."""
    return [result(run) for run in train([SPEC], [0, 1], folder=tmp_path_factory.mktemp("undisturbed"))]


# ---- from specs to runs


def test_every_spec_is_trained_from_every_seed_in_that_order(tmp_path):
    runs = train([SPEC, replace(SPEC, batch_size=9)], [4, 2], folder=tmp_path)
    assert [(run.spec.batch_size, run.seed, run.status) for run in runs] == [
        (b, s, "finished") for b in (8, 9) for s in (4, 2)
    ]


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
    assert run.history.column("step") == list(range(1, 11))
    assert run.history.column("loss") == [progress.losses["loss"][0] for progress in watch.seen]
    assert [(progress.step, progress.num_steps) for progress in watch.seen] == [(step, 10) for step in range(1, 11)]


def test_the_log_says_what_happened(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path)
    first, last = (run.folder / "log.txt").read_text().splitlines()
    assert "from step 0 to 10 in a fleet of 1 on cpu" in first
    assert "finished" in last


def test_a_finished_run_holds_no_checkpoints_and_no_half_written_files(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path, checkpoint_every=3)
    names = {
        ".lock",
        "codes.safetensors",
        "environment.json",
        "finished.json",
        "history.csv",
        "log.txt",
        "spec.json",
        "weights.safetensors",
    }
    assert set(everything(run.folder)) == names


def test_images_may_have_weights(tmp_path):
    images = Squares().load()
    weights = np.linspace(0, 1, 36)
    dataset = FromArrays.of(images.pixels, images.values, factor_names=["row", "column"], weights=weights)
    runs = train(
        [replace(SPEC, dataset=dataset, objective=BetaTCVAE(estimator="eq13"))],
        [0, 1],
        folder=tmp_path,
        checkpoint_every=4,
    )
    for run in runs:
        assert np.isfinite(run.history.column("loss")).all()
        torch.testing.assert_close(
            run.codes().weights.double(), torch.from_numpy(weights / weights.sum()), rtol=1e-6, atol=0
        )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_training_on_the_gpu_can_be_stopped_resumed_and_read_back_without_one(tmp_path):
    stopped([SPEC], [0, 1], tmp_path, at=7, checkpoint_every=5, device="cuda")
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
        [run] = train([SPEC], [0], folder=tmp_path, force=True)
        assert run.status == "finished"
    aside = tmp_path / ".aside"
    assert sorted(path.name for path in aside.iterdir()) == [f"{run.name}-1", f"{run.name}-2"]
    assert everything(aside / f"{run.name}-1") == first


def test_putting_aside_what_is_not_there_does_nothing(tmp_path):
    assert RunWriter(Run.place(tmp_path, SPEC, 0)).put_aside() is None
    assert everything(tmp_path) == {}


def test_an_unfinished_run_is_refused_unless_one_says_what_to_do(tmp_path):
    stopped([SPEC], [0], tmp_path, at=3)
    before = everything(tmp_path)
    with pytest.raises(RunError, match="--resume.*--force"):
        train([SPEC], [0], folder=tmp_path)
    assert everything(tmp_path) == before
    assert train([SPEC], [0], folder=tmp_path, force=True)[0].status == "finished"


def test_the_same_run_twice_in_one_call_is_refused(tmp_path):
    with pytest.raises(RunError, match="twice"):
        train([SPEC, SPEC], [0], folder=tmp_path)
    assert everything(tmp_path) == {}


def test_a_checkpoint_every_zero_steps_is_refused(tmp_path):
    with pytest.raises(SpecError, match="checkpoint_every is 0"):
        train([SPEC], [0], folder=tmp_path, checkpoint_every=0)


@pytest.mark.parametrize("seeds", [torch.arange(2), iter([np.int64(0), np.uint8(1)])])
def test_seeds_may_be_any_integers(tmp_path, undisturbed, seeds):
    runs = train([SPEC], seeds, folder=tmp_path)
    assert [result(run) for run in runs] == undisturbed
    assert [type(Run.open(run.folder, packages=("unbraid", "tests")).seed) for run in runs] == [int, int]


@pytest.mark.parametrize("seed", [1.5, 1.0, np.float64(1), 2**63, -(2**63) - 1, True, "1", None])
def test_what_is_no_seed_is_refused_before_anything_is_made(tmp_path, seed):
    with pytest.raises(SpecError, match="A seed is .*; expected a whole number from 0 to"):
        train([SPEC], [0, seed], folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "meta", ""])
def test_a_device_that_is_not_there_is_refused_before_anything_is_made(tmp_path, device):
    with pytest.raises(SpecError, match=f"device is '{device}'"):
        train([SPEC], [0], folder=tmp_path, device=device)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_cuda_is_refused(tmp_path):
    with pytest.raises(
        SpecError, match="device is 'cuda', and torch finds 0 GPUs on this machine. Use 'auto' or 'cpu'"
    ):
        train([SPEC], [0], folder=tmp_path, device="cuda")
    assert not list(tmp_path.iterdir())


def test_images_too_few_for_a_later_kind_are_found_out_before_the_first_is_trained(tmp_path):
    few = replace(SPEC, batch_size=36, subset=HeldOutCombinations(("row", "column"), ((0, 0),)))
    with pytest.raises(SpecError, match="batch_size is 36, and the subset has 35 images"):
        train([SPEC, few], [0], folder=tmp_path)
    assert everything(tmp_path) == {}


def test_nothing_to_do_is_done():
    assert train([], [0]) == []


# ---- two at a time


@pytest.mark.parametrize("options", [{"resume": True}, {"force": True}, {}], ids=str)
def test_a_run_that_is_being_trained_is_refused_and_left_alone(tmp_path, undisturbed, options):
    def meddle():
        before = everything(tmp_path)
        with pytest.raises(RunError):
            train([SPEC], [0], folder=tmp_path, **options)
        assert everything(tmp_path) == before

    [run, _] = train([SPEC], [0, 1], folder=tmp_path, watch=Stopwatch(5, meddle), checkpoint_every=3)
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
    with pytest.raises(OSError, match="Too many open files"):
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
    fleets = dict.fromkeys(tuple(run.seed for run in progress.runs) for progress in watch.seen)
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


# ---- members that fail


def test_a_member_that_fails_is_named_and_the_others_go_on(tmp_path):
    said = []
    good, bad = train([SPEC, ABSURD], [0], folder=tmp_path, warn=said.append)
    assert [run.status for run in (good, bad)] == ["finished", "failed"]
    kept = bad.folder / "checkpoints" / "last-good-0000000001.safetensors"
    assert bad.failure == Failure(2, "its loss was not finite", kept)
    assert bad.history.column("step") == [1]
    assert said == [
        (
            f"{bad.name}: its loss was not finite at step 2. It is frozen, its last good weights are kept, and the "
            "others go on."
        )
    ]
    assert "failed at step 2: its loss was not finite" in (bad.folder / "log.txt").read_text()


def test_a_loss_above_the_bound_is_a_failure(tmp_path):
    bound = replace(SPEC, max_loss=1.0)
    with pytest.raises(
        TrainingError, match="1 of 1 failed, the first because its loss was above max_loss \\(1\\) at step 1"
    ):
        train([bound], [0], folder=tmp_path)
    failure = Run.place(tmp_path, bound, 0).failure
    assert (failure.step, failure.reason) == (1, "its loss was above max_loss (1)")


def test_the_last_good_weights_of_a_member_that_failed_are_kept_and_nothing_else_is(tmp_path):
    _, bad = train([SPEC, ABSURD], [0], folder=tmp_path, checkpoint_every=3)
    fleet = Fleet([Member(ABSURD, 0)], SPEC.dataset.load())
    fleet.advance()
    path = bad.failure.last_good
    assert sorted(path.parent.iterdir()) == [path.with_suffix(".json"), path]
    for name, tensor in fleet.state(0).carried.model.weights.items():
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
        pytest.raises(RunError, match="Another process is training"),
    ):
        train([SPEC], [0, 1], folder=tmp_path, force=True)
    assert finished.status == other.status == "finished"


def test_a_failed_run_is_not_tried_again_unless_forced(tmp_path):
    train([SPEC, ABSURD], [0], folder=tmp_path)
    before = everything(tmp_path)
    assert [run.status for run in train([SPEC, ABSURD], [0], folder=tmp_path, resume=True)] == ["finished", "failed"]
    assert everything(tmp_path) == before


def test_when_all_fail_training_stops_and_says_so_and_keeps_what_is_known(tmp_path):
    with pytest.raises(TrainingError, match="2 of 2 failed, the first because its loss was not finite at step 2"):
        train([replace(ABSURD, num_steps=10_000)], [0, 1], folder=tmp_path)
    for seed in (0, 1):
        run = Run.place(tmp_path, replace(ABSURD, num_steps=10_000), seed)
        assert run.status == "failed"
        assert run.history.column("step") == [1]
        assert len(list((run.folder / "checkpoints").glob("*.safetensors"))) == 1


def test_a_fleet_that_fails_does_not_keep_the_next_from_being_trained(tmp_path):
    runs = train([replace(ABSURD, batch_size=9), SPEC], [0], folder=tmp_path)
    assert [run.status for run in runs] == ["failed", "finished"]


def test_a_member_whose_last_step_leads_to_infinite_codes_fails_alone(tmp_path):
    # The one step's loss is finite; what it leads to is seen only when the images are encoded.
    said = []
    one_step = replace(SPEC, num_steps=1)
    good, bad = train([one_step, replace(one_step, optimiser=Adam(1e30))], [0], folder=tmp_path, warn=said.append)
    assert [run.status for run in (good, bad)] == ["finished", "failed"]
    assert bad.name in said[0]


def test_a_member_that_failed_stays_failed_after_a_stop(tmp_path):
    stopped([SPEC, ABSURD], [0], tmp_path, at=5)
    good, bad = train([SPEC, ABSURD], [0], folder=tmp_path, resume=True)
    assert [run.status for run in (good, bad)] == ["finished", "failed"]
    assert bad.failure.step == 2


# ---- stopping and resuming


@pytest.mark.parametrize("at", [1, 7, 10])
def test_a_run_that_was_stopped_resumes_to_the_same_bits(tmp_path, undisturbed, at):
    stopped([SPEC], [0, 1], tmp_path, at, checkpoint_every=4)
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, checkpoint_every=3)
    assert [result(run) for run in runs] == undisturbed
    assert "in a fleet of 2" in (runs[0].folder / "log.txt").read_text().splitlines()[1]


def _damages(content):
    """A file that is gone, emptied, cut, and with one bit altered at every third place."""
    yield from (None, b"", content[:-7])
    for place in range(0, len(content), 3):
        yield content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


def test_a_damaged_history_of_an_unfinished_run_is_refused(tmp_path):
    [left] = stopped([SPEC], [0], tmp_path, at=2)
    path = left.folder / "history.csv"
    content = path.read_bytes()
    for damaged in _damages(content):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"history\.csv is missing or was changed.*--resume"):
            _ = left.history
        path.write_bytes(content)
    assert left.history.column("step") == [1, 2]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"stfp,loss\n1,2\n")])
def test_a_run_whose_history_was_damaged_meanwhile_ends_as_if_it_had_not_been(tmp_path, undisturbed, damage):
    stopped([SPEC], [0, 1], tmp_path, at=4)
    for path in tmp_path.rglob("history.csv"):
        damage(path)
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True)
    assert [result(run) for run in runs] == undisturbed


def test_rows_beyond_the_last_checkpoint_are_read_and_dropped_on_resuming(tmp_path, undisturbed):
    [first, _] = stopped([SPEC], [0, 1], tmp_path, at=4)
    with (first.folder / "history.csv").open("a") as stream:
        stream.write(",".join(["5", *["0.5"] * (len(first.history.columns) - 1)]) + "\n")
    assert first.history.column("step") == [1, 2, 3, 4, 5]
    assert [result(run) for run in train([SPEC], [0, 1], folder=tmp_path, resume=True)] == undisturbed


def test_what_to_type_next_is_said(tmp_path):
    with pytest.raises(TrainingError, match="Stopped at step 3 of 10.*the same command and --resume"):
        train([SPEC], [0], folder=tmp_path, watch=Stopwatch(3, stop))


def test_a_crash_between_checkpoints_costs_only_the_steps_since_the_last(tmp_path, undisturbed):
    def crash():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train([SPEC], [0, 1], folder=tmp_path, checkpoint_every=3, watch=Stopwatch(8, crash))
    watch = Stopwatch()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)
    assert [progress.step for progress in watch.seen] == [7, 8, 9, 10]
    assert [result(run) for run in runs] == undisturbed


def test_a_damaged_checkpoint_takes_the_whole_fleet_back_to_the_one_before_with_a_message(tmp_path, undisturbed):
    stopped([SPEC], [0, 1], tmp_path, at=8, checkpoint_every=3)
    damaged = Run.place(tmp_path, SPEC, 1)
    path = damaged.folder / "checkpoints" / "step-0000000008.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    said, watch = [], Stopwatch()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch, warn=said.append)
    assert [result(run) for run in runs] == undisturbed
    assert [(progress.step, len(progress.runs)) for progress in watch.seen] == [(7, 2), (8, 2), (9, 2), (10, 2)]
    assert len(said) == 1
    assert damaged.name in said[0]


def test_a_member_that_has_lost_its_checkpoints_starts_afresh_and_the_others_go_on(tmp_path):
    stopped([SPEC], [0, 1], tmp_path, at=8, checkpoint_every=3)
    for path in (Run.place(tmp_path, SPEC, 1).folder / "checkpoints").iterdir():
        path.unlink()
    watch = Stopwatch()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)
    assert [run.status for run in runs] == ["finished", "finished"]
    assert [(progress.step, len(progress.runs)) for progress in watch.seen] == [
        (9, 1),
        (10, 1),
        *((step, 1) for step in range(1, 11)),
    ]


def test_a_process_that_died_within_its_first_checkpoint_starts_the_whole_fleet_afresh(tmp_path, undisturbed):
    # Alone, the one would end with other last bits than beside the other.
    stopped([SPEC], [0, 1], tmp_path, at=3)
    for path in (Run.place(tmp_path, SPEC, 1).folder / "checkpoints").iterdir():
        path.unlink()
    watch = Stopwatch()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)
    assert {len(progress.runs) for progress in watch.seen} == {2}
    assert [result(run) for run in runs] == undisturbed


def test_resuming_what_was_never_begun_begins_it(tmp_path, undisturbed):
    assert [result(run) for run in train([SPEC], [0, 1], folder=tmp_path, resume=True)] == undisturbed


def test_checkpoints_that_a_finished_run_was_killed_before_removing_are_removed_later(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path)
    (run.folder / "checkpoints").mkdir()
    (run.folder / "checkpoints" / "step-0000000010.safetensors").write_bytes(b"old")
    train([SPEC], [0], folder=tmp_path)
    assert not (run.folder / "checkpoints").exists()


def test_a_fleet_of_its_own_is_taken_up_as_it_was_left_beside_runs_that_were_never_begun(tmp_path):
    stopped([SPEC], [0, 1], tmp_path, at=4)
    watch = Stopwatch()
    train([SPEC], [0, 1, 2], folder=tmp_path, resume=True, watch=watch)
    assert [(progress.step, len(progress.runs)) for progress in watch.seen] == [
        *((step, 2) for step in range(5, 11)),
        *((step, 1) for step in range(1, 11)),
    ]


def test_a_finished_run_in_whose_folder_another_seed_lies_is_not_taken_for_it(tmp_path):
    [first, second] = train([SPEC], [0, 1], folder=tmp_path)
    (first.folder / "spec.json").write_bytes((second.folder / "spec.json").read_bytes())
    with pytest.raises(RunError, match="is the spec of another run"):
        train([SPEC], [0], folder=tmp_path)


def test_runs_made_by_another_version_are_named_in_one_warning(tmp_path, monkeypatch, caplog):
    with monkeypatch.context() as old:
        old.setattr("unbraid.runs.run_writer.__version__", "0.0.9")
        train([SPEC], [0, 1], folder=tmp_path)
    said = []
    runs = train([SPEC], [0, 1, 2], folder=tmp_path, warn=said.append)
    assert len(said) == 1
    assert f"2 of the runs that were found were made by unbraid 0.0.9 (the first is {runs[0].folder})" in said[0]
    train([SPEC], [0, 1], folder=tmp_path)
    assert caplog.messages == said


def test_a_folder_in_place_of_a_file_of_an_unfinished_run_is_told(tmp_path):
    stopped([SPEC], [0], tmp_path, at=7, checkpoint_every=5)
    run = Run.place(tmp_path, SPEC, 0)
    (run.folder / "log.txt").unlink()
    (run.folder / "log.txt").mkdir()
    with pytest.raises(RunError, match=r"log\.txt is a folder where a file is expected"):
        train([SPEC], [0], folder=tmp_path, resume=True)
