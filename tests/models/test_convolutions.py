"""Images on a canvas, and what convolutions leave of it."""

import pytest
import torch
from torch import nn

from unbraid.errors import SpecError
from unbraid.models import Conv
from unbraid.models.layers.convolutions import Canvas, doubling, halving

CHANNELS = (32, 32, 64, 48)


@pytest.mark.parametrize(
    ("size", "canvas", "map_side", "num_layers"),
    [
        (16, 16, 1, 4),
        (17, 32, 2, 4),
        (28, 32, 2, 4),
        (32, 32, 2, 4),
        (48, 48, 3, 4),
        (50, 64, 4, 4),
        (64, 64, 4, 4),
        (65, 96, 3, 5),
        (96, 96, 3, 5),
        (128, 128, 4, 5),
        (178, 192, 3, 6),
        (256, 256, 4, 6),
    ],
)
def test_the_canvas_is_the_smallest_that_can_be_halved_and_large_images_take_more_layers(
    size, canvas, map_side, num_layers
):
    made = Canvas.from_channels("Net", (3, size, size), CHANNELS)
    assert made.size == (canvas, canvas)
    assert made.widths == (*CHANNELS, *[48] * (num_layers - 4))
    assert made.map_shape == (map_side, map_side)
    assert made.map_area == map_side**2


@pytest.mark.parametrize("channels", [(4,), (4, 4), (4,) * 5])
def test_28_pixels_lie_on_32_whatever_the_number_of_layers(channels):
    assert Canvas.from_channels("Net", (1, 28, 28), channels).size == (32, 32)


def test_images_need_not_be_square():
    canvas = Canvas.from_channels("Net", (1, 30, 100), CHANNELS)
    assert (canvas.size, canvas.map_shape) == ((32, 128), (1, 4))
    assert Canvas.square("Net", (1, 30, 100)).size == (128, 128)
    assert Canvas.square("Net", (1, 64, 64)).size == (64, 64)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 17, 41), (1, 64, 63)])
def test_what_is_framed_is_cropped_to_what_it_was(shape):
    images = torch.rand(2, *shape, generator=torch.Generator().manual_seed(0))
    canvas = Canvas.from_channels("Net", shape, CHANNELS)
    framed = nn.Sequential(*canvas.frame())(images)
    assert framed.shape == (2, shape[0], *canvas.size)
    assert framed.sum() == pytest.approx(images.sum())
    assert torch.equal(nn.Sequential(*canvas.crop())(framed), images)


def test_where_the_image_fills_the_canvas_there_is_no_frame():
    canvas = Canvas.from_channels("Net", (1, 64, 64), CHANNELS)
    assert canvas.frame() == canvas.crop() == []


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


@pytest.mark.parametrize("shape", [(1, 15, 64), (1, 64, 8), (2, 64, 64), (1, 257, 256), (0, 28, 28)])
def test_other_images_are_refused_with_their_shape_and_the_fix(shape):
    said = "{} x {} x {}".format(*shape)
    with pytest.raises(SpecError, match=f"{said}.*16 to 256 .*Net.*MLP"):
        Canvas.from_channels("Net", shape, CHANNELS)


@pytest.mark.parametrize("channels", [(), (32, 0), (1, 1, 1, 1, 1, 1)])
def test_channels_that_are_none_or_too_many_are_refused(channels):
    with pytest.raises(SpecError, match="1 to 5"):
        Conv(channels=channels)


def test_a_width_of_nothing_is_refused_by_name():
    with pytest.raises(SpecError, match="Conv: hidden is 0"):
        Conv(hidden=0)
