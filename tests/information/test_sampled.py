"""Densities of the aggregate posterior at draws: against plain log-sum-exp over all pairs, in both precisions, and
where terms overflow.
"""

import dataclasses
import math

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal

from unbraid._internal.progress import listening
from unbraid.information import sampled
from unbraid.information.posteriors import Draws, Posteriors
from unbraid.information.sampled import log_densities

FIELDS = ("each", "joint", "without", "groups")


def case(num_images=40, num_latents=3, num_draws=25, *, weighted=False, num_categories=(), correlated=False, seed=0):
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator)
    std = torch.exp(torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator) - 1)
    weights = (
        torch.rand(num_images, dtype=torch.float64, generator=generator)
        if weighted
        else torch.ones(num_images).double()
    )
    tables = [torch.rand(num_images, size, dtype=torch.float64, generator=generator) for size in num_categories]
    covariance = None
    if correlated:
        root = torch.randn(num_images, num_latents, num_latents, dtype=torch.float64, generator=generator)
        covariance = root @ root.mT + 0.2 * torch.eye(num_latents, dtype=torch.float64)
        std = covariance.diagonal(dim1=1, dim2=2).sqrt()
    tables = tuple(table / table.sum(dim=1, keepdim=True) for table in tables)
    posteriors = Posteriors(mean, std, weights / weights.sum(), covariance, tables)
    image = torch.randint(0, num_images, (num_draws,), generator=generator)
    noise = torch.randn(num_draws, num_latents, dtype=torch.float64, generator=generator)
    uniform = torch.rand(num_draws, len(tables), dtype=torch.float64, generator=generator)
    return posteriors, posteriors.draw(image, noise, uniform)


def slow(posteriors, draws, groups=()):
    """log q of every stream, for the mixture and for the draw's own image, from densities of torch."""
    num_gaussian = posteriors.mean.shape[1]

    def log_density(members):
        gaussian, discrete = (
            [i for i in members if i < num_gaussian],
            [i - num_gaussian for i in members if i >= num_gaussian],
        )
        total = torch.zeros(len(draws), len(posteriors.mean), dtype=torch.float64)
        if gaussian:
            z, mean = draws.z[:, None, gaussian], posteriors.mean[:, gaussian]
            if posteriors.covariance is None:
                total += Normal(mean, posteriors.std[:, gaussian]).log_prob(z).sum(dim=2)
            else:
                total += MultivariateNormal(mean, posteriors.covariance[:, gaussian][:, :, gaussian]).log_prob(z)
        for k in discrete:
            total += posteriors.probabilities[k].log()[:, draws.categories[:, k]].T
        return total

    everything = range(posteriors.num_latents)
    streams = {
        "each": [log_density([i]) for i in everything],
        "joint": [log_density(everything)],
        "without": [log_density([j for j in everything if j != i]) for i in everything],
        "groups": [log_density(group) for group in groups],
    }
    found = {}
    for name, logs in streams.items():
        if logs:
            own = torch.stack([log[torch.arange(len(draws)), draws.image] for log in logs], dim=1)
            mixture = torch.stack([(log + posteriors.weights.log()).logsumexp(dim=1) for log in logs], dim=1)
            found[name], found[f"{name}_given_image"] = (
                part[:, 0] if name == "joint" else part for part in (mixture, own)
            )
    return found


def check(found, expected, **tolerance):
    for name, value in expected.items():
        torch.testing.assert_close(
            getattr(found, name), value, msg=lambda text, name=name: f"{name}: {text}", **tolerance
        )


CASES = {
    "uniform": {},
    "weighted": {"weighted": True},
    "discrete": {"num_categories": (3, 2)},
    "discrete and weighted": {"num_categories": (4,), "weighted": True},
    "correlated": {"correlated": True},
    "correlated, discrete and weighted": {"correlated": True, "num_categories": (3,), "weighted": True},
    "one latent": {"num_latents": 1},
    "discrete alone": {"num_latents": 0, "num_categories": (3, 4)},
}


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_it_matches_plain_log_sum_exp_over_all_pairs(settings):
    posteriors, draws = case(**settings)
    groups = [(0,)] if posteriors.num_latents < 2 else [(0, 1), (posteriors.num_latents - 1, 0)]
    check(log_densities(posteriors, draws, groups), slow(posteriors, draws, groups), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(
    "settings", [{}, {"weighted": True}, {"num_categories": (3, 2)}], ids=["uniform", "weighted", "discrete"]
)
def test_float32_terms_move_a_log_density_by_less_than_1e_5(settings):
    posteriors, draws = case(**settings)
    single = log_densities(posteriors, draws, [(0, 1)], dtype=torch.float32)
    check(single, slow(posteriors, draws, [(0, 1)]), atol=1e-5, rtol=0)


def test_float32_terms_keep_their_digits_far_from_the_origin():
    """Means at 3000 are 2e-4 apart in float32, and the stds are 0.05. Deviations from the middle of the codes are not
    rounded so.
    """
    generator = torch.Generator().manual_seed(0)
    mean = 3000 + torch.randn(2100, 2, dtype=torch.float64, generator=generator)
    posteriors = Posteriors(mean, torch.full_like(mean, 0.05), torch.full((2100,), 1 / 2100, dtype=torch.float64))
    noise = torch.randn(300, 2, dtype=torch.float64, generator=generator)
    draws = posteriors.draw(torch.arange(300), noise, noise[:, :0])
    single, double = (log_densities(posteriors, draws, dtype=dtype) for dtype in (torch.float32, torch.float64))
    for name in ("each", "joint", "without"):
        # 4 / 0.05 stds from the middle, rounded by 6e-8 of that: 5e-6 stds, and a neighbor that counts is a few stds
        # away.
        torch.testing.assert_close(getattr(single, name), getattr(double, name), atol=1e-4, rtol=0)
    assert bool((single.joint_given_image - single.joint <= math.log(2100) + 1e-4).all())


def test_blocks_of_draws_and_images_add_up(monkeypatch):
    posteriors, draws = case(weighted=True, num_categories=(3,))
    whole = log_densities(posteriors, draws)
    monkeypatch.setattr(sampled, "_IMAGES_PER_BLOCK", {"cpu": 7})
    monkeypatch.setattr(sampled, "_BLOCK_TERMS", {"cpu": 4 * 7 * 3})
    blocks = log_densities(posteriors, draws)
    for name in FIELDS:
        torch.testing.assert_close(getattr(blocks, name), getattr(whole, name), atol=1e-12, rtol=0)


def test_terms_that_overflow_are_done_again_in_log_space(monkeypatch):
    """Draws of wide posteriors that land on narrow ones: a ratio of 1e4 in each of ten latents is beyond float32."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.zeros(30, 10, dtype=torch.float64)
    std = torch.cat([torch.full((15, 10), 1e-4), torch.ones(15, 10)]).double()
    posteriors = Posteriors(mean, std, torch.full((30,), 1 / 30).double())
    z = torch.randn(6, 10, dtype=torch.float64, generator=generator)
    z[:3] = 1e-5  # where the narrow ones are
    draws = Draws.of(z, torch.tensor([20, 21, 22, 23, 24, 25]))
    redone = []
    in_log_space = sampled._in_log_space

    def spy(posteriors, draws, *rest):
        redone.extend(draws.image.tolist())
        return in_log_space(posteriors, draws, *rest)

    monkeypatch.setattr(sampled, "_in_log_space", spy)
    monkeypatch.setattr(sampled, "_DRAWS_IN_LOG_SPACE", 2)
    monkeypatch.setattr(sampled, "_IMAGES_IN_LOG_SPACE", 4)
    found = log_densities(posteriors, draws, dtype=torch.float32)
    assert redone == [20, 21, 22]
    check(found, slow(posteriors, draws), atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_far_from_every_image_keep_their_own_density(dtype):
    """A mixture of images that lie 1e5 stds apart: everything but the draw's own underflows, as it should."""
    mean = 100 * torch.arange(8, dtype=torch.float64)[:, None].expand(8, 4).contiguous()
    posteriors = Posteriors(mean, torch.full_like(mean, 1e-3), torch.full((8,), 1 / 8).double())
    draws = posteriors.draw(
        torch.arange(8), torch.randn(8, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), mean[:, :0]
    )
    found = log_densities(posteriors, draws, dtype=dtype)
    torch.testing.assert_close(
        found.joint, found.joint_given_image - math.log(8), atol=1e-5 if dtype == torch.float64 else 1e-1, rtol=0
    )


def test_twenty_latents_say_no_less_than_five():
    """Do & Tran's code floors densities at 1e-8, and a standard normal in 20 dimensions has its peak there: I(x; z)
    falls from 5.3 to 1 (their Fig. 19).
    """
    generator = torch.Generator().manual_seed(0)
    informative = torch.randn(200, 5, dtype=torch.float64, generator=generator)
    noise = torch.randn(200, 20, dtype=torch.float64, generator=generator)
    found = {}
    for num_latents in (5, 20):
        mean = torch.zeros(200, num_latents, dtype=torch.float64)
        mean[:, :5] = informative
        std = torch.ones_like(mean)
        std[:, :5] = 0.1
        posteriors = Posteriors(mean, std, torch.full((200,), 1 / 200).double())
        logs = log_densities(posteriors, posteriors.draw(torch.arange(200), noise[:, :num_latents], noise[:, :0]))
        found[num_latents] = float((logs.joint_given_image - logs.joint).mean())
    assert found[20] == pytest.approx(found[5], abs=1e-9)
    assert found[5] == pytest.approx(math.log(200), abs=0.1)


def test_information_is_at_most_log_n_at_every_draw():
    # The draw's own image is one of the mixture.
    posteriors, draws = case(num_draws=200)
    found = log_densities(posteriors, draws)
    assert bool((found.joint_given_image - found.joint <= math.log(40) + 1e-12).all())


def test_equal_posteriors_have_no_information_and_no_correlation():
    posteriors, draws = case()
    flat = dataclasses.replace(posteriors, mean=torch.zeros_like(posteriors.mean), std=torch.ones_like(posteriors.std))
    found = log_densities(flat, draws)
    torch.testing.assert_close(found.joint, found.joint_given_image)
    torch.testing.assert_close(found.joint, found.each.sum(dim=1))


def test_a_full_factorial_grid_has_no_total_correlation():
    mean = torch.cartesian_prod(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([0.3, 0.5, 0.6, 4.0])).double()
    std = torch.tensor([0.7, 0.2]).double().expand(12, 2).contiguous()
    posteriors = Posteriors(mean, std, torch.full((12,), 1 / 12).double())
    noise = torch.randn(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = log_densities(posteriors, posteriors.draw(torch.arange(12), noise, noise[:, :0]))
    torch.testing.assert_close(found.joint, found.each.sum(dim=1))


def test_progress_reaches_one():
    posteriors, draws = case()
    heard = []
    with listening(heard.append):
        log_densities(posteriors, draws)
    assert (heard[-1].about, heard[-1].share) == ("sampled densities", 1.0)
