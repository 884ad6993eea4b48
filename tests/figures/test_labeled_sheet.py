import numpy as np
import torch

from unbraid.figures.labeled_sheet import LabeledSheet, stack, tiles

FRAMES = torch.linspace(0, 1, 6).reshape(2, 3, 1, 1, 1).expand(2, 3, 1, 4, 4)


def test_small_frames_are_drawn_with_square_pixels():
    pixels = np.asarray(LabeledSheet(FRAMES).image())
    assert pixels.shape == (2 * 64 + 2, 3 * 64 + 2 * 2, 3)
    assert (pixels[:64, :64] == 0).all()
    assert (pixels[66:, 132:] == 255).all()


def test_large_frames_stay_as_they_are():
    assert LabeledSheet(torch.zeros(1, 1, 3, 100, 80)).image().size == (80, 100)


def test_labels_have_room_of_their_own():
    plain = np.asarray(LabeledSheet(FRAMES).image())
    labeled = np.asarray(LabeledSheet(FRAMES, ["z0", "z1"], ["-2", "0", "2"], "MIG").image())
    height, width, _ = plain.shape
    assert (labeled[-height:, -width:] == plain).all()
    margins = labeled[: -height or None], labeled[-height:, :-width]
    assert all((margin < 128).any() for margin in margins)


def test_missing_frames_are_left_white():
    sheet = LabeledSheet(stack([torch.zeros(2, 1, 4, 4), torch.zeros(1, 1, 4, 4)]))
    pixels = np.asarray(sheet.image())
    assert (pixels[66:, 66:] == 255).all()
    assert (pixels[:64, 66:] == 0).all()


def test_frames_stand_side_by_side_with_a_transparent_line_between():
    frames = torch.tensor([0, 51, 102, 153]).reshape(2, 2, 1, 1, 1).expand(2, 2, 1, 2, 2) / 255
    pixels = tiles(frames, gap=2)
    assert pixels.shape == (6, 6, 2)
    assert pixels[::4, ::4, 0].tolist() == [[0, 51], [102, 153]]
    assert pixels[0, :, 1].tolist() == [255, 255, 0, 0, 255, 255]


def test_a_frame_of_nan_is_transparent():
    frames = torch.tensor([1.0, torch.nan]).reshape(1, 2, 1, 1, 1)
    assert tiles(frames, gap=0).tolist() == [[[255, 255], [0, 0]]]


def test_channels_that_are_not_colors_are_averaged():
    assert tiles(torch.tensor([0.0, 0.4]).reshape(1, 1, 2, 1, 1)).tolist() == [[[51, 255]]]
