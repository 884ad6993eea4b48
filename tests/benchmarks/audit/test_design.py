"""Drawn codes have the truth that they are drawn to have."""

from dataclasses import replace

import pytest
import torch

from benchmarks.audit.design import MIDDLE, NOTHING, PERFECT, Design
from benchmarks.audit.experiments import EXPERIMENTS
from unbraid.errors import SpecError


def correlations(design: Design) -> torch.Tensor:
    codes = design.draw(2000, 0)
    values = torch.stack([labels.values.double() for labels in codes.factors])
    return torch.corrcoef(torch.cat([values, codes.mean.T]))[: len(values), len(values) :]


def test_a_perfect_code_has_a_latent_for_each_factor():
    told = correlations(replace(PERFECT, unused=0))
    assert told.diagonal().min() > 0.99
    assert (told - torch.diag(told.diagonal())).abs().max() < 0.08  # 3.5 standard errors of 2,000 images
    assert PERFECT.draw(50, 1) == PERFECT.draw(50, 1)
    assert PERFECT.draw(50, 1) != PERFECT.draw(50, 2)


def test_each_field_spoils_one_thing():
    assert correlations(replace(PERFECT, degrees=45.0, unused=0))[1, 1] == pytest.approx(0.5**0.5, abs=0.05)
    assert correlations(replace(PERFECT, copied=2, unused=0))[:2, 3:].diagonal().min() > 0.99
    assert correlations(replace(PERFECT, dropped=1, unused=0)).shape == (3, 2)
    assert correlations(NOTHING)[:, :3].abs().max() < 0.08
    assert (PERFECT.draw(10, 0).std[:, -1] == 1).all()
    assert (replace(PERFECT, std=0.6).draw(10, 0).std[:, 0] == 0.6).all()
    assert replace(PERFECT, unused=5, noise=2).draw(10, 0).num_latents == 10


def test_a_merged_latent_names_two_factors_and_is_as_sure_of_both():
    codes = replace(PERFECT, grid=(4, 4, 8), merged=1).draw(500, 0)
    a, b, c = (labels.values for labels in codes.factors)
    nearest = (codes.mean[:, 0] / (2 * 3**0.5) * 16 + 7.5).round().long()
    assert (nearest == 4 * a + b).all()
    assert codes.num_latents == 3  # the pair, the third factor, and an unused one
    assert codes.std[0].tolist() == [0.1 / 4, 0.1, 1.0]  # values that lie four times closer, told as surely
    assert torch.corrcoef(torch.stack([codes.mean[:, 1], c.double()]))[0, 1] > 0.99


def test_dependent_factors_are_as_correlated_as_the_normal_numbers_they_come_from():
    values = replace(PERFECT, dependence=0.9).draw(4000, 0).factors
    columns = torch.stack([labels.values.double() for labels in values])
    found = torch.corrcoef(columns)
    # Spearman's correlation of normal numbers with correlation r is 6 / pi asin(r / 2); eight values blur it a little.
    assert found[1, 2] == pytest.approx(6 / torch.pi * torch.asin(torch.tensor(0.45)).item(), abs=0.03)
    assert abs(found[0, 1]) < 0.06


def test_what_is_known_of_factors_is_chosen():
    measured, folded, halves = (replace(PERFECT, values=kind).draw(500, 0) for kind in ("measured", "folded", "halves"))
    assert measured.factors[0].is_continuous
    outer = folded.factors[1].values.bool()
    assert folded.mean[outer, 1].abs().min() > folded.mean[~outer, 1].abs().max()
    assert (halves.factors[1].values == (halves.mean[:, 1] > 0)).all()


def test_designs_have_names_and_refuse_nonsense():
    assert (PERFECT.words, MIDDLE.words) == ("perfect", "degrees 20, std 0.2, dropped 1")
    named = {design.words for experiment in EXPERIMENTS.values() for design in experiment.levels.values()}
    assert len(named) == len({design for each in EXPERIMENTS.values() for design in each.levels.values()})
    with pytest.raises(SpecError, match="multiple of 4"):
        Design(grid=(4, 6))
    with pytest.raises(SpecError, match="0 to 3"):
        Design(dropped=4)
    with pytest.raises(SpecError, match="std above 0"):
        Design(std=0.0)
    with pytest.raises(SpecError, match="0 to 1"):
        Design(merged=2)
    with pytest.raises(SpecError, match="neither turned, dropped"):
        Design(merged=1, degrees=20.0)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_the_zero_of_an_experiment_has_factors_of_the_same_values(experiment):
    first, nothing = (design.draw(200, 0) for design in (experiment.first, experiment.nothing))
    assert [labels.values.unique().tolist() for labels in nothing.factors] == [
        labels.values.unique().tolist() for labels in first.factors
    ]
