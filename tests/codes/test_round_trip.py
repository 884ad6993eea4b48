"""Codes survive their file: every field, in every format that can hold it."""

import dataclasses
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from unbraid.codes import Codes, Labels, LatentPrior
from unbraid.errors import CodesError

GENERATOR = torch.Generator().manual_seed(0)
MEAN = torch.randn(4, 3, generator=GENERATOR, dtype=torch.float64)
STD = torch.rand(4, 3, generator=GENERATOR, dtype=torch.float64)
PLAIN = Codes(MEAN, STD)
GAPS = torch.tensor([True, False, True, False])
PRIOR = LatentPrior.from_arrays(
    [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], family=["normal", "laplace", "uniform"], flow=torch.full((3, 2, 3), 0.1)
)

IN_EVERY_FORMAT = {
    "mean": Codes(MEAN),
    "std": PLAIN,
    "a draw": Codes(MEAN, samples=STD[None]),
    "weights": Codes(MEAN, STD, weights=torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)),
    "discrete latents": Codes(
        MEAN, STD, probabilities=(torch.full((4, 2), 0.5).double(), torch.full((4, 5), 0.2).double())
    ),
    "the order of factors": Codes(MEAN, factors=tuple(Labels(name, torch.arange(4)) for name in ("b", "c", "a"))),
}
NOT_IN_A_CSV = {
    "the covariance": Codes(MEAN, covariance=torch.eye(3).double().expand(4, 3, 3)),
    "several draws": Codes(MEAN, samples=torch.stack([MEAN, STD])),
    "groups of latents": Codes(MEAN, STD, groups=((2, 1), (0,))),
    "the prior": Codes(MEAN, STD, prior=PRIOR),
}
OTHERS = {
    "single precision": Codes(MEAN.float(), STD.float(), weights=torch.rand(4, generator=GENERATOR)),
    "discrete latents alone": Codes(
        MEAN[:, :0],
        STD[:, :0],
        probabilities=(torch.full((4, 2), 0.5),),
        prior=LatentPrior.from_arrays(probabilities=[[0.3, 0.7]]),
    ),
}
LABELS = [
    Labels("shape", torch.tensor([0, 1, 2, 255]), ordered=False),
    Labels("many", torch.tensor([0, 1, 256, 3])),
    Labels("below zero", torch.tensor([-1, 0, 1, 2])),
    Labels("huge", torch.tensor([2**62, 0, -(2**62), 1])),
    Labels("angle", torch.tensor([0.1, 0.2, -0.3, 1e-300], dtype=torch.float64)),
    Labels('whole "metres", a/b', torch.tensor([1.0, 2.0, -3.0, 4.0], dtype=torch.float64)),
    Labels("gaps", torch.tensor([0, -1, 2, -1]), known=GAPS),
    Labels("names with gaps", torch.tensor([7, 0, 3, 0]), known=GAPS, ordered=False),
    Labels("β with gaps", torch.tensor([0.5, float("nan"), 0.1, float("inf")], dtype=torch.float64), known=GAPS),
]
SOFT = torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.25, 0.75]])
LABELS_NOT_IN_A_CSV = [
    Labels("soft", SOFT, known=GAPS),
    Labels("soft names", SOFT, ordered=False),
    Labels("measured names", SOFT[:, 0], ordered=False),
    Labels("blank ", torch.arange(4)),
]
LABELS_IN_SINGLE_PRECISION = [Labels("angle", torch.tensor([0.1, 0.2, -0.3, 4.0]))]


def through_file(codes, path):
    codes.save(path)
    return Codes.load(path)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("codes", (every := IN_EVERY_FORMAT | NOT_IN_A_CSV | OTHERS).values(), ids=every)
def test_codes_survive_a_file_of_arrays(tmp_path, codes, suffix):
    assert through_file(codes, tmp_path / f"codes{suffix}") == codes


@pytest.mark.parametrize("codes", IN_EVERY_FORMAT.values(), ids=IN_EVERY_FORMAT)
def test_codes_survive_a_table(tmp_path, codes):
    assert through_file(codes, tmp_path / "codes.csv") == codes


def test_every_field_is_among_the_codes_that_survive():
    every = [*IN_EVERY_FORMAT.values(), *NOT_IN_A_CSV.values()]
    for field in dataclasses.fields(Codes):
        kept = [getattr(codes, field.name) for codes in every]
        assert not all(value is None or (isinstance(value, tuple) and value == ()) for value in kept), field.name


def of(labels):
    return dataclasses.replace(PLAIN, factors=(Labels("first", torch.tensor([3, 2, 1, 0])), labels))


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize(
    "labels", [*LABELS, *LABELS_NOT_IN_A_CSV, *LABELS_IN_SINGLE_PRECISION], ids=lambda labels: labels.name
)
def test_labels_survive_a_file_of_arrays(tmp_path, labels, suffix):
    assert through_file(of(labels), tmp_path / f"codes{suffix}") == of(labels)


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: labels.name)
def test_labels_survive_a_table(tmp_path, labels):
    assert through_file(of(labels), tmp_path / "codes.csv") == of(labels)


@pytest.mark.parametrize(
    ("codes", "complaint"),
    [
        *((codes, f"cannot contain {name}.") for name, codes in NOT_IN_A_CSV.items()),
        *((of(labels), f"of {labels.name!r}") for labels in LABELS_NOT_IN_A_CSV),
    ],
)
def test_a_table_refuses_what_it_cannot_hold(tmp_path, codes, complaint):
    with pytest.raises(CodesError, match=re.escape(complaint)):
        codes.save(tmp_path / "codes.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(CodesError, match=r"codes\.pt"):
        PLAIN.save(tmp_path / "codes.pt")


@given(columns=st.lists(st.lists(st.integers(-300, 300), min_size=4, max_size=4), max_size=3))
def test_any_value_indices_survive(tmp_path_factory, columns):
    codes = Codes(MEAN, factors=tuple(Labels(f"factor_{k}", torch.tensor(column)) for k, column in enumerate(columns)))
    assert through_file(codes, tmp_path_factory.getbasetemp() / "any.safetensors") == codes


def test_labels_that_share_memory_survive(tmp_path):
    column = torch.tensor([0.1, 0.2, 0.3, 0.4])
    codes = Codes(MEAN, factors=(Labels("a", column), Labels("b", column)))
    assert through_file(codes, tmp_path / "codes.safetensors") == codes


def test_few_values_take_a_byte_each(tmp_path):
    Codes(MEAN, factors=(Labels("shape", torch.tensor([0, 1, 2, 255])),)).save(tmp_path / "codes.safetensors")
    with safe_open(tmp_path / "codes.safetensors", framework="pt") as stream:
        assert stream.get_tensor("factor:shape").dtype == torch.uint8
