"""What each image of a batch counts for in an estimate of the aggregate posterior."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.information.aggregates import ESTIMATORS, weights_of
from unbraid.errors import SpecError
from unbraid.information.aggregate import log_weights


def test_naive_weights_are_one_over_the_batch():
    torch.testing.assert_close(weights_of("naive", 4, 100), torch.full((4, 4), 1 / 4, dtype=torch.float64))


def test_mws_weights_are_one_over_batch_times_images():
    torch.testing.assert_close(weights_of("mws", 4, 100), torch.full((4, 4), 1 / 400, dtype=torch.float64))


def test_mss_weights_put_one_over_n_on_the_diagonal():
    # Four peers stride by B instead of B + 1 and put it in the first column.
    torch.testing.assert_close(weights_of("mss", 5, 100).diagonal(), torch.full((5,), 0.01, dtype=torch.float64))


def test_mss_weights_put_the_stratified_weight_right_of_the_diagonal():
    n, m = 100, 4
    expected = torch.full((5, 5), 1 / m, dtype=torch.float64)
    for i in range(5):
        expected[i, i] = 1 / n
        expected[i, (i + 1) % 5] = (n - m) / (n * m)
    torch.testing.assert_close(weights_of("mss", 5, 100), expected)


def test_mss_of_two_images_still_has_its_diagonal():
    torch.testing.assert_close(weights_of("mss", 2, 10), torch.tensor([[0.1, 0.9], [0.9, 0.1]], dtype=torch.float64))


def test_eq13_weights_share_what_the_diagonal_leaves():
    table = weights_of("stratified_pairs", 3, 10)
    torch.testing.assert_close(table.diagonal(), torch.full((3,), 0.1, dtype=torch.float64))
    torch.testing.assert_close(table[0, 1], torch.tensor(0.45, dtype=torch.float64))


@given(batch_size=st.integers(2, 12), more=st.integers(0, 50))
def test_rows_sum_to_one_and_for_mws_to_one_over_n(batch_size, more):
    for estimator in ESTIMATORS:
        total = 1 / (batch_size + more) if estimator == "mws" else 1.0
        sums = weights_of(estimator, batch_size, batch_size + more).sum(dim=1)
        torch.testing.assert_close(sums, torch.full_like(sums, total))


def test_uniform_weights_change_nothing():
    uniform = torch.full((4,), 1 / 20, dtype=torch.float64)
    for estimator in ("naive", "mws", "stratified_pairs"):
        torch.testing.assert_close(weights_of(estimator, 4, 20, uniform), weights_of(estimator, 4, 20))


def test_weighted_images_bring_their_own_probability():
    p = torch.tensor([0.5, 0.1, 0.2], dtype=torch.float64)
    torch.testing.assert_close(weights_of("mws", 3, 10, p), p[:, None].expand(3, 3) / 3)
    stratified_pairs = weights_of("stratified_pairs", 3, 10, p)
    torch.testing.assert_close(stratified_pairs.diagonal(), p)
    torch.testing.assert_close(stratified_pairs[0, 1:], torch.full((2,), 0.25, dtype=torch.float64))
    torch.testing.assert_close(stratified_pairs.sum(dim=1), torch.ones(3, dtype=torch.float64))


def test_dtype_and_device_are_the_callers():
    assert log_weights("stratified_pairs", 3, 10).dtype == torch.get_default_dtype()
    assert log_weights("stratified_pairs", 3, 10, dtype=torch.float64, device="cpu").dtype == torch.float64
    assert log_weights("stratified_pairs", 3, 10, torch.full((3,), 0.1, dtype=torch.float64)).dtype == torch.float64


# Errors


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_batch_of_one_is_refused(estimator):
    with pytest.raises(SpecError, match="at least 2"):
        log_weights(estimator, 1, 100)


def test_a_batch_larger_than_the_data_set_is_refused():
    with pytest.raises(SpecError, match="at most 100"):
        log_weights("stratified_pairs", 101, 100)


def test_mss_refuses_weights_by_name():
    with pytest.raises(SpecError, match="'mss'.*'stratified_pairs'"):
        log_weights("mss", 3, 10, torch.full((3,), 0.1))


@pytest.mark.usefixtures("_as_users_run_it")
def test_an_unknown_estimator_is_refused_with_those_that_exist():
    with pytest.raises(SpecError, match="mss, stratified_pairs"):
        log_weights("MSS", 3, 10)


def test_weights_of_another_number_of_images_are_refused():
    with pytest.raises(SpecError, match="weights has shape"):
        log_weights("mws", 4, 100, torch.full((3,), 0.01))
