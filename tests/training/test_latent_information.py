"""The information of each latent is in the history, is eq. 13 of the batch, and changes nothing else."""

import math
from dataclasses import replace

import pytest
import torch

from tests.training.short_runs import SPEC, stopped
from tests.training.squares import result
from unbraid import figures
from unbraid.codes import Codes
from unbraid.errors import RunError, SpecError
from unbraid.metrics import Informativeness
from unbraid.models.distributions import DeterministicLatents
from unbraid.models.trained.coded_images import CodedImages
from unbraid.objectives import AAE
from unbraid.training import TrainingOptions, train
from unbraid.training.batches import Batches
from unbraid.training.latent_information import batch_information
from unbraid.training.runs.scored_images import scored_images


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    return train(
        [SPEC],
        [0, 1],
        folder=tmp_path_factory.mktemp("watched"),
        options=TrainingOptions(latent_information_every=4),
        progress=False,
    )


def test_it_is_eq_13_of_the_batch_of_that_step(watched):
    """Written out: q^(z_d) has the weight 1 / N for the image itself and (N - 1) / (N (B - 1)) for each other."""
    images = scored_images(SPEC, "train").open()
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
    images = scored_images(SPEC, "train").open()
    with torch.no_grad():
        found = [batch_information(watched[0].model(), images, torch.arange(len(images)), seed) for seed in range(20)]
    codes: Codes = watched[0].codes()
    exact = Informativeness()(codes).per_latent
    assert torch.tensor(found).mean(dim=0).tolist() == pytest.approx(exact, abs=0.02)


def test_nothing_else_changes(watched, tmp_path):
    for run, other in zip(train([SPEC], [0, 1], folder=tmp_path, progress=False), watched, strict=True):
        ours, theirs = result(run), result(other)
        assert {name: bits for name, bits in ours.items() if name != "history.csv"} == {
            name: bits for name, bits in theirs.items() if name != "history.csv"
        }
        for column in run.history.columns:
            assert run.history.column(column) == other.history.column(column)
        with pytest.raises(RunError, match="Train with latent_information_every=100"):
            run.history.latent_information()


def test_a_run_that_is_resumed_has_the_same_columns(watched, tmp_path):
    [run, _] = stopped([SPEC], [0, 1], tmp_path, at=5, options=TrainingOptions(latent_information_every=4))
    train(
        [SPEC],
        [0, 1],
        folder=tmp_path,
        resume=True,
        options=TrainingOptions(latent_information_every=4),
        progress=False,
    )
    assert run.history.to_csv() == watched[0].history.to_csv()


def test_it_is_drawn_a_curve_for_each_latent(watched):
    pytest.importorskip("matplotlib")
    axes = figures.latent_curves(*watched[0].history.latent_information(), label="I(x; z)")
    assert len(figures.data_of(axes).rows) == 3


def test_without_a_density_there_is_none(tmp_path):
    deterministic = replace(SPEC, model=replace(SPEC.model, latents=DeterministicLatents(3)), objective=AAE())
    with pytest.raises(SpecError, match="DeterministicLatents have no density to estimate it from"):
        train([deterministic], [0], folder=tmp_path, options=TrainingOptions(latent_information_every=4))
    with pytest.raises(SpecError, match="latent_information_every is 0"):
        train([SPEC], [0], folder=tmp_path, options=TrainingOptions(latent_information_every=0))
    assert list(tmp_path.iterdir()) == []
