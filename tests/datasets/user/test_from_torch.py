"""A torch dataset as data."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import IterableDataset, TensorDataset

from unbraid.datasets import DSprites, FromArrays, from_torch
from unbraid.errors import DataError

PIXELS = torch.randint(0, 256, (6, 3, 5, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([2, 0, 1, 1, 0, 2])


class Items(torch.utils.data.Dataset):
    """A dataset of these items."""

    def __init__(self, items, **attributes):
        self.items = list(items)
        vars(self).update(attributes)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, place):
        return self.items[place]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(zip(PIXELS, LABELS.tolist(), strict=True))


def test_tensors_with_a_target_are_images_with_a_factor():
    config = from_torch(TensorDataset(PIXELS, LABELS))
    assert config == FromArrays.from_arrays(PIXELS, {"target": LABELS})
    images = config.load()
    assert torch.equal(images.pixels, PIXELS)
    assert torch.equal(images.values[:, 0], LABELS)


def test_the_same_items_are_the_same_config_however_they_come():
    expected = from_torch(TensorDataset(PIXELS, LABELS))
    pairs = list(zip(PIXELS, LABELS.tolist(), strict=True))
    floats = [(image / 255, label) for image, label in pairs]
    arrays = [{"image": image.numpy(), "target": np.int64(label)} for image, label in pairs]
    for dataset in (Items(pairs), Stream(), Items(floats), Items(arrays)):
        assert from_torch(dataset) == expected


def test_pictures_and_images_alone_will_do():
    pictures = [Image.fromarray(image.permute(1, 2, 0).numpy()) for image in PIXELS]
    images = from_torch(Items(pictures)).load()
    assert torch.equal(images.pixels, PIXELS)
    assert images.factors == ()
    masks = from_torch(Items([image[0] > 99 for image in PIXELS])).load()
    assert torch.equal(masks.pixels, (PIXELS[:, :1] > 99) * 255)


def test_classes_have_no_order_and_names_can_be_given():
    dataset = Items(zip(PIXELS, LABELS.tolist(), strict=True), classes=["a", "b", "c"])
    (factor,) = from_torch(dataset, factor_names=["animal"]).factors
    assert (factor.name, factor.size, factor.ordered) == ("animal", 3, False)
    assert from_torch(dataset, unordered=()).factors[0].ordered


def test_several_targets_are_several_factors():
    vectors = from_torch(TensorDataset(PIXELS, torch.rand(6, 2, generator=torch.Generator().manual_seed(1))))
    assert [(factor.name, factor.size) for factor in vectors.factors] == [("target_0", 0), ("target_1", 0)]
    named = Items(
        (image, {"hue": int(label), "is_new": label > 0}) for image, label in zip(PIXELS, LABELS, strict=True)
    )
    assert [(factor.name, factor.size) for factor in from_torch(named).factors] == [("hue", 3), ("is_new", 2)]
    mixed = Items((image, {"hue": 1, "angle": 0.5}) for image in PIXELS)
    assert [(factor.name, factor.size) for factor in from_torch(mixed).factors] == [("hue", 1), ("angle", 0)]
    assert [factor.name for factor in from_torch(TensorDataset(PIXELS, LABELS, LABELS)).factors] == [
        "target_0",
        "target_1",
    ]


def test_images_of_unbraid_go_out_and_come_back():
    images = DSprites(resolution=8, num_scales=2, num_orientations=1, num_positions=2).load()
    back = from_torch(images).load()
    assert torch.equal(back.pixels, images.pixels[:])
    assert [labels.name for labels in back.factors] == [labels.name for labels in images.factors]


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ([], " 0 items"),
        ([PIXELS[0], PIXELS[0, :, :4]], r"Image 1 .*\(3, 4, 4\).*\(3, 5, 4\)"),
        ([PIXELS[0] / 127.5 - 1], "Item.*0.*-[0-9.]+.*[0-9.]+.*0.*1"),
        ([torch.full((3, 5, 4), torch.nan)], "Item.*0.*60.*NaN"),
        ([PIXELS[0].int()], "Item 0: images has dtype int32"),
        ([(PIXELS[0], "cat")], "'target'.*0.*'cat'"),
        ([(PIXELS[0], 1), PIXELS[1]], "Item.*1"),
        ([{"photo": PIXELS[0]}], "Item.*0.*'image'"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_fix(items, complaint):
    with pytest.raises(DataError, match=complaint):
        from_torch(Items(items))


def test_names_must_be_as_many_as_targets():
    with pytest.raises(DataError, match="factor_names has 2"):
        from_torch(TensorDataset(PIXELS, LABELS), factor_names=["a", "b"])
