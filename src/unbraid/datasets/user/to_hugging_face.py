"""Images and factors of any data set here, for the Hugging Face library `datasets`."""

import io
from collections.abc import Iterator
from typing import Any

from unbraid.codes.columns import column_of, datasets_library, feature_of
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.errors import DataError

_IMAGES_PER_BLOCK = 256


def to_hugging_face(dataset: FactorDataset | FactorImages) -> Any:
    """Returns a `datasets.Dataset` with a row for each image: a column `image` of pictures (of `vector`, where these
    are data), losslessly packed, and the factors under their names.

    Factors without an order are class labels, with their words where the data set knows them; whole numbers are value
    indices; what is not known is None. All of it lies in memory. `FromHuggingFace.from_dataset` is the way back.
    """
    library = datasets_library()
    if not isinstance(dataset, FactorDataset | FactorImages):
        raise DataError(f"to_hugging_face was given {type(dataset).__name__}; expected a data set, such as DSprites().")
    images = dataset.open() if isinstance(dataset, FactorDataset) else dataset
    words = getattr(dataset, "words", {})
    is_vector = isinstance(dataset, FactorDataset) and dataset.holds_vectors
    name = "vector" if is_vector else "image"
    if taken := [labels.name for labels in images.factors if labels.name == name]:
        raise DataError(f"A factor is called {taken[0]!r}, as the column of the data themselves is. Rename it.")
    columns: dict[str, Any] = {name: list(_vectors(images) if is_vector else _pictures(images))}
    number = library.Sequence(library.Value("float32"), length=images.image_shape[2])
    features: dict[str, Any] = {name: number if is_vector else library.Image()}
    for labels in images.factors:
        columns[labels.name] = column_of(labels)
        features[labels.name] = feature_of(labels, words.get(labels.name, ()))
    return library.Dataset.from_dict(columns, features=library.Features(features))


def _blocks(images: FactorImages) -> Iterator[slice]:
    return (slice(first, first + _IMAGES_PER_BLOCK) for first in range(0, len(images), _IMAGES_PER_BLOCK))


def _vectors(images: FactorImages) -> Iterator[list[float]]:
    for rows in _blocks(images):
        yield from images.batch(rows).flatten(start_dim=1).cpu().tolist()


def _pictures(images: FactorImages) -> Iterator[dict[str, Any]]:
    """Yields each image as a PNG, in the form in which `datasets` keeps pictures."""
    from PIL import Image

    for rows in _blocks(images):
        for pixels in images.bytes_of(rows).cpu().permute(0, 2, 3, 1).numpy():
            stream = io.BytesIO()
            Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(stream, format="PNG")
            yield {"bytes": stream.getvalue(), "path": None}
