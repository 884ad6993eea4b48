import itertools
import math

import pytest
import torch
from torch.utils.data import ConcatDataset

from unbraid.codes import Labels
from unbraid.datasets import DSprites, Factor, FactorImages
from unbraid.datasets import dataset as dataset_module
from unbraid.datasets.dataset import grid_rows
from unbraid.errors import DataError

PIXELS = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).reshape(2, 3, 4, 5)
FACTORS = torch.tensor([[0], [1]])
TABLE = (Factor("size", 2),)


def test_bytes_become_intensities_from_0_to_1():
    images = FactorImages.from_table(
        torch.tensor([0, 51, 255], dtype=torch.uint8).reshape(3, 1, 1, 1), torch.empty(3, 0), ()
    )
    torch.testing.assert_close(images.batch(torch.tensor([2, 0, 1])).flatten(), torch.tensor([1.0, 0.0, 0.2]))


def test_a_batch_has_the_shape_of_its_rows():
    images = FactorImages.from_table(PIXELS, FACTORS, TABLE)
    assert images.batch(torch.tensor([[0, 1, 1], [1, 0, 0]])).shape == (2, 3, 3, 4, 5)


def test_rows_that_follow_one_another_may_be_a_slice():
    images = FactorImages.from_table(PIXELS, FACTORS, TABLE)
    assert torch.equal(images.batch(slice(1, 2)), images.batch(torch.tensor([1])))
    assert torch.equal(images.streamed_to("cpu").batch(slice(0, 2)), images.batch(torch.arange(2)))


def test_it_knows_its_length_and_the_shape_of_an_image():
    images = FactorImages.from_table(PIXELS, FACTORS, TABLE)
    assert len(images) == 2
    assert images.image_shape == (3, 4, 5)


def test_an_item_is_an_image_and_its_factors_by_name():
    table = (Factor("shape", 3, ordered=False), Factor("angle", 0))
    images = FactorImages.from_table(PIXELS, torch.tensor([[2.0, torch.nan], [-1.0, 0.5]]), table)
    image, factors = images[0]
    assert torch.equal(image, PIXELS[0] / 255)
    assert factors["shape"] == 2
    assert math.isnan(factors["angle"])
    assert images[-1][1] == {"shape": -1, "angle": 0.5}
    batch, columns = images[0:2]
    assert torch.equal(batch, PIXELS / 255)
    assert columns["shape"].tolist() == [2, -1]
    with pytest.raises(IndexError, match="Image 2"):
        images[2]
    assert len(list(images)) == 2


def test_soft_labels_are_tensors():
    labels = Labels("shape", torch.tensor([[0.5, 0.5], [0.0, 1.0]]))
    assert FactorImages(PIXELS, (labels,), (Factor("shape", 2),))[1][1]["shape"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_data_loader_takes_images(streamed):
    images = FactorImages.from_table(PIXELS, FACTORS, TABLE)
    images = images.streamed_to("cpu") if streamed else images
    assert isinstance(images, torch.utils.data.Dataset)
    ((batch, factors),) = torch.utils.data.DataLoader(images, batch_size=2, generator=torch.Generator())
    assert torch.equal(batch, PIXELS / 255)
    assert factors["size"].tolist() == [0, 1]


def test_a_config_has_a_length_and_items_too():
    data = DSprites(resolution=8, num_scales=2, num_orientations=1, num_positions=2)
    assert len(data) == data.num_images == 24
    image, factors = data[5]
    names = [factor.name for factor in data.factors]
    assert torch.equal(image, data.open().batch(torch.tensor([5]))[0])
    assert factors == dict(zip(names, data.open().values[5].tolist(), strict=True))
    ((batch, columns),) = torch.utils.data.DataLoader(data, batch_size=24, generator=torch.Generator())
    assert torch.equal(batch, data.open().batch(slice(None)))
    assert torch.equal(columns["scale"], data.open().values[:, 1])


def test_factors_are_ordered_unless_said_otherwise():
    assert Factor("size", 2).ordered


def test_no_images_are_refused():
    with pytest.raises(DataError, match="0 images"):
        FactorImages.from_table(PIXELS[:0], FACTORS[:0], TABLE)


def test_labels_are_the_columns_of_a_table_and_back():
    table = (Factor("shape", 3, ordered=False), Factor("angle", 0))
    values = torch.tensor([[2.0, torch.nan], [-1.0, 0.5]])
    images = FactorImages.from_table(PIXELS, values, table)
    shape, angle = images.factors
    assert (shape.values.dtype, shape.ordered, shape.is_known.tolist()) == (torch.int64, False, [True, False])
    assert (angle.is_continuous, angle.is_known.tolist()) == (True, [False, True])
    torch.testing.assert_close(images.values, values, equal_nan=True)
    assert FactorImages(PIXELS, (), ()).values.shape == (2, 0)


def test_soft_labels_have_no_table():
    labels = Labels("shape", torch.tensor([[0.5, 0.5], [0.0, 1.0]]))
    with pytest.raises(DataError, match="'shape'"):
        _ = FactorImages(PIXELS, (labels,), (Factor("shape", 2),)).values


def test_labels_of_other_factors_are_refused():
    with pytest.raises(DataError, match="'hue', 2.*expected .*'size'"):
        FactorImages(PIXELS, (Labels("hue", torch.arange(2)),), TABLE)


@pytest.mark.parametrize(("factors", "table"), [(FACTORS, ()), (FACTORS, (*TABLE, Factor("hue", 3)))])
def test_factors_that_do_not_fit_images_and_names_are_refused(factors, table):
    with pytest.raises(DataError, match="factors have shape"):
        FactorImages.from_table(PIXELS, factors, table)


@pytest.mark.parametrize(("factors", "weights"), [(FACTORS[:1], None), (FACTORS, torch.ones(3))])
@pytest.mark.usefixtures("_as_users_run_it")
def test_rows_that_do_not_fit_the_images_are_refused(factors, weights):
    with pytest.raises(DataError):
        FactorImages.from_table(PIXELS, factors, TABLE, weights)


def test_a_factor_name_that_would_speak_to_the_terminal_is_refused():
    with pytest.raises(DataError, match="control characters"):
        Factor("\x1b[31mred", 3)


def test_columns_of_labels_are_made_once_for_all_items(monkeypatch):
    made = []
    fill = dataset_module._filled
    monkeypatch.setattr(dataset_module, "_filled", lambda labels: made.append(labels.name) or fill(labels))
    images = FactorImages.from_table(PIXELS, FACTORS, TABLE)
    assert images[0][1] != images[1][1]
    assert made == [factor.name for factor in TABLE]


def test_each_data_set_of_several_is_opened_once(monkeypatch):
    opened = []
    small = [DSprites(shapes=("heart",), num_scales=1, num_orientations=1, num_positions=count) for count in (2, 3)]
    open_images = DSprites.open
    monkeypatch.setattr(DSprites, "open", lambda self, **given: opened.append(self) or open_images(self, **given))
    both = ConcatDataset(small)
    for row in (0, 4, 1, 5):
        assert both[row][0].shape == (1, 64, 64)
    assert opened == small


def test_every_combination_comes_once_with_the_last_factor_fastest():
    rows = grid_rows((Factor("a", 2), Factor("b", 1), Factor("c", 3)))
    assert rows.tolist() == [list(row) for row in itertools.product(range(2), range(1), range(3))]
    assert rows.flags.c_contiguous
