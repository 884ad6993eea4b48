import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.metrics import MIG, Score
from unbraid.metrics.estimators import MeansHistogram, Quantized, Sampled
from unbraid.metrics.latent_readings import factor_shares, known_shares, read_latents
from unbraid.metrics.unused_latents import informativeness


def score(information, entropy):
    gaps = [math.nan if h == 0 else 0.5 for h in entropy]
    return Score(
        "MIG",
        0.5,
        per_factor={f"factor_{k}": gap for k, gap in enumerate(gaps)},
        tables={
            "mutual_information": torch.tensor(information, dtype=torch.float64),
            "factor_entropy": torch.tensor(entropy, dtype=torch.float64),
        },
    )


def two_values():
    """The first latent tells two values apart for certain; the second is the prior, whatever the image."""
    value = torch.arange(8) % 2
    mean = torch.stack([200.0 * value, torch.zeros(8)], dim=1).double()
    return Codes.from_arrays(mean, std=torch.ones_like(mean), factors={"value": value})


def test_a_latent_that_tells_two_equal_values_apart_says_log_two():
    told, untold = read_latents(two_values(), None)
    assert (told.latent, told.nats) == (0, pytest.approx(math.log(2), abs=1e-6))
    assert (untold.latent, untold.nats) == (1, pytest.approx(0, abs=1e-6))
    assert (told.is_unused, untold.is_unused) == (False, True)


def test_an_exact_mig_spares_the_integral_and_changes_nothing():
    codes = two_values()
    torch.testing.assert_close(informativeness(codes, MIG()(codes)), informativeness(codes, None), atol=1e-8, rtol=0)


def test_a_latent_follows_the_factor_of_which_it_knows_the_largest_share():
    codes = two_values()
    (first, _) = read_latents(codes, score([[0.6, 0.8], [0.0, 0.0]], [1.0, 4.0]))
    assert first.follows == (("factor_0", pytest.approx(0.6)),)


def test_a_latent_that_knows_half_as_much_of_a_second_factor_is_named_after_both():
    (first, _) = read_latents(two_values(), score([[0.3, 0.5], [0.0, 0.0]], [1.0, 1.0]))
    assert [name for name, _ in first.follows] == ["factor_1", "factor_0"]


def test_a_latent_that_knows_little_of_every_factor_follows_none():
    (first, _) = read_latents(two_values(), score([[0.09, 0.05], [0.0, 0.0]], [1.0, 1.0]))
    assert first.follows == ()


def test_a_factor_that_never_varies_has_no_share():
    shares = factor_shares(score([[0.0, 0.5]], [0.0, 1.0]))
    torch.testing.assert_close(shares, torch.tensor([[math.nan, 0.5]], dtype=torch.float64), equal_nan=True)


def test_means_alone_are_refused():
    with pytest.raises(CodesError, match="only means"):
        read_latents(Codes.from_arrays(torch.zeros(3, 2)), None)


def test_discrete_latents_are_read_too():
    told = torch.eye(2, dtype=torch.float64).repeat(4, 1)
    codes = Codes.from_arrays(
        torch.zeros(8, 1), std=torch.ones(8, 1), probabilities=[told, torch.full((8, 3), 1 / 3, dtype=torch.float64)]
    )
    by_latent = {reading.latent: reading for reading in read_latents(codes, None)}
    assert [by_latent[j].nats for j in range(3)] == pytest.approx([0.0, math.log(2), 0.0], abs=1e-6)
    assert [by_latent[j].num_categories for j in range(3)] == [0, 2, 3]
    with_mig = replace(codes, factors=(Labels("value", torch.arange(8) % 2),))
    torch.testing.assert_close(
        informativeness(with_mig, MIG()(with_mig)), informativeness(codes, None), atol=1e-8, rtol=0
    )


@pytest.mark.parametrize("form", ["a std of 0", "draws"])
def test_codes_without_a_density_are_read_through_bins(form):
    mean = torch.stack([4.0 * (torch.arange(8) % 2) - 2, torch.zeros(8)], dim=1).double()
    codes = (
        Codes.from_arrays(mean, std=torch.zeros_like(mean)) if form == "a std of 0" else Codes.from_arrays(samples=mean)
    )
    assert [reading.nats for reading in read_latents(codes, None)] == pytest.approx([math.log(2), 0.0], abs=1e-9)


def test_on_few_images_chance_is_not_taken_for_a_factor():
    """A latent of noise with narrow posteriors seems to know a fifth of 20 values in 200 images, and knows nothing."""
    rng = np.random.default_rng(0)
    v = rng.integers(0, 20, 200)
    mean = np.stack([rng.normal(size=200), v + 0.0], axis=1)
    codes = Codes.from_arrays(mean, np.full((200, 2), 0.1), factors={"v": v})
    mig = MIG()(codes)
    assert float(factor_shares(mig)[0]) > 0.15
    readings = {reading.latent: reading.follows for reading in read_latents(codes, mig)}
    assert readings[0] == ()
    assert readings[1][0] == ("v", pytest.approx(1, abs=0.02))


def test_chance_is_that_of_images_that_may_be_drawn():
    """A value that few images have, beside images of weight 0: shuffled among all it would vanish."""
    v = np.array([1] * 3 + [0] * 97)
    weights = np.array([1.0] * 20 + [0.0] * 80)
    rng = np.random.default_rng(0)
    codes = Codes.from_arrays(rng.normal(size=(100, 2)), np.full((100, 2), 0.1), factors={"v": v}, weights=weights)
    assert all(0 <= share <= 1 for reading in read_latents(codes, MIG()(codes)) for _, share in reading.follows)


@pytest.mark.parametrize("estimator", [Quantized(), MeansHistogram(), Sampled(num_samples=100)])
def test_chance_is_taken_off_only_as_the_score_was_estimated(estimator):
    rng = np.random.default_rng(0)
    v = rng.integers(0, 20, 200)
    std = 0.1 if isinstance(estimator, Sampled) else 1e-12
    codes = Codes.from_arrays(rng.normal(size=(200, 2)), np.full((200, 2), std), factors={"v": v})
    mig = MIG(estimator)(codes)
    shares, plain = known_shares(codes, mig), factor_shares(mig)
    assert torch.equal(shares, plain) == (not isinstance(estimator, MeansHistogram))
    assert bool((shares <= plain).all())
