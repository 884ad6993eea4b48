"""Figure 7 of Esmaeili et al.: the classifier learns, and the latent of thickness is found."""

import numpy as np
import pytest
import torch

from unbraid import Codes
from unbraid.data.dataset import Factor, FactorImages
from unbraid.papers.esmaeili2018.digit_classifier import trained_on
from unbraid.papers.esmaeili2018.figure7 import first_of_each_digit, thickness_latent


@pytest.fixture(scope="module")
def bars():
    """Returns the kind and the thickness of bars at one of ten places, one to three pixels thick."""
    number = np.arange(1200)
    return number % 10, 1 + (number // 10) % 3


@pytest.fixture(scope="module")
def images(bars) -> FactorImages:
    pixels = torch.zeros(len(bars[0]), 1, 28, 28, dtype=torch.uint8)
    for row, (digit, width) in enumerate(zip(*bars, strict=True)):
        pixels[row, 0, 4:24, 1 + 2 * digit : 1 + 2 * digit + width] = 255
    return FactorImages.of_table(pixels, torch.tensor(bars[0])[:, None], (Factor("digit", 10, ordered=False),))


def test_the_classifier_learns_from_few_images_and_is_the_same_every_time(images) -> None:
    first, again = trained_on(images, images), trained_on(images, images)
    assert first.accuracy > 0.8
    assert all(torch.equal(a, b) for a, b in zip(first.net.parameters(), again.net.parameters(), strict=True))
    assert first.digits(images.batch(slice(5))).shape == (5,)


def test_the_latent_that_goes_with_thickness_within_digits_is_found(bars, images) -> None:
    digits, thickness = bars
    noise = np.random.default_rng(0).normal(size=(len(digits), 3))
    mean = torch.tensor(np.column_stack([noise[:, 0], digits + 0.1 * noise[:, 1], -thickness + 0.1 * noise[:, 2]]))
    tiny = torch.tensor(-thickness)[:, None] * 1e-6  # says nothing, and goes with the thickness all the same
    mean = torch.cat([mean, tiny], dim=1)
    latent, correlation = thickness_latent(Codes(mean=mean, std=torch.full_like(mean, 0.5)), images, 600)
    assert latent == 2  # nor the one that tells the digits apart, whatever their thickness
    assert correlation > 0.8


def test_starts_are_the_first_of_each_digit(images) -> None:
    assert first_of_each_digit(images, 2).tolist() == [each for digit in range(10) for each in (digit, digit + 10)]
