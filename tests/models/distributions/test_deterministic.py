"""Codes without noise have a spread of 0 and no density."""

import pytest
import torch

from unbraid.errors import SpecError
from unbraid.models.distributions import Deterministic, DeterministicLatents, StandardNormalPrior

LOC = torch.tensor([[1.0, -2.0]])


def test_a_draw_is_the_code():
    latents = DeterministicLatents(2)
    assert (latents.num_parameters, latents.num_noise, latents.has_density) == (2, 0, False)
    posterior = latents.posterior(LOC, torch.ones(()))
    assert posterior.rsample(torch.zeros(1, 0)) is LOC
    assert posterior.mean is LOC
    assert posterior.std.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    "ask", [Deterministic.log_prob, Deterministic.pairwise_log_prob, lambda q, z: StandardNormalPrior().kl_from(q, z)]
)
def test_a_density_is_refused_with_a_way_out(ask):
    with pytest.raises(SpecError, match="density"):
        ask(Deterministic(LOC), LOC)


def test_no_latents_are_refused():
    with pytest.raises(SpecError, match="DeterministicLatents: size"):
        DeterministicLatents(0)
