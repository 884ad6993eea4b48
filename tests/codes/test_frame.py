"""Codes as a DataFrame."""

import math

import pytest
import torch

from unbraid import Codes
from unbraid.codes import CodesOptions, Labels
from unbraid.errors import CodesError

pytest.importorskip("pandas")


def test_a_row_is_an_image_and_factors_keep_their_names():
    frame = Codes.from_arrays(
        [[0.0, 1.0], [2.0, 3.0]],
        [[0.1, 0.2], [0.3, 0.4]],
        probabilities=[[[0.25, 0.75], [1.0, 0.0]]],
        factors={"shape": ["square", "heart"], "angle": [0.5, math.nan], "mean_0": [3, 4]},
        options=CodesOptions(missing=math.nan),
        weights=[0.5, 0.5],
    ).to_pandas()
    means, stds = ["mean_0", "mean_1"], ["std_0", "std_1"]
    others = ["probability_2_0", "probability_2_1", "weight", "shape", "angle", "factor:mean_0"]
    assert list(frame.columns) == [*means, *stds, *others]
    assert frame["mean_1"].tolist() == [1.0, 3.0]
    assert frame["probability_2_1"].tolist() == [0.75, 0.0]
    assert frame["shape"].tolist() == [1, 0]
    assert frame["angle"].isna().tolist() == [False, True]


def test_soft_labels_are_a_column_for_each_value_and_what_is_not_known_has_none():
    soft = Labels("style", torch.tensor([[0.2, 0.8], [0.5, 0.5]]), torch.tensor([True, False]))
    frame = Codes(torch.zeros(2, 1), factors=(soft,)).to_pandas()
    assert list(frame.columns) == ["mean_0", "style_0", "style_1"]
    assert frame["style_1"].isna().tolist() == [False, True]


def test_what_goes_out_comes_back():
    codes = Codes.from_arrays(
        [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
        [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]],
        probabilities=[[[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]],
        factors={"shape": ["square", "heart", "square"], "angle": [0.5, math.nan, 1.5], "mean_0": [3, -1, 4]},
        options=CodesOptions(missing={"angle": math.nan, "mean_0": -1}),
        weights=[0.5, 0.25, 0.25],
    )
    found = Codes.from_pandas(codes.to_pandas())
    assert found.factors[2].is_known.tolist() == [True, False, True]
    assert found[[0, 2]] == codes[[0, 2]]


def test_columns_of_a_csv_of_codes_are_read_too():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"mean_0": [0.0, 1.0], "log_var_0": [0.0, 0.0], "category:age": [3, 7], "factor:x": [1, 2]}
    )
    codes = Codes.from_pandas(frame)
    assert codes.std.tolist() == [[1.0], [1.0]]
    assert [(labels.name, labels.ordered) for labels in codes.factors] == [("age", False), ("x", True)]


def test_frames_without_codes_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(CodesError, match="mean_0"):
        Codes.from_pandas(pandas.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(CodesError, match="mean_1"):
        Codes.from_pandas(pandas.DataFrame({"mean_0": [1.0], "mean_2": [2.0]}))
    with pytest.raises(CodesError, match="pandas DataFrame"):
        Codes.from_pandas([[1.0]])


def test_a_single_discrete_latent_comes_back():
    """Its number is 0."""
    codes = Codes.from_arrays(probabilities=[[[0.25, 0.75], [1.0, 0.0]]])
    assert Codes.from_pandas(codes.to_pandas()) == codes
