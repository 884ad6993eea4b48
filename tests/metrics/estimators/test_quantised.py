"""Latents read through bins: whether the codes lie where the bins are."""

import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.metrics import JEMMIG, MIG, MISJED, RMIG, Informativeness, Modularity
from unbraid.metrics.estimators import Quantised
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
    torch.testing.assert_close(Quantised().mass_beyond(Statistics(one)), torch.tensor([0.31731050786]).double())


def test_with_a_std_of_0_all_or_nothing_lies_beyond():
    mean = torch.tensor([[-5.0, 4.0, 5.0], [5.0, -4.0, 0.0]]).double()
    found = Quantised().mass_beyond(Statistics(Codes(mean, torch.zeros_like(mean))))
    assert found.tolist() == [1.0, 0.0, 0.5]


def test_draws_are_counted():
    samples = torch.tensor([0.0, 5.0, 5.0, -5.0]).reshape(4, 1, 1).expand(4, 2, 1)
    assert Quantised().mass_beyond(Statistics(Codes.from_arrays(samples=samples))).tolist() == [0.75]


QUANTISED = (
    RMIG(),
    JEMMIG(),
    Modularity(),
    MISJED(),
    MIG(Quantised()),
    Informativeness(Quantised()),
)


@pytest.mark.parametrize("metric", QUANTISED, ids=lambda metric: type(metric).__name__)
def test_codes_beyond_the_bins_are_told(metric):
    score = metric(codes(shift=10))
    assert score.settled is False
    assert any("Beyond the bins" in note and "0 (100 %), 1 (100 %)" in note for note in score.notes)
    assert not any("Beyond" in note for note in metric(codes()).notes)
