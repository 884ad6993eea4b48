"""Binned means, and why they are never the default."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid.errors import SpecError
from unbraid.information.exact import exact_information
from unbraid.information.quantized import histogram_bins, means_histogram_information
from unbraid.information.value_table import ValueTable


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(1, 25))
def test_bins_are_those_of_numpy(values, num_bins):
    values = np.array(values)
    if np.ptp(values) < 1e-9 * max(
        1.0, np.abs(values).max()
    ):  # numpy widens a range of (nearly) nothing; then all is one bin or rounding
        return
    counts = torch.bincount(histogram_bins(torch.from_numpy(values)[:, None], num_bins)[:, 0], minlength=num_bins)
    assert counts.tolist() == np.histogram(values, num_bins)[0].tolist()


def test_means_that_name_the_value_say_all_of_it():
    labels = torch.arange(12) % 4
    information = means_histogram_information(
        labels[:, None].double(), ValueTable.from_assignments((labels,), 12), num_bins=4
    )
    assert float(information.mutual_information) == pytest.approx(np.log(4))
    assert float(information.entropy_given_image) == 0


def test_a_constant_mean_says_nothing():
    information = means_histogram_information(
        torch.full((6, 1), 0.3), ValueTable.from_assignments((torch.arange(6) % 2,), 6)
    )
    assert float(information.mutual_information) == pytest.approx(0)


def test_a_collapsed_latent_scores_a_nat_here_and_nothing_where_its_width_is_seen():
    """Means that move by 1e-3 under a std of 1: this estimator reports a nat of noise. Quadrature reports the truth."""
    generator = torch.Generator().manual_seed(0)
    mean = 1e-3 * torch.randn(2000, 1, dtype=torch.float64, generator=generator)
    labels = (mean[:, 0].argsort().argsort() * 40) // 2000
    values = ValueTable.from_assignments((labels,), 2000)
    assert float(means_histogram_information(mean, values, 20).mutual_information) > 1
    # Here all that the means say is about the factor: I = log(1 + 1e-6) / 2 at most.
    assert float(exact_information(mean, torch.ones_like(mean), values).mutual_information) == pytest.approx(
        0, abs=1e-6
    )


def test_no_bins_are_refused():
    with pytest.raises(SpecError, match="num_bins is 0"):
        means_histogram_information(torch.zeros(3, 1), ValueTable.from_assignments((), 3), num_bins=0)
