"""Codes: what they hold and what they refuse."""

import copy
import dataclasses
import math

import numpy as np
import pytest
import torch

from unbraid.codes import Codes, CodesOptions, Labels
from unbraid.errors import CodesError

MEAN = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
TABLE = torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])


# What they hold


def test_arrays_become_codes():
    codes = Codes.from_arrays(
        MEAN.numpy(),
        np.ones((3, 2)),
        factors=np.array([[0, 1], [1, 1], [2, 0]]),
        options=CodesOptions(factor_names=["shape", "size"]),
    )
    assert (len(codes), codes.num_latents, codes.factor_names) == (3, 2, ("shape", "size"))
    assert codes.std.dtype == codes.mean.dtype


def test_nested_lists_become_codes():
    assert Codes.from_arrays(MEAN.tolist(), [[1, 1]] * 3, factors=[0, 1, 1]).std.tolist() == [[1.0, 1.0]] * 3


def test_log_variances_become_stds():
    codes = Codes.from_arrays(MEAN, log_var=torch.full((3, 2), 2 * np.log(0.5)))
    torch.testing.assert_close(codes.std, torch.full((3, 2), 0.5))


def test_a_log_variance_of_minus_infinity_is_a_std_of_zero():
    assert Codes.from_arrays(MEAN, log_var=torch.full((3, 2), -torch.inf)).std.tolist() == [[0.0, 0.0]] * 3


def test_the_mean_of_the_draws_is_the_mean():
    codes = Codes.from_arrays(samples=torch.stack([MEAN - 1, MEAN + 1]))
    torch.testing.assert_close(codes.mean, MEAN)
    assert (codes.samples.shape, codes.std) == ((2, 3, 2), None)


def test_one_draw_each_needs_no_axis_for_draws():
    codes = Codes.from_arrays(samples=MEAN.numpy())
    assert codes.samples.shape == (1, 3, 2)
    torch.testing.assert_close(codes.mean, MEAN)


def test_draws_may_come_with_means_and_stds():
    codes = Codes.from_arrays(MEAN, torch.ones(3, 2), samples=MEAN + 1)
    torch.testing.assert_close(codes.mean, MEAN)


def test_marginal_std_is_the_root_of_the_covariance_diagonal():
    covariance = torch.tensor([[4.0, 1.0], [1.0, 9.0]]).expand(3, 2, 2)
    torch.testing.assert_close(
        Codes.from_arrays(MEAN, options=CodesOptions(covariance=covariance)).marginal_std,
        torch.tensor([[2.0, 3.0]]).expand(3, 2),
    )
    assert Codes(MEAN).marginal_std is None


def test_discrete_latents_may_differ_in_size():
    codes = Codes.from_arrays(
        MEAN, probabilities=[TABLE, torch.full((3, 4), 0.25)], options=CodesOptions(groups=[[0, 2], [3]])
    )
    assert (codes.num_latents, codes.groups) == (4, ((0, 2), (3,)))


@pytest.mark.parametrize("probabilities", [TABLE, TABLE.numpy(), [TABLE], [TABLE.tolist()]])
def test_discrete_latents_may_be_the_only_ones(probabilities):
    codes = Codes.from_arrays(probabilities=probabilities)
    assert (codes.mean.shape, codes.num_latents, len(codes)) == ((3, 0), 1, 3)


def test_a_mapping_mixes_kinds_of_factors():
    factors = {"shape": ["square", "heart", "square"], "angle": [0.1, 0.2, 0.3], "size": [5, 5, 7], "digit": TABLE}
    shape, angle, size, digit = Codes.from_arrays(MEAN, factors=factors).factors
    assert (shape.ordered, angle.is_continuous, size.is_continuous, digit.is_soft) == (False, True, False, True)


def test_missing_labels_are_marked_in_every_column_that_can_hold_the_mark():
    codes = Codes.from_arrays(
        MEAN, factors={"angle": [0.1, math.nan, 0.3], "size": [5, 5, 7]}, options=CodesOptions(missing=math.nan)
    )
    assert [None if f.known is None else f.known.tolist() for f in codes.factors] == [[True, False, True], None]


def test_masked_labels_of_a_table_are_missing():
    table = np.ma.array([[0, 1], [1, 0], [2, 1]], mask=[[0, 1], [0, 0], [0, 0]])
    first, second = Codes.from_arrays(MEAN, factors=table).factors
    assert first.known is None
    assert second.known.tolist() == [False, True, True]
    mapped = Codes.from_arrays(MEAN, factors={"factor_0": table[:, 0], "factor_1": table[:, 1]}).factors
    assert mapped == (first, second)
    assert Codes.from_arrays(MEAN, factors=table[:, 1]).factors[0].known.tolist() == [False, True, True]


MASKED = np.ma.array(MEAN.numpy(), mask=[[0, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize(
    "arguments",
    [
        {"mean": MASKED},
        {"mean": list(MASKED)},
        {"mean": [[1.0, 2.0], [3.0, np.ma.masked]]},
        {"mean": MEAN, "std": abs(MASKED)},
        {"mean": MEAN, "log_var": MASKED},
        {"samples": MASKED},
        {"mean": MEAN, "weights": MASKED[:, 1]},
        {"mean": MEAN, "probabilities": np.ma.array(TABLE.numpy(), mask=MASKED.mask)},
        {"mean": MEAN, "factors": [1, np.ma.masked, 2]},
    ],
)
def test_masked_numbers_are_refused(arguments):
    with pytest.raises(CodesError, match="masked"):
        Codes.from_arrays(**arguments)


def test_a_mask_that_masks_nothing_changes_nothing():
    assert Codes.from_arrays(np.ma.array(MEAN.numpy(), mask=False)) == Codes.from_arrays(MEAN)


def test_continuous_factors_can_be_binned():
    codes = Codes.from_arrays(MEAN, factors={"angle": [0.0, 0.4, 1.0], "size": [5, 5, 7]}).with_binned_factors(2)
    assert [f.values.tolist() for f in codes.factors] == [[0, 0, 1], [5, 5, 7]]


def test_weights_keep_their_digits_beside_codes_of_single_precision():
    assert Codes.from_arrays(MEAN, weights=[2**30 + 1, 1, 1]).weights.tolist() == [2**30 + 1, 1, 1]


# What they refuse


@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "mean, samples and probabilities are missing"),
        ({"mean": [[0.0, math.nan], [1.0, 2.0]]}, r"mean is NaN or infinite in 1 rows \(0\), latents \[1\]"),
        ({"mean": torch.zeros(3)}, r"\(3,\).*\(images, latents\)"),
        ({"mean": torch.zeros(0, 2)}, "mean has shape"),
        ({"mean": torch.zeros(3, 0)}, "mean has shape"),
        ({"mean": torch.zeros(1, 2)}, "1 image"),
        ({"mean": np.array([[{}, 1.0]] * 3, dtype=object)}, "mean .*dict"),
        ({"mean": [["a", "b"], ["c", "d"]]}, "mean .*<U1"),
        ({"mean": [[1.0, 2.0], [3.0]]}, "mean .*lengths"),
        ({"mean": MEAN, "std": -torch.ones(3, 2)}, "negative.*log_var"),
        ({"mean": MEAN, "std": torch.ones(3, 3)}, "one std for each mean"),
        (
            {"mean": MEAN, "std": torch.full((3, 2), torch.inf)},
            r"std.* is NaN or infinite in 3 rows \(0, 1, 2\), latents \[0, 1\]",
        ),
        ({"mean": MEAN, "log_var": torch.full((3, 2), torch.inf)}, "log_var.* is NaN or infinite"),
        (
            {"mean": MEAN, "log_var": torch.full((3, 2), 2e3)},
            r"log_var.* infinite in 3 rows \(0, 1, 2\), latents \[0, 1\]",
        ),
        ({"mean": MEAN, "log_var": torch.zeros(3, 3)}, "log_var. has shape .3, 3."),
        (
            {"mean": MEAN, "std": [[1, 1], [1, -2], [1, 1]]},
            r"std is negative \(minimum -2\) in 1 rows \(1\), latents \[1\]",
        ),
        ({"mean": MEAN.to(torch.float8_e4m3fn)}, "float8.*16 bits or more"),
        ({"mean": MEAN.to_sparse()}, "mean .*sparse_coo"),
        ({"mean": [MEAN[0].clone().requires_grad_()] * 2}, "^mean .*requires grad"),
        ({"mean": MEAN, "probabilities": 5}, "probabilities has shape"),
        *(({"mean": MEAN, "groups": groups}, "groups is") for groups in ("ab", 5, [0, 1], [["a"]], [[0.5]])),
        *(
            (
                {"mean": MEAN, "factors": {"a": [0, 1, 2]}, "missing": missing},
                "missing is ",
            )
            for missing in (1j, [1], 2**80)
        ),
        ({"mean": MEAN, "factors": {"": [0, 1, 2]}}, "name ''"),
        ({"mean": MEAN, "factors": [0, 1, 2], "factor_names": [""]}, "name ''"),
        ({"mean": MEAN, "factors": [0, 1, 2], "factor_names": 2}, "factor_names is 2"),
        ({"mean": MEAN, "factor_names": ["a"]}, "without factors"),
        ({"mean": MEAN, "std": torch.ones(3, 2), "log_var": torch.ones(3, 2)}, "Both std and log_var"),
        ({"samples": MEAN, "std": torch.ones(3, 2)}, "mean is None"),
        ({"samples": torch.zeros(3)}, "or .draws, images, latents."),
        ({"samples": torch.full((2, 3, 2), torch.nan)}, "samples is NaN or infinite in 3 rows"),
        ({"mean": MEAN, "samples": torch.zeros(4, 2)}, r"samples has shape \(1, 4, 2\)"),
        ({"mean": MEAN, "covariance": torch.eye(3).expand(3, 3, 3)}, r"covariance has shape \(3, 3, 3\)"),
        ({"mean": MEAN, "covariance": -torch.eye(2).expand(3, 2, 2)}, "negative variances"),
        ({"mean": MEAN, "covariance": torch.full((3, 2, 2), torch.nan)}, "covariance is NaN"),
        ({"mean": MEAN, "covariance": torch.tensor([[1.0, 0.0], [1.0, 1.0]]).expand(3, 2, 2)}, "not symmetric"),
        (
            {"mean": MEAN, "covariance": torch.eye(2).expand(3, 2, 2), "std": torch.ones(3, 2)},
            "Both std and covariance",
        ),
        ({"mean": MEAN, "probabilities": [[0.5, 0.5]]}, "probabilities has shape"),
        ({"mean": MEAN, "probabilities": [TABLE[:2]]}, r"probabilities\[0\] has shape \(2, 2\)"),
        ({"mean": MEAN, "probabilities": [2 * TABLE]}, r"probabilities\[0\].*in 3 rows.*softmax"),
        ({"mean": MEAN, "groups": [[0, 2]]}, "from 0 to 1"),
        ({"mean": MEAN, "groups": [[0], []]}, r"groups is \(\(0,\), \(\)\)"),
        ({"mean": MEAN, "groups": [[0, 1], [1]]}, r"groups is \(\(0, 1\), \(1,\)\)"),
        ({"mean": MEAN, "factors": np.zeros((2, 1), dtype=int)}, "Factor 'factor_0' has 2 labels"),
        ({"mean": MEAN, "factors": np.zeros((3, 2, 2))}, "expected .images, factors."),
        (
            {"mean": MEAN, "factors": np.zeros((3, 2), dtype=int), "factor_names": ["a"]},
            r"factor_names is \['a'\]",
        ),
        (
            {"mean": MEAN, "factors": np.zeros((3, 2), dtype=int), "factor_names": ["a", "a"]},
            "a, a",
        ),
        (
            {"mean": MEAN, "factors": {"a": [0, 1, 2]}, "factor_names": ["b"]},
            "factor_names was given with named factors",
        ),
        ({"mean": MEAN, "factors": [[0, "a"], [1, "b"], [0, "a"]]}, "factors .*int, str"),
        ({"mean": MEAN, "factors": {"a": [0.5, 0.2, math.nan]}}, "missing=math.nan"),
        ({"mean": MEAN, "weights": [1.0, 1.0]}, r"weights has shape \(2,\)"),
        ({"mean": MEAN, "weights": [1.0, -1.0, 1.0]}, "weights is between -1 and 1"),
        ({"mean": MEAN, "weights": [0, 0, 0]}, "weights is between 0 and 0"),
        ({"mean": MEAN, "weights": ["a", "b", "c"]}, "weights .*<U1"),
    ],
)
def test_malformed_arrays_are_refused_with_advice(arguments, message):
    options = {field.name for field in dataclasses.fields(CodesOptions)} & set(arguments)
    rest = {name: value for name, value in arguments.items() if name not in options}
    with pytest.raises(CodesError, match=message):
        Codes.from_arrays(**rest, options=CodesOptions(**{name: arguments[name] for name in options}))


@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mean": MEAN.numpy()}, "mean .*ndarray"),
        ({"mean": MEAN, "std": np.ones((3, 2))}, "std .*ndarray"),
        ({"mean": torch.zeros(3)}, "mean .*.3,.*.images, latents."),
        ({"mean": MEAN.long()}, "mean .*int64"),
        ({"mean": MEAN.to(torch.float8_e5m2)}, "mean .*float8_e5m2"),
        ({"mean": MEAN, "probabilities": TABLE}, "probabilities is a Tensor and factors a tuple"),
        ({"mean": MEAN, "factors": (torch.arange(3),)}, "A factor is a Tensor"),
    ],
)
def test_what_from_arrays_would_convert_is_refused_without_it(arguments, message):
    with pytest.raises(CodesError, match=message):
        Codes(**arguments)


def test_codes_hold_no_gradients():
    codes = Codes(
        MEAN.clone().requires_grad_(),
        torch.ones(3, 2, requires_grad=True),
        probabilities=(TABLE.clone().requires_grad_(),),
    )
    assert not any(tensor.requires_grad for tensor in (codes.mean, codes.std, *codes.probabilities))


@pytest.mark.parametrize("scale", [1e308, 1e-310])
def test_weights_count_up_to_scale_however_large_or_small(scale):
    weights = Codes.from_arrays(MEAN, weights=[scale, scale / 2, scale]).weights
    torch.testing.assert_close(weights, torch.tensor([1.0, 0.5, 1.0], dtype=torch.float64))


def test_names_are_checked_however_codes_are_made():
    with pytest.raises(CodesError, match="a, a"):
        Codes(MEAN, factors=(Labels("a", torch.arange(3)), Labels("a", torch.arange(3))))


def test_codes_move_to_another_device_with_everything_they_hold():
    labels = Labels("hue", torch.arange(4) % 2, known=torch.tensor([True, True, True, False]))
    tables = (torch.full((4, 3), 1 / 3),)
    codes = Codes(
        torch.zeros(4, 2),
        torch.ones(4, 2),
        samples=torch.zeros(5, 4, 2),
        probabilities=tables,
        factors=(labels,),
        weights=torch.ones(4),
    )
    moved = codes.to("cpu")
    for field in dataclasses.fields(Codes):
        assert (getattr(moved, field.name) is None) == (getattr(codes, field.name) is None), field.name
    assert torch.equal(moved.factors[0].values, labels.values)
    assert torch.equal(moved.factors[0].known, labels.known)
    assert (moved.factors[0].name, moved.factors[0].ordered) == ("hue", True)


# When they are equal

FULL = Codes(
    MEAN,
    torch.ones(3, 2),
    probabilities=(TABLE,),
    groups=((0, 1), (2,)),
    factors=(Labels("hue", torch.arange(3)),),
    weights=torch.ones(3),
)


def test_a_copy_equals_its_original():
    assert copy.deepcopy(FULL) == FULL
    assert FULL != "codes"


@pytest.mark.parametrize(
    "change",
    [
        {"mean": MEAN + torch.tensor([[0.0, 0.0], [0.0, 1e-6], [0.0, 0.0]])},
        {"mean": MEAN.double()},
        {"std": None},
        {"probabilities": (TABLE.flip(1),)},
        {"groups": ()},
        {"factors": (Labels("size", torch.arange(3)),)},
        {"weights": torch.tensor([1.0, 2.0, 1.0])},
    ],
)
def test_codes_that_differ_in_anything_are_not_equal(change):
    assert dataclasses.replace(FULL, **change) != FULL
