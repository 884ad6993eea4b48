"""Codes: what they accept, what they refuse, and how labels are read."""

import jaxtyping
import numpy as np
import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError


@pytest.fixture
def _as_users_run_it():
    """Without the shape checker of the tests, which would speak before the library does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


MEAN = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


# What they hold


def test_arrays_become_codes():
    codes = Codes.from_arrays(MEAN.numpy(), np.ones((3, 2)), factors=np.array([[0, 1], [1, 1], [2, 0]]), factor_names=["shape", "size"])
    assert (len(codes), codes.num_latents, codes.factor_names) == (3, 2, ("shape", "size"))
    assert codes.std.dtype == codes.mean.dtype


def test_log_variances_become_stds():
    codes = Codes.from_arrays(MEAN, log_var=torch.full((3, 2), 2 * np.log(0.5)))
    torch.testing.assert_close(codes.std, torch.full((3, 2), 0.5))


def test_marginal_std_is_the_root_of_the_covariance_diagonal():
    covariance = torch.tensor([[4.0, 1.0], [1.0, 9.0]]).expand(3, 2, 2)
    torch.testing.assert_close(Codes(MEAN, covariance=covariance).marginal_std, torch.tensor([[2.0, 3.0]]).expand(3, 2))
    assert Codes(MEAN).marginal_std is None


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64])
def test_any_integers_are_values_of_a_discrete_factor(dtype):
    (labels,) = Codes.from_arrays(MEAN, factors=np.array([0, 1, 1], dtype=dtype)).factors
    assert not labels.is_continuous
    assert labels.assignment().tolist() == [0, 1, 1]


def test_a_mapping_mixes_kinds_of_factors():
    factors = {
        "shape": ["square", "heart", "square"],
        "angle": [0.1, 0.2, 0.3],
        "size": [5, 5, 7],
        "digit": [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]],
    }
    shape, angle, size, digit = Codes.from_arrays(MEAN, factors=factors).factors
    assert shape.assignment().tolist() == [1, 0, 1]
    assert not shape.ordered
    assert angle.is_continuous
    assert size.assignment().tolist() == [0, 0, 1]
    assert digit.is_soft


def test_assignment_numbers_the_values_that_occur_where_they_are_known():
    labels = Labels("x", torch.tensor([7, 3, 99, 7]), known=torch.tensor([True, True, False, True]))
    assert labels.assignment().tolist() == [1, 0, -1, 1]


def test_values_far_apart_are_numbered_too():
    assert Labels("x", torch.tensor([10**12, -(10**12), 5, 10**12])).assignment().tolist() == [2, 0, 1, 2]


def test_soft_labels_are_zero_where_not_known():
    labels = Labels("x", torch.tensor([[0.5, 0.5], [torch.nan, 0.1]]), known=torch.tensor([True, False]))
    torch.testing.assert_close(labels.assignment(), torch.tensor([[0.5, 0.5], [0.0, 0.0]]))


def test_discrete_latents_may_differ_in_size():
    assert len(Codes(MEAN, probabilities=(torch.full((3, 2), 0.5), torch.full((3, 4), 0.25))).probabilities) == 2


# What they refuse


@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mean": torch.tensor([[0.0, torch.nan], [1.0, 2.0]])}, r"mean is NaN or infinite in 1 rows \(0\), latents \[1\]"),
        ({"mean": torch.zeros(3)}, "expected .images, latents."),
        ({"mean": MEAN, "std": -torch.ones(3, 2)}, "negative.*log_var"),
        ({"mean": MEAN, "std": torch.ones(3, 3)}, "one std for each mean"),
        ({"mean": MEAN, "std": torch.ones(3, 2), "log_var": torch.ones(3, 2)}, "Both std and log_var"),
        ({"mean": MEAN, "factors": np.zeros((2, 1), dtype=int)}, "2 labels for 3 codes"),
        ({"mean": MEAN, "factors": np.zeros((3, 2, 2))}, "expected .images, factors."),
        ({"mean": MEAN, "factors": np.zeros((3, 2), dtype=int), "factor_names": ["a"]}, "1 factor names were given for 2 columns"),
        ({"mean": MEAN, "factors": np.zeros((3, 2), dtype=int), "factor_names": ["a", "a"]}, "share a name"),
        ({"mean": MEAN, "factors": {"a": np.zeros((3, 2), dtype=int)}}, "p.y | x. as floats"),
        ({"mean": MEAN, "factors": {"a": [[0.5, 0.2]] * 3}}, "do not sum to 1"),
        ({"mean": MEAN, "factors": {"a": [0.5, 0.2, np.nan]}}, "Set `known` to False"),
        ({"mean": MEAN, "weights": [1.0, 1.0]}, "one weight for each of the 3 codes"),
        ({"mean": MEAN, "weights": [1.0, -1.0, 1.0]}, "none may be negative"),
    ],
)
def test_malformed_arrays_are_refused_with_advice(arguments, message):
    with pytest.raises(CodesError, match=message):
        Codes.from_arrays(**arguments)


@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize(
    ("covariance", "message"),
    [(torch.eye(3).expand(3, 3, 3), "one matrix a code"), (-torch.eye(2).expand(3, 2, 2), "negative variances")],
)
def test_malformed_covariances_are_refused(covariance, message):
    with pytest.raises(CodesError, match=message):
        Codes(MEAN, covariance=covariance)


def test_std_and_covariance_exclude_each_other():
    with pytest.raises(CodesError, match="Both std and covariance"):
        Codes(MEAN, std=torch.ones(3, 2), covariance=torch.eye(2).expand(3, 2, 2))


@pytest.mark.usefixtures("_as_users_run_it")
def test_flags_of_another_length_are_refused():
    with pytest.raises(CodesError, match="one flag a label"):
        Labels("x", torch.tensor([0, 1]), known=torch.tensor([True]))


def test_a_continuous_factor_has_no_values_to_count():
    with pytest.raises(CodesError, match="'x' is continuous"):
        Labels("x", torch.tensor([0.5, 1.5])).assignment()


def test_codes_that_are_words_are_refused():
    with pytest.raises(CodesError, match="numbers"):
        Codes.from_arrays([["a", "b"], ["c", "d"]])


def test_a_factor_name_that_would_speak_to_the_terminal_is_refused():
    with pytest.raises(CodesError, match="control characters"):
        Labels("\x1b[31mred", torch.tensor([0, 1]))
