"""Images on a canvas, and what convolutions leave of it."""

import pytest
import torch
from torch import nn

from unbraid.errors import SpecError
from unbraid.models.layers.convolutions import Canvas, check_channels, check_width, doubling, halving


@pytest.mark.parametrize(("size", "canvas", "margin"), [(28, 32, 2), (32, 32, 0), (64, 64, 0), (128, 128, 0)])
@pytest.mark.parametrize("channels", [1, 3])
def test_an_image_of_28_pixels_gets_a_margin_of_2_and_the_others_none(size, canvas, margin, channels):
    assert Canvas.of("Net", (channels, size, size)) == Canvas(channels, canvas, margin)


def test_what_is_framed_is_cropped_to_what_it_was():
    images = torch.rand(2, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    canvas = Canvas.of("Net", (1, 28, 28))
    framed = nn.Sequential(*canvas.frame())(images)
    assert framed.shape == (2, 1, 32, 32)
    assert framed.sum() == pytest.approx(images.sum())
    assert torch.equal(nn.Sequential(*canvas.crop())(framed), images)


def test_at_128_pixels_there_is_one_layer_more_so_that_the_smallest_map_is_as_at_64():
    channels = (32, 32, 64, 48)
    assert Canvas.of("Net", (1, 64, 64)).widths(channels) == channels
    assert Canvas.of("Net", (1, 128, 128)).widths(channels) == (32, 32, 64, 48, 48)
    assert [Canvas.of("Net", (1, size, size)).map_size(channels) for size in (28, 32, 64, 128)] == [2, 2, 4, 4]


def test_layers_halve_and_double_and_end_without_squashing():
    with torch.device("meta"):
        down, up = nn.Sequential(*halving((3, 4, 5))), nn.Sequential(*doubling((5, 4, 3)))
        assert down(torch.zeros(2, 3, 32, 32)).shape == (2, 5, 8, 8)
        assert up(torch.zeros(2, 5, 8, 8)).shape == (2, 3, 32, 32)
    assert [type(layer).__name__ for layer in down] == ["Conv2d", "ReLU", "Conv2d", "ReLU"]
    assert [type(layer).__name__ for layer in up] == ["ConvTranspose2d", "ReLU", "ConvTranspose2d"]


def test_a_layer_before_batch_norm_has_no_bias_and_the_last_has_one():
    with torch.device("meta"):
        down, up = halving((3, 4), batch_norm=True), doubling((5, 4, 3), batch_norm=True)
    assert [type(layer).__name__ for layer in down] == ["Conv2d", "BatchNorm2d", "ReLU"]
    assert [type(layer).__name__ for layer in up] == ["ConvTranspose2d", "BatchNorm2d", "ReLU", "ConvTranspose2d"]
    assert down[0].bias is None
    assert up[0].bias is None
    assert up[-1].bias is not None


@pytest.mark.parametrize("shape", [(1, 48, 48), (1, 64, 32), (2, 64, 64), (1, 256, 256), (0, 28, 28)])
def test_other_images_are_refused_with_their_shape_and_the_fix(shape):
    said = "{} x {} x {}".format(*shape)
    with pytest.raises(SpecError, match=f"Net takes square images of 28, 32, 64 or 128 pixels.*{said}.*Use MLP"):
        Canvas.of("Net", shape)


@pytest.mark.parametrize("channels", [(), (32, 0), (1, 1, 1, 1, 1, 1)])
def test_channels_that_are_none_or_too_many_are_refused(channels):
    with pytest.raises(SpecError, match="Net: channels is .*; expected 1 to 5 positive widths"):
        check_channels("Net", channels)


def test_a_width_of_nothing_is_refused_by_name():
    with pytest.raises(SpecError, match="Net: hidden is 0; expected a positive width, such as 128"):
        check_width("Net", "hidden", 0, 128)
