"""The split encoder: a trunk, and for each latent a branch that no other latent hears of."""

import copy

import pytest
import torch
from torch import nn

from tests.models.nets import a_draw, conv, linear, num_parameters
from unbraid.errors import SpecError
from unbraid.models import Autoencoder, Conv, SharingConv, SplitConv
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents

SMALL = SplitConv(channels=(3, 4), branch_width=6, hidden=8)


def small_encoder(latents):
    return Autoencoder(SMALL, latents=latents).build((1, 32, 32), seed=0).encoder.double()


def test_its_parameters_are_a_trunk_and_ten_branches():
    with torch.device("meta"):
        encoder, decoder = (
            SplitConv().make_encoder((1, 64, 64), GaussianLatents(10)),
            SplitConv().make_decoder(10, (1, 64, 64)),
        )
        baseline = Conv(hidden=256).make_decoder(10, (1, 64, 64))
    trunk = conv(1, 32) + conv(32, 32) + conv(32, 64)
    branch = conv(64, 64) + linear(4 * 4 * 64, 256) + linear(256, 2)
    assert num_parameters(encoder) == trunk + 10 * branch == 3_334_932
    assert num_parameters(decoder) == num_parameters(baseline)


def test_it_is_as_deep_as_the_baseline_and_with_one_latent_as_large():
    with torch.device("meta"):
        split, baseline = (net.make_encoder((1, 64, 64), GaussianLatents(1)) for net in (SplitConv(), Conv(hidden=256)))
    assert num_parameters(split) == num_parameters(baseline)


def test_a_split_and_a_sharing_encoder_can_be_as_large_as_the_baseline():
    configs = {
        "baseline": Autoencoder(Conv(hidden=256)),
        "split": Autoencoder(SplitConv((32, 32, 64, 16), branch_width=64), Conv(hidden=256)),
        "sharing": Autoencoder(SharingConv((64, 64, 100, 128)), Conv(hidden=256)),
    }
    with torch.device("meta"):
        made = {name: config._assemble((1, 64, 64)) for name, config in configs.items()}
    sizes = {name: num_parameters(model.encoder) for name, model in made.items()}
    assert sizes == {"baseline": 382_932, "split": 379_572, "sharing": 384_361}
    assert len({num_parameters(model.decoder) for model in made.values()}) == 1


def branch_of(encoder, index, num_branches):
    """One branch as plain layers."""
    branches, channels = encoder[-1], encoder[-1].convolution.out_channels // num_branches
    own = slice(index * channels, (index + 1) * channels)

    def apply(trunk):
        maps = nn.functional.conv2d(
            trunk, branches.convolution.weight[own], branches.convolution.bias[own], stride=2, padding=1
        ).relu()
        hidden = (maps.flatten(1) @ branches.hidden.weight[index] + branches.hidden.bias[index]).relu()
        return hidden @ branches.outputs[0].weight[index] + branches.outputs[0].bias[index]

    return apply


def test_all_branches_at_once_are_one_branch_after_the_other():
    encoder, x = small_encoder(GaussianLatents(3)), a_draw(5, 1, 32, 32)
    trunk = encoder[:-1](x)
    one_by_one = [branch_of(encoder, index, 3)(trunk) for index in range(3)]
    means_then_log_variances = torch.cat(
        [torch.stack([each[:, kind] for each in one_by_one], dim=1) for kind in (0, 1)], dim=1
    )
    torch.testing.assert_close(encoder(x), means_then_log_variances)


def test_the_jacobian_of_the_heads_is_block_diagonal():
    # d(mean, log-variance of latent j) / d(weights of branch i) is 0 for i != j, and is not for i = j.
    num_latents = 3
    encoder, x = small_encoder(GaussianLatents(num_latents)), a_draw(4, 1, 32, 32)
    parameters = dict(encoder[-1].named_parameters())
    trunk = encoder[:-1](x).detach()
    jacobian = torch.func.jacrev(lambda weights: torch.func.functional_call(encoder[-1], weights, (trunk,)).sum(dim=0))(
        {name: parameter.detach() for name, parameter in parameters.items()}
    )
    for name, block in jacobian.items():
        by_branch = block.reshape(2, num_latents, num_latents, -1)  # number, latent, branch, weights
        for latent in range(num_latents):
            for branch in range(num_latents):
                assert bool(by_branch[:, latent, branch].any()) == (latent == branch), name


def test_every_weight_is_of_one_branch():
    encoder = small_encoder(GaussianLatents(3))
    assert all(parameter.shape[0] % 3 == 0 for parameter in encoder[-1].parameters())


def test_a_discrete_latent_has_one_branch_for_all_its_logits():
    encoder = small_encoder(GroupedLatents((GaussianLatents(4), ConcreteLatents(7))))
    assert encoder(a_draw(2, 1, 32, 32)).shape == (2, 15)
    branch = conv(3, 4) + linear(8 * 8 * 4, 6)
    assert num_parameters(encoder) == conv(1, 3) + 5 * branch + 4 * linear(6, 2) + linear(6, 7)


def test_of_mixed_latents_too_each_number_depends_on_the_branch_of_its_latent_alone():
    encoder, x = small_encoder(GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))), a_draw(4, 1, 32, 32)
    before = encoder(x)
    for branch, own in enumerate([[0, 2], [1, 3], [4, 5, 6]]):
        changed = copy.deepcopy(encoder)
        with torch.no_grad():
            changed[-1].hidden.bias[branch] += 1
        assert (changed(x) != before).any(dim=0).nonzero().flatten().tolist() == own


def test_its_initial_weights_are_as_large_as_those_of_plain_layers():
    hidden = Autoencoder(SplitConv(), latents=GaussianLatents(10)).build((1, 64, 64), seed=0).encoder[-1].hidden
    assert hidden.weight.abs().max().item() == pytest.approx(1024**-0.5, rel=1e-3)


def test_what_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="2 to 5"):
        SplitConv(channels=(32,))
    with pytest.raises(SpecError, match="SplitConv: branch_width"):
        SplitConv(branch_width=0)
    with pytest.raises(SpecError, match="SplitConv: hidden"):
        SplitConv(hidden=0)
