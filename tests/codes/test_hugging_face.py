"""Codes as a dataset of Hugging Face, and back."""

import math

import numpy as np
import pytest
import torch

from unbraid import Codes
from unbraid.codes import CodesOptions, Labels
from unbraid.errors import CodesError

datasets = pytest.importorskip("datasets")

CODES = Codes.from_arrays(
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
    [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]],
    probabilities=[[[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]],
    factors={
        "shape": np.ma.masked_array([1, 0, 0], [False, False, True]),
        "angle": [0.5, math.nan, 2.0],
        "mean": [3, 4, 5],
        "animal": ["cat", "dog", "cat"],
    },
    options=CodesOptions(missing={"angle": math.nan}),
    weights=[0.5, 0.25, 0.25],
)


def test_what_goes_out_comes_back():
    found = Codes.from_hugging_face(CODES.to_hugging_face())
    assert found == CODES


def test_columns_are_typed_as_one_expects():
    dataset = CODES.to_hugging_face()
    assert list(dataset.features) == [
        *("mean", "std", "probabilities_0", "weight", "shape", "angle", "factor:mean", "animal")
    ]
    assert isinstance(dataset.features["animal"], datasets.ClassLabel)
    assert dataset[2]["shape"] is None
    assert dataset[1]["mean"] == [2.0, 3.0]


def test_soft_labels_words_and_formats_are_read():
    soft = Labels("style", torch.tensor([[0.2, 0.8], [0.5, 0.5]]), torch.tensor([True, False]))
    dataset = Codes(torch.zeros(2, 1), factors=(soft,)).to_hugging_face().add_column("word", ["a", "b"])
    found = Codes.from_hugging_face(dataset.with_format("numpy"))
    assert found.factor_names == ("style", "word")
    assert found.factors[0].is_known.tolist() == [True, False]
    assert not found.factors[1].ordered


def test_mistakes_are_told():
    with pytest.raises(CodesError, match="datasets.Dataset"):
        Codes.from_hugging_face({"mean": [[0.0]]})
    with pytest.raises(CodesError, match="latent"):
        Codes.from_hugging_face(datasets.Dataset.from_dict({"latent": [[0.0], [1.0]]}))
    with pytest.raises(CodesError, match="'mean'"):
        Codes.from_hugging_face(datasets.Dataset.from_dict({"mean": [[0.0], [1.0, 2.0]]}))
