"""Where the weights of a net start."""

import pytest
import torch
from torch import nn

from unbraid.models import Autoencoder, Conv, DoTranCelebA
from unbraid.models.distributions import GaussianLatents


@pytest.mark.parametrize("net", [Conv, DoTranCelebA])
def test_truncated_normal_weights_are_within_two_standard_deviations_of_0_and_biases_are_0(net):
    model = Autoencoder(net(init="truncated_normal"), latents=GaussianLatents(10)).build((1, 64, 64), seed=0)
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)]
    assert layers
    weights = torch.cat([layer.weight.detach().flatten() for layer in layers])
    assert weights.abs().max() <= 0.04
    # A normal cut off at two standard deviations has 0.880 of its standard deviation. A quarter million draws: to 0.2
    # %.
    assert weights.std().item() == pytest.approx(0.02 * 0.8796, rel=0.01)
    assert weights.mean().item() == pytest.approx(0, abs=1e-4)
    assert all(not layer.bias.any() for layer in layers)


@pytest.mark.parametrize("net", [Conv, DoTranCelebA])
def test_they_are_torchs_own_unless_asked_for_and_follow_the_seed(net):
    plain, asked, again = (
        Autoencoder(config).build((1, 32, 32), seed=0).encoder[0].weight
        for config in (net(), net(init="truncated_normal"), net(init="truncated_normal"))
    )
    assert plain.abs().max() > 0.1
    assert torch.equal(asked, again)
