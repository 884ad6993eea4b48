"""All images through the encoder, in their order."""

import pytest
import torch

from unbraid.datasets import Factor, FactorImages
from unbraid.models import MLP, Autoencoder, encode, encode_all
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    CorrelatedGaussianLatents,
    DeterministicLatents,
    GaussianLatents,
    GroupedLatents,
    LaplaceLatents,
)

MODEL = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)), latents=GaussianLatents(3)).build((1, 4, 4), seed=0)
TABLE = (Factor("shape", 3, ordered=False), Factor("scale", 5))


def some_images(num=10, factors=None, table=TABLE, weights=None):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (num, 1, 4, 4), dtype=torch.uint8, generator=generator)
    if factors is None:
        factors = (
            torch.stack([torch.arange(num) % factor.size for factor in table], dim=1) if table else torch.zeros(num, 0)
        )
    return FactorImages.from_table(pixels, factors, table, weights)


def test_each_image_gets_its_own_posterior():
    images = some_images()
    codes = encode(MODEL, images)
    for n in range(len(images)):
        alone = MODEL.encode(images.pixels[n : n + 1].float() / 255)
        torch.testing.assert_close(codes.mean[n : n + 1], alone.mean)
        torch.testing.assert_close(codes.std[n : n + 1], alone.std)


@pytest.mark.parametrize("batch_size", [1, 3, 10, 1000])
def test_the_batch_size_does_not_matter(batch_size):
    images = some_images()
    found, expected = encode(MODEL, images, batch_size), encode(MODEL, images)
    # Matrix products of other sizes may sum in another order.
    torch.testing.assert_close(found.mean, expected.mean, atol=1e-6, rtol=0)
    torch.testing.assert_close(found.std, expected.std, atol=1e-6, rtol=0)


LATENTS = {
    "Gaussian": GaussianLatents(3),
    "Laplace": LaplaceLatents(3),
    "correlated": CorrelatedGaussianLatents(3, rho=0.9),
    "grouped": GroupedLatents((LaplaceLatents(2), GaussianLatents(1), ConcreteLatents(5), BernoulliLatents(2))),
}


@pytest.mark.parametrize("latents", LATENTS.values(), ids=LATENTS)
def test_models_together_give_the_codes_that_each_gives_alone(latents):
    images = some_images(weights=torch.full((10,), 0.1))
    models = [
        Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)), latents=latents).build((1, 4, 4), seed) for seed in range(3)
    ]
    together = encode_all(models, images, batch_size=4)
    assert not torch.equal(together[0].mean, together[1].mean)
    for model, codes in zip(models, together, strict=True):
        alone = encode(model, images, batch_size=4)
        assert (codes.groups, codes.factor_names) == (alone.groups, alone.factor_names)
        for name in ("mean", "std", "covariance", "samples", "weights"):
            found, expected = getattr(codes, name), getattr(alone, name)
            assert (found is None and expected is None) or torch.equal(found, expected)
        assert all(map(torch.equal, codes.probabilities, alone.probabilities))


def test_images_are_read_once_for_all_models(monkeypatch):
    read = []
    batch = FactorImages.batch
    monkeypatch.setattr(FactorImages, "batch", lambda self, rows: read.append(rows) or batch(self, rows))
    encode_all([MODEL, MODEL, MODEL], some_images(10), batch_size=4)
    assert read == [slice(0, 4), slice(4, 8), slice(8, 10)]


def test_no_models_have_no_codes():
    assert encode_all([], some_images()) == []


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
def test_products_are_not_rounded_on_a_cpu(precision):
    seen = []
    model = model_with(GaussianLatents(3))
    model.encoder.register_forward_hook(lambda *_: seen.append(torch.get_float32_matmul_precision()))
    before = torch.get_float32_matmul_precision()
    encode(model, some_images(), precision=precision)
    assert seen == ["highest"]
    assert torch.get_float32_matmul_precision() == before


def test_codes_keep_the_factors_and_whether_they_are_ordered():
    images = some_images()
    codes = encode(MODEL, images)
    assert [(labels.name, labels.ordered) for labels in codes.factors] == [("shape", False), ("scale", True)]
    for k, labels in enumerate(codes.factors):
        assert torch.equal(labels.values, images.values[:, k])
        assert not labels.is_continuous


def test_a_continuous_factor_stays_one():
    table = (Factor("angle", 0), Factor("scale", 5))
    values = torch.tensor([[0.1, 0.0], [0.2, 4.0], [0.3, 2.0]], dtype=torch.float64)
    angle, scale = encode(MODEL, some_images(3, values, table)).factors
    assert angle.is_continuous
    assert angle.values.tolist() == [0.1, 0.2, 0.3]
    assert scale.values.tolist() == [0, 4, 2]
    assert not scale.is_continuous


def test_unlabeled_images_have_codes_without_factors():
    assert encode(MODEL, some_images(table=())).factors == ()


def test_codes_keep_the_weights():
    weights = torch.arange(1.0, 11.0) / 55
    torch.testing.assert_close(encode(MODEL, some_images(weights=weights)).weights, weights)
    assert encode(MODEL, some_images()).weights is None


def test_codes_have_the_precision_of_the_model_and_no_gradient():
    model = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,))).build((1, 4, 4), seed=0).double()
    codes = encode(model, some_images(weights=torch.full((10,), 0.1)))
    assert codes.mean.dtype == codes.std.dtype == codes.weights.dtype == torch.float64
    assert not codes.mean.requires_grad


def model_with(latents):
    return Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)), latents=latents).build((1, 4, 4), seed=0)


def test_latents_that_are_not_gaussian_come_as_draws():
    images = some_images()
    model = model_with(LaplaceLatents(3))
    codes = encode(model, images)
    assert codes.std is codes.covariance is None
    assert codes.samples.shape == (16, 10, 3)
    posterior = model.encode(images.batch(torch.arange(10)))
    torch.testing.assert_close(codes.mean, posterior.loc)
    # The mean distance of a Laplace variable from its mean is its scale; 480 draws tell it to a tenth.
    distance = ((codes.samples - posterior.loc).abs() / posterior.log_scale.exp()).mean()
    assert distance.item() == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("batch_size", [1, 3, 10])
def test_the_draws_of_an_image_do_not_depend_on_its_batch(batch_size):
    model, images = model_with(LaplaceLatents(3)), some_images()
    torch.testing.assert_close(
        encode(model, images, batch_size).samples, encode(model, images).samples, atol=1e-5, rtol=0
    )


def test_deterministic_codes_have_no_spread():
    codes = encode(model_with(DeterministicLatents(3)), some_images())
    assert codes.std.tolist() == [[0.0] * 3] * 10
    assert codes.samples is None


def test_correlated_codes_have_their_true_covariance():
    model, images = model_with(CorrelatedGaussianLatents(3, rho=0.9)), some_images()
    codes = encode(model, images)
    posterior = model.encode(images.batch(torch.arange(10)))
    assert codes.std is None
    torch.testing.assert_close(codes.covariance, posterior.covariance)
    torch.testing.assert_close(codes.marginal_std, posterior.std)


def test_groups_give_each_kind_of_latent_its_place():
    latents = GroupedLatents((GaussianLatents(3), ConcreteLatents(5), BernoulliLatents(2)))
    codes = encode(model_with(latents), some_images())
    assert codes.mean.shape == codes.std.shape == (10, 3)
    assert [table.shape for table in codes.probabilities] == [(10, 5), (10, 2), (10, 2)]
    for table in codes.probabilities:
        torch.testing.assert_close(table.sum(dim=1), torch.ones(10))
    assert codes.groups == ((0, 1, 2), (3,), (4,), (5,))


def test_draws_of_a_group_are_those_of_its_continuous_latents():
    latents = GroupedLatents((LaplaceLatents(2), GaussianLatents(1), ConcreteLatents(5)))
    codes = encode(model_with(latents), some_images())
    assert codes.mean.shape == (10, 3)
    assert codes.samples.shape == (16, 10, 3)


def test_discrete_latents_alone_have_no_means():
    codes = encode(model_with(ConcreteLatents(5)), some_images())
    assert codes.mean.shape == (10, 0)
    assert codes.probabilities[0].shape == (10, 5)
