import torch

from unbraid.datasets.pixels.channels_last import ChannelsLast

IMAGES = torch.arange(4 * 5 * 6 * 3).remainder(256).to(torch.uint8).reshape(4, 5, 6, 3)
FIRST = IMAGES.permute(0, 3, 1, 2).contiguous()


def test_images_come_out_with_their_channels_first():
    pixels = ChannelsLast(IMAGES)
    assert pixels.shape == FIRST.shape
    assert len(pixels) == 4
    assert pixels.nbytes == FIRST.nbytes
    torch.testing.assert_close(pixels[:], FIRST)
    torch.testing.assert_close(pixels[1:3], FIRST[1:3])
    rows = torch.tensor([[3, 0, 1], [1, 1, 2]])
    torch.testing.assert_close(pixels[rows], FIRST[rows])


def test_they_lie_in_memory_as_images_do_that_were_so_from_the_start():
    rows = torch.tensor([[3, 0], [1, 1]])
    assert ChannelsLast(IMAGES)[rows].stride() == FIRST[rows].stride()
    assert ChannelsLast(IMAGES)[1:].stride() == FIRST[1:].stride()


def test_moving_to_where_they_are_copies_nothing():
    pixels = ChannelsLast(IMAGES)
    moved = pixels.to("cpu")
    assert moved.device == pixels.device == torch.device("cpu")
    assert moved.images.data_ptr() == IMAGES.data_ptr()
