"""Images and factors that go to Hugging Face's library come back as they were."""

import numpy as np
import pytest
import torch

from unbraid import DSprites, FromArrays
from unbraid.datasets import FromHuggingFace, to_hugging_face
from unbraid.errors import DataError

datasets = pytest.importorskip("datasets")

SPRITES = DSprites(resolution=16, shapes=("heart", "square"), num_orientations=1, num_scales=2, num_positions=2)


def test_what_goes_out_comes_back():
    images, names = SPRITES.open(), tuple(factor.name for factor in SPRITES.factors)
    dataset = to_hugging_face(SPRITES)
    assert isinstance(dataset.features["shape"], datasets.ClassLabel)
    assert dataset[0]["image"].size == (16, 16)
    back = FromHuggingFace.from_dataset(dataset, factors=names).open()
    assert torch.equal(back.bytes_of(slice(None)), images.bytes_of(slice(None)))
    assert back.values.tolist() == images.values.tolist()


def test_color_words_missing_labels_and_measurements_travel():
    pixels = np.random.default_rng(0).integers(0, 256, size=(3, 8, 8, 3), dtype=np.uint8)
    factors = {"angle": [0.5, 1.5, 2.5], "age": np.ma.masked_array([1, 0, 0], [False, True, False])}
    dataset = to_hugging_face(FromArrays.from_arrays(pixels, factors))
    assert np.array_equal(np.asarray(dataset[1]["image"]), pixels[1])
    assert dataset["age"][:] == [1, None, 0]
    named = FromHuggingFace.from_dataset(dataset.add_column("word", ["cat", "dog", "cat"]), factors=("word",))
    assert to_hugging_face(named).features["word"].names == ["cat", "dog"]


def test_vectors_are_vectors():
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert to_hugging_face(FromArrays.from_arrays(vectors))["vector"][:] == vectors.tolist()


def test_mistakes_are_told():
    with pytest.raises(DataError, match="got list"):
        to_hugging_face([1])
    with pytest.raises(DataError, match="named 'image'"):
        to_hugging_face(FromArrays.from_arrays(np.zeros((2, 8, 8), dtype=bool), {"image": [0, 1]}))
