import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.show.pages.pictures import MAX_PIXELS, sheet


def opened(made):
    kind, _, content = made.address.partition(";base64,")
    image = Image.open(io.BytesIO(base64.b64decode(content)))
    assert kind == f"data:image/{image.format.lower()}"
    assert (made.width, made.height) == image.size
    return image


def test_a_sheet_holds_the_frames_with_a_transparent_line_between():
    frames = torch.tensor([0, 51, 102, 153, 204, 255]).reshape(2, 3, 1, 1, 1).expand(2, 3, 1, 2, 2) / 255
    pixels = np.asarray(opened(sheet(frames)))
    assert pixels.shape == (5, 8, 2)
    assert pixels[::3, ::3, 0].tolist() == [[0, 51, 102], [153, 204, 255]]
    assert pixels[2, :, 1].tolist() == [0] * 8
    assert pixels[0, :, 1].tolist() == [255, 255, 0, 255, 255, 0, 255, 255]


def test_colors_stay_colors():
    frames = torch.tensor([1.0, 0.0, 0.2]).reshape(1, 1, 3, 1, 1).expand(1, 1, 3, 4, 4)
    assert np.asarray(opened(sheet(frames)))[0, 0].tolist() == [255, 0, 51, 255]


def test_intensities_out_of_range_are_clipped():
    frames = torch.tensor([-3.0, 7.0]).reshape(1, 2, 1, 1, 1).expand(1, 2, 1, 2, 2)
    assert np.asarray(opened(sheet(frames)))[0, ::3, 0].tolist() == [0, 255]


def test_large_frames_are_made_smaller_by_averaging():
    checkers = (torch.arange(4 * MAX_PIXELS) % 2).float().expand(1, 1, 1, 2 * MAX_PIXELS, 4 * MAX_PIXELS)
    pixels = np.asarray(opened(sheet(checkers)))
    assert pixels.shape == (MAX_PIXELS // 2, MAX_PIXELS, 2)
    assert pixels[..., 0] == pytest.approx(127.5, abs=1)


def test_only_large_frames_in_color_are_compressed_with_loss():
    kinds = {(c, size): opened(sheet(torch.zeros(1, 1, c, size, size))).format for c in (1, 3) for size in (32, 64)}
    assert kinds == {(1, 32): "PNG", (1, 64): "PNG", (3, 32): "PNG", (3, 64): "WEBP"}


def test_small_frames_are_shown_with_square_pixels():
    assert sheet(torch.zeros(1, 1, 1, 32, 32)).is_small
    assert not sheet(torch.zeros(1, 1, 1, 64, 64)).is_small


def test_the_same_frames_make_the_same_bytes():
    frames = torch.linspace(0, 1, 3 * 40 * 40).reshape(1, 1, 3, 40, 40)
    assert sheet(frames) == sheet(frames)


def test_a_sheet_says_how_to_move_through_its_columns():
    made = sheet(torch.zeros(2, 5, 1, 8, 8))
    assert (made.num_columns, made.frame_width) == (5, 8)
    assert made.style.endswith(f"--r:44/17;--n:5;--f:8/17;--w:{100 * 44 / 8:.2f}%")


def test_a_sheet_may_be_smaller_and_lossy():
    noise = torch.rand(2, 4, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    made = sheet(noise, 16, lossy=True)
    assert (opened(made).format, made.width) == ("WEBP", 4 * 17 - 1)
