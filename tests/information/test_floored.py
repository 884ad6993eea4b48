"""Densities with floors: what Do & Tran's code computes, done by hand, and where it goes wrong."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats

from unbraid.errors import CodesError
from unbraid.events import listening
from unbraid.information import floored
from unbraid.information.floored import floored_log_densities
from unbraid.information.posteriors import Posteriors
from unbraid.information.sampled import log_densities

FLOOR = 1e-8


def drawn(num_images=20, num_latents=4, num_draws=15, seed=0):
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(num_images, num_latents, generator=generator, dtype=torch.float64) * 2
    std = torch.rand(num_images, num_latents, generator=generator, dtype=torch.float64) * 0.5 + 0.05
    posteriors = Posteriors(mean, std, torch.full((num_images,), 1 / num_images, dtype=torch.float64))
    image = torch.randint(0, num_images, (num_draws,), generator=generator)
    noise = torch.randn(num_draws, num_latents, generator=generator, dtype=torch.float64)
    return posteriors, posteriors.draw(image, noise, torch.zeros(num_draws, 0))


def test_it_is_the_loop_over_draws_and_images():
    posteriors, draws = drawn()
    found = floored_log_densities(posteriors, draws, FLOOR, [(0, 2)])
    for s in range(len(draws)):
        density = stats.norm.pdf(draws.z[s].numpy(), posteriors.mean.numpy(), posteriors.std.numpy())
        factors, own = np.maximum(density, FLOOR), np.maximum(density[int(draws.image[s])], FLOOR)
        assert float(found.joint[s]) == pytest.approx(math.log(max(factors.prod(axis=1).mean(), FLOOR)))
        assert found.each[s].numpy() == pytest.approx(np.log(np.maximum(density.mean(axis=0), FLOOR)))
        assert float(found.without[s, 1]) == pytest.approx(
            math.log(max(factors[:, [0, 2, 3]].prod(axis=1).mean(), FLOOR))
        )
        assert float(found.groups[s, 0]) == pytest.approx(math.log(max(factors[:, [0, 2]].prod(axis=1).mean(), FLOOR)))
        assert float(found.joint_given_image[s]) == pytest.approx(math.log(max(own.prod(), FLOOR)))
        assert float(found.without_given_image[s, 0]) == pytest.approx(math.log(max(own[1:].prod(), FLOOR)))


def test_a_floor_that_nothing_reaches_changes_nothing():
    posteriors, draws = drawn()
    floored, plain = floored_log_densities(posteriors, draws, 1e-300), log_densities(posteriors, draws)
    torch.testing.assert_close(floored.joint, plain.joint)
    torch.testing.assert_close(floored.without_given_image, plain.without_given_image)


def test_blocks_of_draws_and_images_add_up(monkeypatch):
    posteriors, draws = drawn()
    posteriors = dataclasses.replace(posteriors, weights=torch.arange(1.0, 21.0, dtype=torch.float64) / 210)
    whole = floored_log_densities(posteriors, draws, FLOOR, [(0, 2)])
    for num_terms in (
        4 * 7,
        4 * 20 * 3,
        1,
    ):  # 7 images of one draw; all images of 3 draws; fewer terms than one image has
        monkeypatch.setattr(floored, "_BLOCK_TERMS", {"cpu": num_terms})
        blocks = floored_log_densities(posteriors, draws, FLOOR, [(0, 2)])
        for field in dataclasses.fields(whole):
            torch.testing.assert_close(getattr(blocks, field.name), getattr(whole, field.name), atol=1e-12, rtol=0)


def test_progress_reaches_one(monkeypatch):
    posteriors, draws = drawn()
    monkeypatch.setattr(floored, "_BLOCK_TERMS", {"cpu": 4 * 20 * 5})
    heard = []
    with listening(heard.append):
        floored_log_densities(posteriors, draws, FLOOR)
    assert [event.share for event in heard] == pytest.approx([1 / 3, 2 / 3, 1])


def test_twenty_prior_like_latents_are_all_floor():
    """The peak of a standard normal in 20 dimensions is (2 pi)^-10 = 1.0e-8."""
    num = 50
    posteriors = Posteriors(torch.zeros(num, 20), torch.ones(num, 20), torch.full((num,), 1 / num, dtype=torch.float64))
    draws = posteriors.draw(
        torch.arange(num), torch.randn(num, 20, generator=torch.Generator().manual_seed(0)), torch.zeros(num, 0)
    )
    torch.testing.assert_close(
        floored_log_densities(posteriors, draws, FLOOR).joint, torch.full((num,), math.log(FLOOR), dtype=torch.float64)
    )


def test_correlated_posteriors_are_refused():
    posteriors, draws = drawn()
    correlated = Posteriors(posteriors.mean, posteriors.std, posteriors.weights, torch.diag_embed(posteriors.std**2))
    with pytest.raises(CodesError, match="uncorrelated"):
        floored_log_densities(correlated, draws, FLOOR)
