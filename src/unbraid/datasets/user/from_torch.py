"""Conversion of torch datasets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from torch.utils.data import IterableDataset

from unbraid.config.annotations import in_short
from unbraid.datasets.dataset import plain_array
from unbraid.datasets.user.from_arrays import FromArrays, as_bytes
from unbraid.errors import DataError

_IMAGE = ("image", "images", "img", "pixel_values", "pixels", "x")


def from_torch(
    dataset: Any, *, factor_names: Sequence[str] | None = None, unordered: Sequence[str] | None = None
) -> FromArrays:
    """Converts a torch dataset to `FromArrays`: reads each item once and saves the images in the cache.

    An item is an image, a pair of an image and a target (a number, several numbers, or a dict of numbers), or a dict
    with the key "image". Images are tensors, arrays or PIL pictures of equal size, with bytes, booleans, or floats from
    0 to 1. Targets become factors: discrete for integers, continuous for floats.

    Args:
        dataset: A `torch.utils.data.Dataset`.
        factor_names: The names of the factors; by default the keys of the dict, or "target".
        unordered: The names of categorical factors; by default all factors if the dataset has `classes`.
    """
    images: list[np.ndarray] = []
    rows: list[dict[str, Any]] = []
    for number, item in enumerate(_items(dataset)):
        image, targets = _image_and_targets(item, number)
        try:
            images.append(as_bytes(plain_array("image", image)[None])[0])
        except DataError as error:
            raise DataError(f"Item {number}: {error} Check the transforms of the dataset.") from None
        rows.append(targets)
        if images[-1].shape != images[0].shape:
            raise DataError(
                f"Image {number} has shape {images[-1].shape}; expected {images[0].shape} as image 0. Resize images."
            )
        if targets.keys() != rows[0].keys():
            raise DataError(
                f"Item {number} has the targets {', '.join(targets) or 'none'}. Expected "
                f"{', '.join(rows[0]) or 'none'} as for item 0. Give all items the same targets."
            )
    if not images:
        raise DataError("The dataset has 0 items; expected at least one image. Pass another dataset.")
    names, found = list(factor_names or rows[0]), list(rows[0])
    if len(names) != len(found):
        raise DataError(f"factor_names has {len(names)} names; expected {len(found)}. Give one name per target.")
    if not names:
        return FromArrays.from_arrays(np.stack(images))
    categorical = (names if hasattr(dataset, "classes") else []) if unordered is None else unordered
    columns = {name: np.array([row[key] for row in rows]) for name, key in zip(names, found, strict=True)}
    return FromArrays.from_arrays(np.stack(images), columns, unordered=categorical)


def _items(dataset: Any) -> Iterable[Any]:
    if isinstance(dataset, type) or not (hasattr(dataset, "__iter__") or hasattr(dataset, "__getitem__")):
        raise DataError(f"from_torch got {in_short(dataset)}. Pass a torch.utils.data.Dataset.")
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        items: Iterable[Any] = dataset
        return items
    return (dataset[number] for number in range(len(dataset)))


def _image_and_targets(item: Any, number: int) -> tuple[Any, dict[str, Any]]:
    """Splits an item into its image and its targets by name."""
    if isinstance(item, Mapping):
        key = next((name for name in _IMAGE if name in item), None)
        if key is None:
            raise DataError(
                f"Item {number} has the keys {', '.join(map(str, item))}. Use the key 'image' for the image."
            )
        return item[key], _targets({name: value for name, value in item.items() if name != key}, number)
    if isinstance(item, Sequence):
        image, *targets = item
        return image, _targets(targets[0] if len(targets) == 1 else targets, number)
    return item, {}


def _targets(target: Any, number: int) -> dict[str, Any]:
    """Converts a target to numbers by name."""
    named = target if isinstance(target, Mapping) else {"target": target}
    found: dict[str, Any] = {}
    for name, value in named.items():
        array = plain_array(f"The target {name!r} of item {number}", value)
        if array.dtype.kind not in "biuf" or array.ndim > 1:
            raise DataError(
                f"The target {name!r} of item {number} is {value!r}; expected numbers. Convert or drop the target."
            )
        found |= {str(name): array} if array.ndim == 0 else {f"{name}_{i}": each for i, each in enumerate(array)}
    return found
