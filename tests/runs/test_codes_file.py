"""Codes survive their file."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from torch import Tensor

from unbraid.codes import Codes, Labels, LatentPrior
from unbraid.runs.codes_file import read_codes, write_codes

GENERATOR = torch.Generator().manual_seed(0)
MEAN, STD = torch.randn(4, 3, generator=GENERATOR), torch.rand(4, 3, generator=GENERATOR)


def assert_same(found, expected):
    """Equal field by field, tensors bit by bit."""
    assert type(found) is type(expected)
    if dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(found, tuple):
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            assert_same(one, two)
    elif isinstance(found, Tensor):
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    else:
        assert found == expected


def through_file(codes, path):
    write_codes(path, codes)
    return read_codes(path)


@pytest.mark.parametrize(
    "codes",
    [
        Codes(MEAN),
        Codes(MEAN, STD),
        Codes(MEAN.double(), STD.double(), weights=torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)),
        Codes(MEAN, covariance=torch.eye(3).expand(4, 3, 3)),
        Codes(MEAN, samples=torch.zeros(2, 4, 3)),
        Codes(MEAN, STD, probabilities=(torch.full((4, 2), 0.5), torch.full((4, 5), 0.2)), groups=((0, 1), (2,))),
        Codes(
            MEAN,
            STD,
            probabilities=(torch.full((4, 2), 0.5),),
            prior=LatentPrior.of(
                [1.0, 2.0, 3.0],
                [0.1, 0.2, 0.3],
                family=["normal", "laplace", "uniform"],
                flow=torch.full((3, 2, 3), 0.1),
                probabilities=[[0.3, 0.7]],
            ),
        ),
    ],
    ids=["means", "stds", "weights", "covariance", "samples", "probabilities and groups", "prior"],
)
def test_codes_without_factors_survive(tmp_path, codes):
    assert_same(through_file(codes, tmp_path / "codes.safetensors"), codes)


@pytest.mark.parametrize(
    "labels",
    [
        Labels("shape", torch.tensor([0, 1, 2, 255]), ordered=False),
        Labels("many", torch.tensor([0, 1, 256, 3])),
        Labels("below zero", torch.tensor([-1, 0, 1, 2])),
        Labels("huge", torch.tensor([2**62, 0, -(2**62), 1])),
        Labels("angle", torch.tensor([0.1, 0.2, -0.3, 1e-300], dtype=torch.float64)),
        Labels("angle", torch.tensor([0.1, 0.2, -0.3, 4.0])),
        Labels("β", torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.25, 0.75]]), ordered=False),
        Labels("gaps", torch.tensor([0, -1, 2, -1]), known=torch.tensor([True, False, True, False])),
        Labels("gaps", torch.tensor([0.5, float("nan"), 0.1, 0.2]), known=torch.tensor([True, False, True, True])),
    ],
    ids=lambda labels: f"{labels.name}-{labels.values.dtype}",
)
def test_labels_survive(tmp_path, labels):
    codes = Codes(MEAN, STD, factors=(Labels("first", torch.tensor([3, 2, 1, 0])), labels))
    assert_same(through_file(codes, tmp_path / "codes.safetensors"), codes)


@settings(max_examples=30)  # each writes a file
@given(columns=st.lists(st.lists(st.integers(-300, 300), min_size=4, max_size=4), max_size=3))
def test_any_value_indices_survive(tmp_path_factory, columns):
    codes = Codes(MEAN, factors=tuple(Labels(f"factor_{k}", torch.tensor(column)) for k, column in enumerate(columns)))
    assert_same(through_file(codes, tmp_path_factory.getbasetemp() / "any.safetensors"), codes)


def test_labels_that_share_memory_survive(tmp_path):
    column = torch.tensor([0.1, 0.2, 0.3, 0.4])
    codes = Codes(MEAN, factors=(Labels("a", column), Labels("b", column)))
    assert_same(through_file(codes, tmp_path / "codes.safetensors"), codes)


def test_few_values_take_a_byte_each(tmp_path):
    write_codes(tmp_path / "codes.safetensors", Codes(MEAN, factors=(Labels("shape", torch.tensor([0, 1, 2, 255])),)))
    with safe_open(tmp_path / "codes.safetensors", framework="pt") as stream:
        assert stream.get_tensor("factor_0").dtype == torch.uint8
