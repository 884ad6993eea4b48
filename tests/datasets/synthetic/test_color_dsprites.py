import torch

from unbraid.datasets import ColorDSprites

SMALL = ColorDSprites(resolution=16, num_scales=2, num_orientations=3, num_positions=4)


def test_each_sprite_has_one_color_on_black():
    images, masks = SMALL.load().pixels[:], SMALL.sprites.load().pixels[:]
    assert not images[(masks == 0).expand_as(images)].any()
    for image, mask in zip(images, masks, strict=True):
        colors = image[:, mask[0] > 0]
        if colors.numel():
            assert (colors == colors[:, :1]).all()


def test_colors_run_from_half_to_full_and_each_is_as_likely():
    dataset = ColorDSprites(num_scales=1, num_orientations=4, shapes=("square",))
    masks = dataset.sprites.load().pixels[:]
    colors = (dataset.load().pixels[:] * (masks > 0)).amax(dim=(2, 3))
    assert (colors.min(), colors.max()) == (128, 255)
    # Of 4096 images the mean of a channel is off by 37 / 64 at one deviation.
    torch.testing.assert_close(
        colors.double().mean(dim=0), torch.full((3,), 191.5, dtype=torch.float64), atol=5 * 37 / 64, rtol=0
    )
    assert (torch.corrcoef(colors.T.double()) - torch.eye(3)).abs().max() < 5 / 64


def test_an_image_can_be_told_by_anyone_who_knows_the_formula():
    from unbraid._internal import draws

    word = int(draws.bits(torch.tensor([0]), "colour-dsprites", 100, (1,))[0])
    expected = [128 + (octet >> 1) for octet in word.to_bytes(8, "little", signed=True)[:3]]
    image = ColorDSprites(num_orientations=2, num_positions=8).open().pixels[torch.tensor(100)]
    assert image.amax(dim=(1, 2)).tolist() == expected
