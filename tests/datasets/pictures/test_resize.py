import numpy as np
import pytest
from PIL import Image

from unbraid.datasets.pictures.resize import resized

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_images_are_what_pillow_makes_of_each(channels, mode):
    images = GENERATOR.integers(0, 256, (4, channels, 12, 12), dtype=np.uint8)
    small = resized(images, 8)
    for image, expected in zip(small, images, strict=True):
        picture = Image.frombytes(mode, (12, 12), expected.transpose(1, 2, 0).tobytes()).resize(
            (8, 8), Image.Resampling.LANCZOS
        )
        assert image.transpose(1, 2, 0).tobytes() == picture.tobytes()


def test_images_of_the_right_size_stay_as_they_are():
    images = GENERATOR.integers(0, 256, (2, 3, 8, 8), dtype=np.uint8)
    assert resized(images, 8) is images


def test_an_even_image_stays_even():
    assert (resized(np.full((1, 3, 96, 96), 200, dtype=np.uint8), 64) == 200).all()
