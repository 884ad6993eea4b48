"""Vectors are data: they are trained on with an MLP and a Gaussian likelihood, scored and shown like images."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid import MLP, Autoencoder, BetaVAE, Conv, FromArrays, Run, RunSpec, Scoring, train, write_report
from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import DataError, SpecError
from unbraid.models.distributions import (
    ContinuousBernoulliLikelihood,
    GaussianLatents,
    GaussianLikelihood,
    LaplaceLikelihood,
)
from unbraid.training import TrainingOptions
from unbraid.training.optimizers import Adam

RNG = np.random.default_rng(0)
FACTORS = {"size": np.arange(60) % 3, "angle": RNG.normal(size=60)}
X = np.stack([FACTORS["size"], FACTORS["angle"], *RNG.normal(size=(5, 60))], axis=1) * 3.0 - 1.0
MODEL = Autoencoder(MLP((8,), (8,)), latents=GaussianLatents(2), likelihood=GaussianLikelihood(0.5))


def spec(dataset, **changes):
    return replace(RunSpec(dataset, MODEL, BetaVAE(), num_steps=200, batch_size=10, optimizer=Adam(1e-2)), **changes)


@pytest.fixture(scope="module")
def dataset():
    return FromArrays.from_arrays(X, FACTORS)


@pytest.fixture(scope="module")
def run(dataset, tmp_path_factory):
    [run] = train(spec(dataset), folder=tmp_path_factory.mktemp("runs"))
    return run


def test_vectors_are_kept_as_they_are_in_single_precision(dataset):
    images = dataset.load()
    assert dataset.holds_vectors
    assert (dataset.num_images, dataset.image_shape) == (60, (1, 1, 7))
    np.testing.assert_array_equal(images.batch(slice(None))[:, 0, 0], X.astype(np.float32))
    assert [labels.name for labels in images.factors] == ["size", "angle"]
    assert FromArrays.from_arrays(torch.from_numpy(X), FACTORS).sha256 == dataset.sha256
    assert not FromArrays.from_arrays(np.full((3, 4, 4), 200, dtype=np.uint8)).holds_vectors


def test_they_are_trained_on_and_what_is_learned_is_less_wrong(run):
    distortion = run.history["distortion"]
    assert run.status == "finished"
    assert distortion[-1] < 0.8 * distortion[0]
    assert run.codes().mean.shape == (60, 2)


def test_the_distortion_is_that_of_a_gaussian(run):
    model, x = run.model(), torch.from_numpy(X).float()
    decoded = model.reconstruct(X)
    expected = torch.distributions.Normal(decoded[:, 0, 0], 0.5).log_prob(x).sum(dim=1)
    torch.testing.assert_close(model.likelihood.log_prob(x[:, None, None], decoded), expected)


def test_they_are_encoded_by_the_run_and_scored(run):
    torch.testing.assert_close(run.encoder()(X).mean, run.codes().mean)
    assert 0 <= run.score("mig:neighbors", Scoring(factors=("size",))).scores[0].value <= 1


def test_streamed_or_of_a_subset_they_are_the_same(dataset, tmp_path):
    some = spec(dataset, subset=RandomSplit(0.5), num_steps=5)
    [first] = train(some, folder=tmp_path / "memory", options=TrainingOptions(stream=False))
    [second] = train(some, folder=tmp_path / "disk", options=TrainingOptions(stream=True))
    assert first.history == second.history
    assert torch.equal(first.codes().mean, second.codes().mean)


def test_a_page_is_written_of_them(run, tmp_path):
    page = write_report([run], tmp_path / "report.html").read_text()
    assert "60 vectors" in page
    assert "from-arrays" in re.search("<title>(.*?)</title>", page)[1]
    assert "Vectors from all over the data" in page
    # Curves are pictures of this size; a vector as a row of pixels would have a height of 1.
    assert re.search(r'height="64" alt="Vectors of the dataset"', page)


def test_the_name_of_the_data_is_on_the_page(tmp_path):
    named = FromArrays.from_arrays(X, name="sine waves")
    assert (named.path, named.sha256) == (FromArrays.from_arrays(X).path, FromArrays.from_arrays(X).sha256)
    assert spec(named).digest != spec(FromArrays.from_arrays(X)).digest == spec(replace(named, name="")).digest
    [run] = train(spec(named, num_steps=2), folder=tmp_path, progress=False)
    page = write_report([run], tmp_path / "report.html").read_text()
    assert "on sine waves" in page
    assert Run.open(run.folder).spec.dataset.name == "sine waves"


@pytest.mark.parametrize("likelihood", [None, ContinuousBernoulliLikelihood()], ids=["by default", "continuous"])
def test_a_likelihood_of_intensities_is_refused(dataset, likelihood):
    model = Autoencoder(MLP()) if likelihood is None else replace(MODEL, likelihood=likelihood)
    with pytest.raises(SpecError, match="0 to 1."):
        RunSpec(dataset, model, num_steps=1, batch_size=10)
    assert spec(dataset, model=replace(MODEL, likelihood=LaplaceLikelihood())).batch_size == 10


def test_a_convolution_is_refused(dataset):
    with pytest.raises(SpecError, match="1 x 1"):
        spec(dataset, model=replace(MODEL, encoder=Conv()))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
def test_numbers_that_are_none_are_refused(wrong):
    vectors = X.copy()
    vectors[3, 2] = wrong
    with pytest.raises(DataError, match="1 of 60"):
        FromArrays.from_arrays(vectors)


def test_vectors_of_another_length_and_images_are_told_apart(run):
    with pytest.raises(DataError, match="5 numbers"):
        run.encoder()(X[:, :5])
