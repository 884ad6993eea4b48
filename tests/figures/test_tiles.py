import torch

from unbraid.figures.tiles import tiles


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
