"""Densities with floors: what Do & Tran's code computes, done by hand, and where it goes wrong."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats

from unbraid._internal.progress import listening
from unbraid.errors import CodesError
from unbraid.information import sampled
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
    found = log_densities(posteriors, draws, [(0, 2)], floor=FLOOR)
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
    floored, plain = log_densities(posteriors, draws, floor=1e-300), log_densities(posteriors, draws)
    torch.testing.assert_close(floored.joint, plain.joint)
    torch.testing.assert_close(floored.without_given_image, plain.without_given_image)


def test_blocks_of_draws_and_images_add_up(monkeypatch):
    posteriors, draws = drawn()
    posteriors = dataclasses.replace(posteriors, weights=torch.arange(1.0, 21.0, dtype=torch.float64) / 210)
    whole = log_densities(posteriors, draws, [(0, 2)], floor=FLOOR)
    # 7 images of one draw; all images of 3 draws; one image of one draw
    for num_images, num_terms in ((7, 4 * 7), (20, 4 * 20 * 3), (1, 1)):
        monkeypatch.setattr(sampled, "_IMAGES_PER_BLOCK", {"cpu": num_images})
        monkeypatch.setattr(sampled, "_BLOCK_TERMS", {"cpu": num_terms})
        blocks = log_densities(posteriors, draws, [(0, 2)], floor=FLOOR)
        for field in dataclasses.fields(whole):
            torch.testing.assert_close(getattr(blocks, field.name), getattr(whole, field.name), atol=1e-12, rtol=0)


def test_terms_in_float32_move_it_by_less_than_1e_5_nats():
    posteriors, draws = drawn(num_images=3000, num_latents=10, num_draws=200)
    exact, fast = (
        log_densities(posteriors, draws, [(0, 2)], dtype, floor=FLOOR) for dtype in (torch.float64, torch.float32)
    )
    for field in dataclasses.fields(exact):
        errors = getattr(fast, field.name) - getattr(exact, field.name)
        assert float(errors.mean(dim=0).abs().max()) < 1e-5
        assert float(errors.abs().max()) < 1e-3


def test_a_draw_far_from_its_image_is_done_again_in_log_space():
    """The own image of the second draw has a density of the floor alone, the others have 10^40: their ratio is more
    than float32 holds.
    """
    mean = torch.zeros(3, 10, dtype=torch.float64)
    mean[2] = 9.0
    posteriors = Posteriors(mean, torch.full_like(mean, 1e-4), torch.full((3,), 1 / 3, dtype=torch.float64))
    draws = posteriors.draw(torch.tensor([0, 2]), torch.zeros(2, 10, dtype=torch.float64), torch.zeros(2, 0))
    draws = dataclasses.replace(draws, z=torch.zeros_like(draws.z))
    exact, fast = (log_densities(posteriors, draws, (), dtype, floor=FLOOR) for dtype in (torch.float64, torch.float32))
    peak = stats.norm.logpdf(0.0, 0.0, 1e-4)
    assert exact.joint.numpy() == pytest.approx([10 * peak + math.log(2 / 3)] * 2)
    torch.testing.assert_close(fast.joint, exact.joint, atol=1e-4, rtol=0)


def test_progress_reaches_one(monkeypatch):
    posteriors, draws = drawn()
    monkeypatch.setattr(sampled, "_BLOCK_TERMS", {"cpu": 4 * 20 * 5})
    heard = []
    with listening(heard.append):
        log_densities(posteriors, draws, floor=FLOOR)
    assert [event.share for event in heard] == pytest.approx([1 / 3, 2 / 3, 1])


def test_twenty_prior_like_latents_are_all_floor():
    """The peak of a standard normal in 20 dimensions is (2 pi)^-10 = 1.0e-8."""
    num = 50
    posteriors = Posteriors(torch.zeros(num, 20), torch.ones(num, 20), torch.full((num,), 1 / num, dtype=torch.float64))
    draws = posteriors.draw(
        torch.arange(num), torch.randn(num, 20, generator=torch.Generator().manual_seed(0)), torch.zeros(num, 0)
    )
    torch.testing.assert_close(
        log_densities(posteriors, draws, floor=FLOOR).joint, torch.full((num,), math.log(FLOOR), dtype=torch.float64)
    )


def test_correlated_posteriors_are_refused():
    posteriors, draws = drawn()
    correlated = Posteriors(posteriors.mean, posteriors.std, posteriors.weights, torch.diag_embed(posteriors.std**2))
    with pytest.raises(CodesError, match="uncorrelated"):
        log_densities(correlated, draws, floor=FLOOR)
