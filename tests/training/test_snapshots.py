"""Weights that are kept on the way."""

import logging
import shutil
from dataclasses import replace

import pytest

from tests.training.short_runs import ABSURD, SPEC, stopped
from tests.training.squares import Squares, everything, result
from tests.training.watchers import Stopwatch
from unbraid.errors import RunError, SpecError, TrainingError
from unbraid.metrics.scoring import Scoring
from unbraid.models import Autoencoder, ChenConv
from unbraid.models.distributions import GaussianLatents
from unbraid.training import TrainingOptions, train
from unbraid.training.runs import Run

STEPS = (2, 5, 9)


def snapshots_of(runs):
    """The bytes of every snapshot."""
    return [everything_in(run.folder / "snapshots") for run in runs]


def everything_in(folder):
    return {name: content for name, (content, _) in everything(folder).items()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Two runs side by side. Shared: a test that changes a folder copies it first."""
    return train([SPEC], [0, 1], folder=tmp_path_factory.mktemp("kept"), options=TrainingOptions(snapshots=STEPS))


def test_a_snapshot_is_the_model_of_a_run_that_ended_there(kept, tmp_path):
    shorter = train([replace(SPEC, num_steps=5)], [0, 1], folder=tmp_path)
    for run, short in zip(kept, shorter, strict=True):
        in_between, expected = run.model(step=5).state_dict(), short.model().state_dict()
        assert all((in_between[name] == expected[name]).all() for name in expected)
        assert (run.codes(step=5).mean == short.codes().mean).all()
        assert run.codes(step=5).factors == short.codes().factors


def test_batch_norm_has_the_statistics_of_all_images_then(tmp_path):
    nets = Autoencoder(ChenConv(channels=(2, 3), hidden=4), latents=GaussianLatents(2))
    spec = replace(SPEC, dataset=Squares(32), model=nets, num_steps=2)
    [run] = train([replace(spec, num_steps=3)], [0], folder=tmp_path, options=TrainingOptions(snapshots=[2]))
    [short] = train([spec], [0], folder=tmp_path)
    in_between, expected = run.model(step=2).state_dict(), short.model().state_dict()
    assert any("running_mean" in name for name in expected)
    assert all((in_between[name] == expected[name]).all() for name in expected)


def test_snapshots_change_nothing_of_the_run(kept, undisturbed):
    assert [result(run) for run in kept] == undisturbed
    assert kept[0].snapshots == STEPS


def test_the_last_step_needs_no_snapshot(kept):
    assert (kept[0].codes(step=10).mean == kept[0].codes().mean).all()


def test_scores_of_a_step_are_kept_apart(kept, tmp_path):
    run = replace(kept[0], folder=shutil.copytree(kept[0].folder, tmp_path / kept[0].name))
    at_the_end, before = run.score("mig", progress=False), run.score("mig", Scoring(step=5), progress=False)
    assert at_the_end.scores[0].value != before.scores[0].value
    assert [score.value for score in run.scores(Scoring(step=5))] == [before.scores[0].value]
    assert [score.value for score in run.scores(Scoring(step=10))] == [at_the_end.scores[0].value]
    assert len(run.scores()) == 2
    assert "after 5 steps" in str(before)


def test_a_run_that_was_stopped_keeps_them_although_they_are_not_named_again(kept, tmp_path):
    left = stopped([SPEC], [0, 1], tmp_path, at=7, options=TrainingOptions(checkpoint_every=3, snapshots=STEPS))
    assert left[0].snapshots == (2, 5)
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True)
    assert snapshots_of(runs) == snapshots_of(kept)
    assert [result(run) for run in runs] == [result(run) for run in kept]


@pytest.mark.parametrize("damaged", [False, True])
def test_one_that_was_written_after_the_last_checkpoint_is_written_again(kept, tmp_path, damaged):
    def crash():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(
            [SPEC],
            [0, 1],
            folder=tmp_path,
            options=TrainingOptions(checkpoint_every=3, snapshots=STEPS),
            watch=Stopwatch(6, crash),
        )
    paths = list(tmp_path.rglob("snapshots/step-0000000005.*"))
    assert len(paths) == 4
    if damaged:  # as if the process had died while it wrote them
        for path in paths:
            path.write_bytes(b"") if path.suffix == ".safetensors" else path.unlink()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True)
    assert snapshots_of(runs) == snapshots_of(kept)


def test_an_unfinished_run_shows_its_snapshots_and_is_not_scored(tmp_path):
    [run] = stopped([SPEC], [0], tmp_path, at=4, options=TrainingOptions(snapshots=[3]))
    assert run.codes(step=3).mean.shape == (36, 3)
    with pytest.raises(RunError, match="codes.safetensors"):
        run.score("mig", Scoring(step=3))


def test_a_step_without_a_snapshot_is_refused(kept):
    with pytest.raises(RunError, match=r"2, 5, 9\).*snapshots=\[4\]"):
        kept[0].codes(step=4)
    with pytest.raises(RunError, match="step 4"):
        kept[0].score("mig", Scoring(step=4))
    with pytest.raises(SpecError, match="'5'"):
        kept[0].model("5")
    with pytest.raises(SpecError, match="step is 0"):
        kept[0].codes(step=0)


def test_a_finished_run_says_that_it_lacks_what_is_asked_for(kept, caplog):
    folder = kept[0].folder.parent
    before = everything(folder)
    with caplog.at_level(logging.WARNING):
        train([SPEC], [0, 1], folder=folder, options=TrainingOptions(snapshots=[5, 7, 10], keep_state=True))
    lacking, stateless = caplog.messages
    assert lacking.startswith("2 existing runs do not have a snapshot of step 7")
    assert "the state" in stateless
    assert everything(folder) == before


def test_a_step_that_a_resumed_run_has_passed_is_told(tmp_path, caplog):
    stopped([SPEC], [0], tmp_path, at=4)
    with caplog.at_level(logging.WARNING):
        [run] = train([SPEC], [0], folder=tmp_path, resume=True, options=TrainingOptions(snapshots=[3, 6]))
    [message] = caplog.messages
    assert message.startswith(f"The snapshot of step 3 cannot be saved, because {run.name} resumes from step 4.")
    assert run.snapshots == (6,)


def test_a_snapshot_beyond_the_end_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(SpecError, match="step 11"):
        train([SPEC], [0], folder=tmp_path, options=TrainingOptions(snapshots=[11]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_a_damaged_snapshot_is_refused(kept, tmp_path, suffix):
    run = replace(kept[0], folder=shutil.copytree(kept[0].folder, tmp_path / kept[0].name))
    path = run.folder / "snapshots" / f"step-0000000005{suffix}"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(RunError, match=r"snapshot .*step-0000000005\.json"):
        run.model(step=5)


def test_a_snapshot_of_another_run_is_refused(kept, tmp_path):
    run = replace(kept[0], folder=shutil.copytree(kept[0].folder, tmp_path / kept[0].name))
    shutil.rmtree(run.folder / "snapshots")
    shutil.copytree(kept[1].folder / "snapshots", run.folder / "snapshots")
    with pytest.raises(RunError, match="checkpoint of a run"):
        run.model(step=5)


def test_a_member_that_has_failed_keeps_none_from_then_on(tmp_path):
    with pytest.raises(TrainingError, match="1 runs failed"):
        train([ABSURD], [0], folder=tmp_path, options=TrainingOptions(snapshots=[1, 5]))
    assert Run.place(tmp_path, ABSURD, 0).snapshots == (1,)
