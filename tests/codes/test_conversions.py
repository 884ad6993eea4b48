"""Factors mean the same in whichever form they come, to codes and to data alike."""

import math

import numpy as np
import pytest
import torch

from unbraid import Codes, FromArrays
from unbraid.codes import CodesOptions, Labels
from unbraid.codes.conversions import as_factors
from unbraid.errors import CodesError, DataError

pd = pytest.importorskip("pandas")

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 4, 4), dtype=np.uint8)
MEAN = np.random.default_rng(0).normal(size=(6, 2))
SHAPE, ANGLE, AGE = (
    ["cat", "dog", "cat", "cow", "dog", "cat"],
    [0.5, 1.5, 2.5, 0.25, math.nan, 1.0],
    [3, -1, 7, 7, 3, 9],
)
COLUMNS = {"shape": SHAPE, "angle": ANGLE, "age": AGE, "size": [2, 0, 1, 2, 0, 1]}
EXPECTED = {
    "shape": (False, False, [0, 2, 0, 1, 2, 0], [True] * 6),
    "angle": (True, True, [0.5, 1.5, 2.5, 0.25, 0, 1.0], [True] * 4 + [False, True]),
    "age": (False, True, [0, 0, 1, 1, 0, 2], [True, False, True, True, True, True]),
    "size": (False, False, [2, 0, 1, 2, 0, 1], [True] * 6),
}


def masked():
    return COLUMNS | {
        "angle": np.ma.masked_invalid(ANGLE),
        "age": np.ma.masked_equal(AGE, -1),
    }


def frame():
    table = pd.DataFrame(COLUMNS)
    table["age"] = table["age"].replace(-1, pd.NA).astype("Int64")
    return table


def structured():
    kinds = [("shape", "U3"), ("angle", float), ("age", int), ("size", int)]
    return np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=kinds)


def summary(labels):
    """Whether it is continuous and ordered, its values by rank, and where they are known."""
    values = labels.values if labels.is_continuous else labels.assignment()
    return (
        labels.is_continuous,
        labels.ordered,
        torch.where(labels.is_known, values, 0).tolist(),
        labels.is_known.tolist(),
    )


FORMS = {
    "a mapping with masks": (masked, {}),
    "a data frame": (frame, {}),
    "Labels": (lambda: as_factors(masked(), unordered=("size",)), None),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_means_the_same_to_codes_and_to_data(form):
    make, options = FORMS[form]
    options = {} if options is None else {"unordered": ("size",)} | options
    codes = Codes.from_arrays(MEAN, factors=make(), options=CodesOptions(**options)).factors
    data = FromArrays.from_arrays(IMAGES, make(), **options)
    images = data.load().factors
    for found in (codes, images):
        assert {labels.name: summary(labels) for labels in found} == EXPECTED
    assert [(factor.name, factor.size, factor.ordered) for factor in data.factors] == [
        ("shape", 3, False),
        ("angle", 0, True),
        ("age", 3, True),
        ("size", 3, False),
    ]


@pytest.mark.parametrize("form", [structured, lambda: COLUMNS], ids=["a structured array", "a mapping"])
def test_what_marks_a_missing_label_can_be_named(form):
    for missing, name in ((-1, "age"), (math.nan, "angle")):
        columns = {key: form()[key] for key in COLUMNS if key == name or key not in ("age", "angle")}
        for found in (
            Codes.from_arrays(
                MEAN, factors=columns, options=CodesOptions(missing=missing, unordered=("size",))
            ).factors,
            FromArrays.from_arrays(IMAGES, columns, missing=missing, unordered=("size",)).load().factors,
        ):
            assert {labels.name: summary(labels) for labels in found}[name] == EXPECTED[name]


def test_what_marks_a_missing_label_may_differ_by_factor():
    marks = {"age": -1, "angle": math.nan}
    for found in (
        Codes.from_arrays(MEAN, factors=COLUMNS, options=CodesOptions(missing=marks, unordered=("size",))).factors,
        FromArrays.from_arrays(IMAGES, COLUMNS, missing=marks, unordered=("size",)).load().factors,
    ):
        assert {labels.name: summary(labels) for labels in found} == EXPECTED
    with pytest.raises(CodesError, match="factor 'aeg'."):
        Codes.from_arrays(MEAN, factors=COLUMNS, options=CodesOptions(missing=marks | {"aeg": 0}))


def test_a_structured_array_keeps_the_names_and_the_types_of_its_columns():
    table = structured()[["shape", "size"]]
    for found in (Codes.from_arrays(MEAN, factors=table).factors, FromArrays.from_arrays(IMAGES, table).load().factors):
        assert [(labels.name, labels.ordered) for labels in found] == [("shape", False), ("size", True)]


def test_a_table_with_a_list_of_names_means_the_same_as_a_mapping():
    table = np.array([COLUMNS["size"], [0, 1, 2, 3, 4, 5]]).T
    names = ["size", "place"]
    mapping = dict(zip(names, table.T, strict=True))
    for of in (
        lambda *a, **k: Codes.from_arrays(MEAN, factors=a[0], options=CodesOptions(**k)).factors,
        lambda *a, **k: FromArrays.from_arrays(IMAGES, *a, **k).load().factors,
    ):
        assert of(table, factor_names=names, unordered="size") == of(mapping, unordered="size")
    words = np.array([SHAPE]).T
    assert (
        FromArrays.from_arrays(IMAGES, words, factor_names=["shape"]).load().factors
        == FromArrays.from_arrays(IMAGES, {"shape": SHAPE}).load().factors
    )


def test_the_categories_of_a_data_frame_keep_their_order():
    table = pd.DataFrame({"size": pd.Categorical(["S", "L", "M", "S", None, "L"], ["S", "M", "L"], ordered=True)})
    [labels] = as_factors(table)
    assert summary(labels) == (False, True, [0, 2, 1, 0, 0, 2], [True] * 4 + [False, True])
    [labels] = as_factors(pd.DataFrame({"shape": pd.Categorical(SHAPE)}))
    assert not labels.ordered


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (pd.DataFrame({"day": pd.to_datetime(["2024-01-01"] * 6)}), r"The column 'day' has the dtype datetime64\[us\]"),
        (pd.DataFrame({"odd": [1, "a", 2, 3, 4, 5]}), "The column 'odd' has objects of several types"),
        (pd.DataFrame([[1, 2]] * 6, columns=["a", "a"]), "two columns 'a'"),
    ],
)
def test_columns_that_are_no_factors_are_refused_by_name(factors, said):
    with pytest.raises(CodesError, match=said):
        Codes.from_arrays(MEAN, factors=factors)
    with pytest.raises(DataError, match=said):
        FromArrays.from_arrays(IMAGES, factors)


def test_a_run_of_mixed_factors_is_the_same_config_again():
    assert FromArrays.from_arrays(IMAGES, frame()) == FromArrays.from_arrays(IMAGES, frame())
    assert isinstance(FromArrays.from_arrays(IMAGES, frame()).load().factors[0], Labels)
