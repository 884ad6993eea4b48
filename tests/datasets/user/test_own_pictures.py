import io

import numpy as np
import pytest
from PIL import Image

from unbraid.datasets import pictures
from unbraid.datasets.user import own_pictures
from unbraid.datasets.user.own_pictures import PictureShapes
from unbraid.errors import DataError, SpecError

IMAGES = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 1, 4, 4)


def test_shapes_are_counted_and_the_first_of_each_is_named():
    shapes = PictureShapes.from_shapes([("a", (1, 2, 3)), ("b", (3, 2, 3)), ("c", (1, 2, 3))])
    assert shapes.counts == (((1, 2, 3), 2, "a"), ((3, 2, 3), 1, "b"))


@pytest.mark.parametrize(
    ("shapes", "resolution", "channels", "expected"),
    [
        ([(1, 4, 6)], None, None, (1, 4, 6)),
        ([(1, 4, 6), (3, 4, 6)], None, None, (3, 4, 6)),
        ([(1, 4, 6), (3, 4, 6)], None, 1, (1, 4, 6)),
        ([(1, 4, 6)], None, 3, (3, 4, 6)),
        ([(1, 4, 6), (3, 9, 9)], 8, None, (3, 8, 8)),
    ],
)
def test_images_get_the_shape_that_all_pictures_can_have(shapes, resolution, channels, expected):
    assert (
        PictureShapes.from_shapes((str(shape), shape) for shape in shapes).image_shape("here", resolution, channels)
        == expected
    )


def test_sizes_are_named_from_the_most_common_on_whatever_their_channels():
    shapes = PictureShapes.from_shapes(
        [("a", (1, 2, 2)), ("b", (1, 4, 6)), ("c", (3, 4, 6)), ("d", (1, 5, 5)), ("e", (1, 6, 6))]
    )
    with pytest.raises(DataError, match="4 x 6"):
        shapes.image_shape("here", None, None)


def test_the_largest_square_in_the_middle_is_taken():
    picture, content = np.random.default_rng(0).integers(0, 256, (4, 7), dtype=np.uint8), io.BytesIO()
    Image.fromarray(picture).save(content, "PNG")
    image = pictures.framed(content.getvalue(), "a", own_pictures.framing((1, 4, 4), 4))
    np.testing.assert_array_equal(image[0], picture[:, 1:5])


@pytest.mark.parametrize(("resolution", "channels"), [(0, None), (-3, None), (4097, None), (None, 0), (None, 4)])
def test_settings_that_make_no_image_are_refused(resolution, channels):
    with pytest.raises(SpecError, match="Here: (resolution|channels) is"):
        own_pictures.check_settings("Here", resolution, channels)


def test_a_few_pictures_that_cannot_be_read_are_named_and_all_are_counted():
    flaws = {name: DataError(f"{name} is bad.") for name in "abcde"}
    assert str(own_pictures.unreadable("here", flaws, 1234)) == (
        "5 of 1,234 pictures in here cannot be read: a, b, c and 2 more. Save or remove these "
        "pictures. The first error: a is bad."
    )


def test_a_place_in_the_cache_belongs_to_its_content(cache):
    place = own_pictures.store_for("pictures", "abc", None, 3)
    assert place == own_pictures.store_for("pictures", "abc", None, 3)
    assert place != own_pictures.store_for("pictures", "abc", 3, None)
    assert place.folder.parent == cache / "converted"
