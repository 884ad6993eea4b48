"""The sharing-parameter encoder: latents that share kernels."""

import pytest
import torch
from torch import nn

from tests.models.nets import a_draw, conv, num_parameters
from unbraid.errors import SpecError
from unbraid.models import Autoencoder, Conv, SharingConv
from unbraid.models.distributions import ConcreteLatents, GaussianLatents


@pytest.mark.parametrize(
    ("size", "widths"),
    [(28, [32, 32, 64, 5]), (32, [32, 32, 64, 5]), (64, [32, 32, 64, 64, 5]), (128, [32, 32, 64, 64, 64, 5])],
)
def test_convolutions_alone_lead_to_5_maps_of_2_by_2(size, widths):
    with torch.device("meta"):
        encoder = SharingConv().make_encoder((1, size, size), GaussianLatents(10))
        assert [m.out_channels for m in encoder if isinstance(m, nn.Conv2d)] == widths
        assert not any(isinstance(m, nn.Linear) for m in encoder)
        assert encoder[:-1](torch.zeros(2, 1, size, size)).shape == (2, 5, 2, 2)


def test_its_parameters_are_those_of_the_convolutions():
    with torch.device("meta"):
        encoder, decoder = (
            SharingConv().make_encoder((1, 64, 64), GaussianLatents(10)),
            SharingConv().make_decoder(10, (1, 64, 64)),
        )
        baseline = Conv(hidden=256).make_decoder(10, (1, 64, 64))
    assert num_parameters(encoder) == conv(1, 32) + conv(32, 32) + conv(32, 64) + conv(64, 64) + conv(64, 5) == 120_517
    assert num_parameters(decoder) == num_parameters(baseline)


def test_every_kernel_of_the_last_layer_is_shared_by_four_outputs():
    encoder = (
        Autoencoder(SharingConv(channels=(3, 4), hidden=8), latents=GaussianLatents(4))
        .build((1, 32, 32), seed=0)
        .encoder.double()
    )
    x = a_draw(2, 1, 32, 32)
    before = encoder(x)
    with torch.no_grad():
        encoder[-2].weight[1] += 1
    assert (encoder(x) != before).any(dim=0).nonzero().flatten().tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize(("num_latents", "mixed"), [(10, [2]), (6, [1]), (8, []), (4, [])])
def test_a_kernel_serves_means_and_log_variances_both_unless_the_latents_are_a_multiple_of_four(num_latents, mixed):
    latents = GaussianLatents(num_latents)
    built = Autoencoder(SharingConv(channels=(3, 4), hidden=8), latents=latents).build((1, 32, 32), seed=0)
    encoder, x = built.encoder.double(), a_draw(2, 1, 32, 32)
    before, served = encoder(x), []
    for kernel in encoder[-2].weight:
        with torch.no_grad():
            kernel += 1
            changed = ((encoder(x) - before).abs() > 1e-6).any(dim=0)
            kernel -= 1
        served.append((bool(changed[:num_latents].any()), bool(changed[num_latents:].any())))
    assert [place for place, both in enumerate(served) if all(both)] == mixed


def test_a_larger_map_takes_fewer_layers():
    with torch.device("meta"):
        encoder = SharingConv(map_size=4).make_encoder((1, 64, 64), GaussianLatents(8))
        assert encoder[:-1](torch.zeros(2, 1, 64, 64)).shape == (2, 1, 4, 4)


def test_latents_that_do_not_fill_the_map_are_refused_with_the_fix():
    with pytest.raises(SpecError, match="GaussianLatents have 10 .* 4 "):
        Autoencoder(SharingConv(), latents=GaussianLatents(5)).check((1, 64, 64))
    with pytest.raises(SpecError, match=" 16 .*map_size"):
        Autoencoder(SharingConv(map_size=4), latents=GaussianLatents(10)).check((1, 64, 64))
    with pytest.raises(SpecError, match="ConcreteLatents have 3"):
        SharingConv().make_encoder((1, 64, 64), ConcreteLatents(3))


@pytest.mark.parametrize("size", [0, 1, 3, 16])
def test_a_map_of_one_pixel_or_of_no_power_of_two_is_refused(size):
    with pytest.raises(SpecError, match=f"SharingConv: map_size is {size}; "):
        SharingConv(map_size=size)


def test_what_else_it_cannot_be_is_refused():
    with pytest.raises(SpecError, match="SharingConv: channels is"):
        SharingConv(channels=())
    with pytest.raises(SpecError, match="SharingConv: hidden"):
        SharingConv(hidden=0)
