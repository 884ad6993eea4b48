"""A run that goes on where a shorter one ended has the bits of one that was asked for at once."""

import inspect
import shutil
from dataclasses import replace

import pytest

from tests.training.short_runs import SPEC, stop, stopped
from tests.training.squares import everything, result
from tests.training.watchers import Stopwatch
from unbraid.config.schedule import Linear
from unbraid.errors import RunError, SpecError, TrainingInterrupted
from unbraid.objectives import DIPVAE, BetaVAE, FactorVAE
from unbraid.training import TrainingOptions, extend, train
from unbraid.training.critic import Critic
from unbraid.training.optimizers import Adam
from unbraid.training.runs import Run

SHORT, LONG = replace(SPEC, num_steps=6), replace(SPEC, num_steps=10)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Two short runs side by side with their states. Shared: a test that changes a folder copies it first."""
    return train([SHORT], [0, 1], folder=tmp_path_factory.mktemp("short"), options=TrainingOptions(keep_state=True))


@pytest.fixture
def copied(short, tmp_path):
    """The same, to be changed."""
    return [Run(shutil.copytree(run.folder, tmp_path / run.name), run.spec, run.seed) for run in short]


def test_runs_that_are_extended_together_have_the_bits_of_longer_ones(copied, undisturbed):
    before = everything(copied[0].folder.parent)
    longer = extend(copied, 10)
    assert [result(run) for run in longer] == undisturbed
    assert [run.folder for run in longer] == [Run.place(copied[0].folder.parent, LONG, seed).folder for seed in (0, 1)]
    after = everything(copied[0].folder.parent)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    "changes",
    [{"objective": FactorVAE(), "critic": Critic(hidden=(8,))}, {"objective": DIPVAE(mode="ema")}],
    ids=["a critic", "a running covariance"],
)
def test_one_run_extends_with_all_that_it_carries(tmp_path, changes):
    spec = replace(SHORT, **changes)
    [expected] = train([replace(spec, num_steps=9)], [3], folder=tmp_path / "at once")
    [run] = train([spec], [3], folder=tmp_path / "in two", options=TrainingOptions(keep_state=True))
    assert result(run.extend(9, progress=False)) == result(expected)


def test_a_longer_run_can_be_extended_again(copied, tmp_path):
    [expected] = train([LONG], [0], folder=tmp_path / "at once")
    [first] = train([SHORT], [0], folder=tmp_path / "in three", options=TrainingOptions(keep_state=True))
    longer = first.extend(8, progress=False).extend(
        10, options=TrainingOptions(snapshots=[9], keep_state=False), progress=False
    )
    assert result(longer) == result(expected)
    assert (longer.snapshots, longer.has_state) == ((9,), False)
    log = (longer.folder / "log.txt").read_text()
    assert "from step 8" in log


def test_a_longer_run_that_is_there_is_found(copied):
    [longer] = extend(copied[:1], 10)
    before = everything(longer.folder)
    assert copied[0].extend(10, progress=False) == longer
    assert everything(longer.folder) == before


def test_an_extension_that_was_stopped_is_gone_on_with(copied, undisturbed):
    with pytest.raises(TrainingInterrupted, match="8 of 10"):
        extend(copied, 10, watch=Stopwatch(8, stop), progress=False)
    watch = Stopwatch()
    longer = extend(copied, 10, watch=watch, progress=False)
    assert [event.done for event in watch.seen] == [9, 10]
    assert [result(run) for run in longer] == undisturbed


def test_one_that_died_before_its_first_checkpoint_is_handed_the_state_again(copied, undisturbed, monkeypatch):
    def crash(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("unbraid.training.extension.save_checkpoint", crash)
    with pytest.raises(ZeroDivisionError):
        extend(copied, 10)
    monkeypatch.undo()
    watch = Stopwatch()
    assert [result(run) for run in extend(copied, 10, watch=watch, progress=False)] == undisturbed
    assert watch.seen[0].done == 7


def test_a_single_run_is_extended(copied, undisturbed):
    assert [result(run) for run in extend([copied[0]], 10)] == [result(run) for run in extend(copied[0], 10)]


def test_the_history_is_that_of_the_longer_run(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.training.reporter._ROWS_OF_HISTORY", 3)
    spec = replace(SPEC, num_steps=6)
    [expected] = train([replace(spec, num_steps=12)], [0], folder=tmp_path / "at once")
    [run] = train([spec], [0], folder=tmp_path / "in two", options=TrainingOptions(keep_state=True))
    assert run.history["step"] == [1, 2, 4, 6]
    assert run.extend(12, progress=False).history == expected.history
    # Every third step: step 3 was not written down, so all rows stay.
    assert run.extend(9, progress=False).history["step"] == [1, 2, 4, 6, 9]


def test_a_run_without_its_state_is_refused(tmp_path):
    [run] = train([SHORT], [0], folder=tmp_path)
    with pytest.raises(RunError, match=r"last step.*keep_state=True"):
        run.extend(10)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"objective": BetaVAE(beta=Linear(0.0, 4.0))}, "objective.beta"),
        ({"optimizer": Adam(Linear(1e-3, 1e-4))}, "optimizer.learning_rate"),
    ],
)
def test_a_run_with_a_schedule_is_refused(tmp_path, changes, where):
    [run] = train([replace(SHORT, **changes)], [0], folder=tmp_path, options=TrainingOptions(keep_state=True))
    with pytest.raises(SpecError, match=where):
        run.extend(10)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("num_steps", [6, 3])
def test_a_run_is_not_made_shorter(short, num_steps):
    with pytest.raises(SpecError, match="more than 6"):
        extend(short, num_steps)


def test_a_number_of_steps_is_a_number(short):
    with pytest.raises(SpecError, match="num_steps is '12'"):
        inspect.unwrap(extend)(short, "12")


def test_an_unfinished_run_is_refused(tmp_path):
    [run] = stopped([SPEC], [0], tmp_path, at=4, options=TrainingOptions(keep_state=True))
    with pytest.raises(RunError, match="finished run can"):
        run.extend(20)


@pytest.mark.parametrize("name", ["state.json", "state.safetensors"])
def test_a_damaged_state_is_refused(copied, name):
    path = copied[0].folder / name
    path.write_bytes(path.read_bytes()[:-2] + b"??")
    with pytest.raises(RunError, match=r"state\.json cannot"):
        copied[0].extend(10)
    assert Run.place(copied[0].folder.parent, LONG, 0).status == "new"


def test_a_run_that_was_stopped_keeps_its_state_all_the_same(tmp_path, undisturbed):
    stopped([SHORT], [0, 1], tmp_path, at=4, options=TrainingOptions(keep_state=True))
    runs = train([SHORT], [0, 1], folder=tmp_path, resume=True)
    assert [result(run) for run in extend(runs, 10)] == undisturbed
