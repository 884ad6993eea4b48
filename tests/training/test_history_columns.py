"""Columns that few runs need are added to the history, and change nothing else."""

import math
from dataclasses import replace

import pytest
import torch

from tests.training.short_runs import SPEC, stopped
from tests.training.squares import result
from unbraid import figures
from unbraid.codes import Codes
from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import RunError, SpecError
from unbraid.metrics import Informativeness
from unbraid.metrics.scoring import Scoring
from unbraid.models.distributions import DeterministicLatents
from unbraid.models.trained.elbo import CodedImages, hard_elbo
from unbraid.objectives import AAE
from unbraid.training import TrainingOptions, reporter, train
from unbraid.training.batches import Batches
from unbraid.training.history_columns import batch_information
from unbraid.training.runs.run_scores import scored_images

SPLIT = replace(SPEC, subset=RandomSplit(0.75))
BOTH = TrainingOptions(held_out_every=4, latent_information_every=4)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    return train(
        [SPLIT],
        [0, 1],
        folder=tmp_path_factory.mktemp("watched"),
        options=BOTH,
        progress=False,
    )


def known(run):
    steps, values = run.history["step"], run.history["held_out_elbo"]
    return {int(step): value for step, value in zip(steps, values, strict=True) if not math.isnan(value)}


def test_it_is_the_elbo_of_images_that_were_not_trained_on(watched):
    held_out = scored_images(SPLIT, "test").open()
    for run in watched:
        assert list(known(run)) == [4, 8, 10]
        assert known(run)[10] == pytest.approx(hard_elbo(run.model(), held_out).value)
        assert run.history.at_the_end("held_out_elbo") == known(run)[10]
        assert run.score("elbo", Scoring(part="test")).scores[0].value == pytest.approx(known(run)[10])
    assert known(watched[0]) != known(watched[1])


def test_nothing_else_changes(watched, tmp_path):
    for run, other in zip(train([SPLIT], [0, 1], folder=tmp_path, progress=False), watched, strict=True):
        ours, theirs = result(run), result(other)
        assert {name: bits for name, bits in ours.items() if name != "history.csv"} == {
            name: bits for name, bits in theirs.items() if name != "history.csv"
        }
        for column in run.history.columns:
            assert run.history[column] == other.history[column]
        with pytest.raises(RunError, match="latent_information_every=100"):
            run.history.latent_information()


def test_a_run_that_is_resumed_has_the_same_columns(watched, tmp_path):
    [run, _] = stopped([SPLIT], [0, 1], tmp_path, at=5, options=BOTH)
    train([SPLIT], [0, 1], folder=tmp_path, resume=True, options=BOTH, progress=False)
    assert run.history.to_csv() == watched[0].history.to_csv()


def test_it_may_begin_and_end_when_a_run_is_resumed(watched, tmp_path):
    [late] = stopped([SPLIT], [0], tmp_path / "late", at=5)
    train([SPLIT], [0], folder=tmp_path / "late", resume=True, options=BOTH, progress=False)
    assert list(known(late)) == [8, 10]
    [early] = stopped([SPLIT], [0], tmp_path / "early", at=5, options=BOTH)
    train([SPLIT], [0], folder=tmp_path / "early", resume=True, progress=False)
    assert list(known(early)) == [4]


def test_it_is_measured_at_rows_of_the_history_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(reporter, "_ROWS_OF_HISTORY", 3)
    [run] = train([SPLIT], [0], folder=tmp_path, options=TrainingOptions(held_out_every=5), progress=False)
    assert [int(step) for step in run.history["step"]] == [1, 3, 6, 9, 10]
    assert list(known(run)) == [6, 10]


def test_without_held_out_images_or_a_density_there_is_none(tmp_path):
    with pytest.raises(SpecError, match="held_out_every is"):
        train([SPEC], [0], folder=tmp_path, options=BOTH)
    deterministic = replace(SPLIT, model=replace(SPLIT.model, latents=DeterministicLatents(3)), objective=AAE())
    with pytest.raises(SpecError, match="DeterministicLatents"):
        train([deterministic], [0], folder=tmp_path, options=BOTH)
    with pytest.raises(SpecError, match="held_out_every is '4'"):
        train([SPLIT], [0], folder=tmp_path, options=TrainingOptions(held_out_every="4"))
    with pytest.raises(SpecError, match="held_out_every is 0"):
        train([SPLIT], [0], folder=tmp_path, options=TrainingOptions(held_out_every=0))
    assert list(tmp_path.iterdir()) == []


def test_it_is_eq_13_of_the_batch_of_that_step(watched):
    """Written out: q^(z_d) has the weight 1 / N for the image itself and (N - 1) / (N (B - 1)) for each other."""
    images = scored_images(SPLIT, "train").open()
    for run, seed in zip(watched, (0, 1), strict=True):
        steps, values = run.history.latent_information()
        assert steps == [4, 8, 10]
        rows = Batches(torch.tensor([seed]), len(images), SPEC.batch_size).rows(9)[0]
        coded = CodedImages(run.model(), images, rows)
        mean, std, z = coded.posterior.mean.double(), coded.posterior.std.double(), coded.code(10).double()
        num_images, batch = len(images), len(rows)
        for latent in range(z.shape[1]):
            total = 0.0
            for i in range(batch):
                density = torch.distributions.Normal(mean[:, latent], std[:, latent]).log_prob(z[i, latent]).exp()
                others = (density.sum() - density[i]) / (batch - 1)
                mixture = density[i] / num_images + others * (num_images - 1) / num_images
                total += math.log(density[i] / mixture) / batch
            assert values[-1][latent] == pytest.approx(total, abs=1e-4)


def test_of_all_images_it_is_near_the_informativeness_of_the_codes(watched):
    """With B = N the estimate is the mixture of all images, at one draw each."""
    images = scored_images(SPLIT, "train").open()
    with torch.no_grad():
        found = [batch_information(watched[0].model(), images, torch.arange(len(images)), seed) for seed in range(20)]
    codes: Codes = watched[0].codes()
    exact = Informativeness()(codes).per_latent
    assert torch.tensor(found).mean(dim=0).tolist() == pytest.approx(exact, abs=0.02)


def test_it_is_drawn_a_curve_for_each_latent(watched):
    pytest.importorskip("matplotlib")
    axes = figures.latent_curves(*watched[0].history.latent_information(), label="I(x; z)")
    assert len(figures.data_of(axes).rows) == 3


def test_without_a_density_there_is_none(tmp_path):
    deterministic = replace(SPEC, model=replace(SPEC.model, latents=DeterministicLatents(3)), objective=AAE())
    with pytest.raises(SpecError, match="DeterministicLatents"):
        train([deterministic], [0], folder=tmp_path, options=TrainingOptions(latent_information_every=4))
    with pytest.raises(SpecError, match="latent_information_every is 0"):
        train([SPEC], [0], folder=tmp_path, options=TrainingOptions(latent_information_every=0))
    assert list(tmp_path.iterdir()) == []
