import pytest
import torch

from unbraid.data import Factor, FactorImages
from unbraid.errors import DataError

PIXELS = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).reshape(2, 3, 4, 5)
FACTORS = torch.tensor([[0], [1]])
TABLE = (Factor("size", 2),)


def test_bytes_become_intensities_from_0_to_1():
    images = FactorImages(torch.tensor([0, 51, 255], dtype=torch.uint8).reshape(3, 1, 1, 1), torch.empty(3, 0), ())
    torch.testing.assert_close(images.batch(torch.tensor([2, 0, 1])).flatten(), torch.tensor([1.0, 0.0, 0.2]))


def test_a_batch_has_the_shape_of_its_rows():
    assert FactorImages(PIXELS, FACTORS, TABLE).batch(torch.tensor([[0, 1, 1], [1, 0, 0]])).shape == (2, 3, 3, 4, 5)


def test_rows_that_follow_one_another_may_be_a_slice():
    images = FactorImages(PIXELS, FACTORS, TABLE)
    assert torch.equal(images.batch(slice(1, 2)), images.batch(torch.tensor([1])))
    assert torch.equal(images.streamed_to("cpu").batch(slice(0, 2)), images.batch(torch.arange(2)))


def test_it_knows_its_length_and_the_shape_of_an_image():
    images = FactorImages(PIXELS, FACTORS, TABLE)
    assert len(images) == 2
    assert images.image_shape == (3, 4, 5)


def test_factors_are_ordered_unless_said_otherwise():
    assert Factor("size", 2).ordered


def test_no_images_are_refused():
    with pytest.raises(DataError, match="at least one image"):
        FactorImages(PIXELS[:0], FACTORS[:0], TABLE)


@pytest.mark.parametrize(("factors", "table"), [(FACTORS, ()), (FACTORS, (*TABLE, Factor("hue", 3)))])
def test_factors_that_do_not_fit_images_and_names_are_refused(factors, table):
    with pytest.raises(DataError, match="one row an image, one column a factor"):
        FactorImages(PIXELS, factors, table)


@pytest.mark.parametrize(("factors", "weights"), [(FACTORS[:1], None), (FACTORS, torch.ones(3))])
def test_rows_that_do_not_fit_the_images_are_refused(factors, weights):
    # With the shapes of signatures checked, as in these tests, the signature speaks first; without, FactorImages
    # itself.
    with pytest.raises((DataError, TypeError)):
        FactorImages(PIXELS, factors, TABLE, weights)


def test_a_factor_name_that_would_speak_to_the_terminal_is_refused():
    with pytest.raises(DataError, match="control characters"):
        Factor("\x1b[31mred", 3)
