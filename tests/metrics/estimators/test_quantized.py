"""Latents read through bins: whether the codes lie where the bins are."""

import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.metrics import JEMMIG, MIG, MISJED, RMIG, Informativeness, Modularity
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.reductions.statistics import Statistics


def codes(shift=0.0, std=0.2):
    generator = torch.Generator().manual_seed(0)
    first, second = torch.arange(60) % 3, torch.arange(60) // 30
    mean = torch.stack([first, second], dim=1).double() + 0.1 * torch.randn(
        60, 2, dtype=torch.float64, generator=generator
    )
    return Codes(mean + shift, torch.full_like(mean, std), factors=(Labels("a", first), Labels("b", second)))


def test_mass_beyond_is_that_of_the_tails():
    # P(|Z| > 1) of a standard normal.
    one = Codes(torch.zeros(3, 1).double(), torch.full((3, 1), 4.0).double())
    torch.testing.assert_close(Quantized().mass_beyond(Statistics(one)), torch.tensor([0.31731050786]).double())


def test_with_a_std_of_0_all_or_nothing_lies_beyond():
    mean = torch.tensor([[-5.0, 4.0, 5.0], [5.0, -4.0, 0.0]]).double()
    found = Quantized().mass_beyond(Statistics(Codes(mean, torch.zeros_like(mean))))
    assert found.tolist() == [1.0, 0.0, 0.5]


def test_draws_are_counted():
    samples = torch.tensor([0.0, 5.0, 5.0, -5.0]).reshape(4, 1, 1).expand(4, 2, 1)
    assert Quantized().mass_beyond(Statistics(Codes.from_arrays(samples=samples))).tolist() == [0.75]


QUANTIZED = (
    RMIG(),
    JEMMIG(),
    Modularity(),
    MISJED(),
    MIG(Quantized()),
    Informativeness(Quantized()),
)


@pytest.mark.parametrize("metric", QUANTIZED, ids=lambda metric: type(metric).__name__)
def test_codes_beyond_the_bins_are_told(metric):
    score = metric(codes(shift=10))
    assert score.settled is False
    assert any("outside the bins" in note and "0 (100 %)" in note for note in score.notes)
    assert not any("outside the bins" in note for note in metric(codes()).notes)


@pytest.mark.parametrize("metric", QUANTIZED, ids=lambda metric: type(metric).__name__)
def test_codes_within_one_bin_are_noted_and_not_settled(metric):
    usual = codes()
    tiny = Codes(usual.mean * 1e-3, usual.std * 1e-3, factors=usual.factors)
    found = metric(tiny)
    assert found.settled is False
    assert any("width is 0.08" in note for note in found.notes)
    assert not any("bin width" in note for note in metric(usual).notes)


def test_a_constant_latent_loses_nothing_to_wide_bins():
    mean = torch.stack([torch.linspace(-1, 1, 60), torch.full((60,), 0.3)], dim=1).double()
    found = RMIG()(Codes(mean, torch.zeros_like(mean), factors=(Labels("a", torch.arange(60) % 3),)))
    assert not any("bin width" in note for note in found.notes)
