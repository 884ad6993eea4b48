"""Correlations and their scatter."""

import numpy as np
import pytest
import torch

from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.metrics.intervals import NUM_RESAMPLES, spread
from unbraid.metrics.reductions import pearson
from unbraid.metrics.reductions.pearson import correlate, correlate_with_factors, standardized

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(500, 3, dtype=torch.float64, generator=GENERATOR)
Y = X @ torch.tensor([[1.0, 0.5], [0.0, 1.0], [0.0, 0.0]], dtype=torch.float64) + torch.randn(
    500, 2, dtype=torch.float64, generator=GENERATOR
)
EQUAL = torch.full((500,), 1 / 500, dtype=torch.float64)


def test_it_is_what_numpy_computes():
    expected = np.corrcoef(torch.cat([X, Y], dim=1).numpy(), rowvar=False)
    np.testing.assert_allclose(correlate(X, Y, EQUAL).matrix, expected[:3, 3:], atol=1e-12)
    np.testing.assert_allclose(correlate(X, None, EQUAL).matrix, expected[:3, :3], atol=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.3, 1e6 + 0.1, -1e-30])
def test_a_column_that_never_varies_correlates_with_nothing(constant):
    """0.3 less the mean of five hundred times 0.3 is not 0 but 1e-17: without a floor, rounding would be correlated."""
    still = torch.full((500, 1), constant, dtype=torch.float64)
    assert correlate(still, torch.cat([X, still], dim=1), EQUAL).matrix.tolist() == [[0.0] * 4]


def test_small_scales_and_large_offsets_do_not_matter():
    moved = 1e-9 * X + torch.tensor([0.0, 1e-3, -1e-3], dtype=torch.float64)
    torch.testing.assert_close(correlate(moved, Y, EQUAL).matrix, correlate(X, Y, EQUAL).matrix, atol=1e-6, rtol=0)


def test_weights_count_like_repetitions():
    counts = 1 + torch.arange(500) % 3
    repeated = X.repeat_interleave(counts, dim=0)
    equal = torch.full((len(repeated),), 1 / len(repeated), dtype=torch.float64)
    torch.testing.assert_close(
        correlate(X, None, counts / counts.sum().double()).matrix, correlate(repeated, None, equal).matrix
    )


def test_the_scatter_is_that_of_fisher():
    """For Gaussian pairs the standard error of r is (1 - r^2) / sqrt(N)."""
    found = correlate(X, Y, EQUAL)
    expected = (1 - found.matrix.square()) / 500**0.5
    torch.testing.assert_close(spread(found.resampled()), expected, rtol=0.3, atol=0)


def test_resamples_add_what_each_image_adds(monkeypatch):
    """The multiplier bootstrap as it is written, with the table of images by entries that it does without."""
    p = 1 + torch.arange(500) % 3
    p = p / p.sum().double()
    found = correlate(X, Y, p)
    u, v = standardized(X, p), standardized(Y, p)
    influence = u[:, :, None] * v[:, None] - found.matrix * (u.square()[:, :, None] + v.square()[:, None]) / 2
    noise = row_draws.randn((NUM_RESAMPLES, 500), 0, "correlations")
    expected = (found.matrix + torch.einsum("rn,nij->rij", noise * p, influence)).clamp(-1, 1)
    torch.testing.assert_close(found.resampled(), expected)
    monkeypatch.setattr(pearson, "_BLOCK_NUMBERS", 3_000)
    sizes = []
    assert found.resampled(lambda matrices: sizes.append(len(matrices)) or matrices).shape == (NUM_RESAMPLES, 3, 2)
    assert max(sizes) == 3
    torch.testing.assert_close(found.resampled(), expected)


def test_many_rows_scatter_like_some_of_them():
    generator = torch.Generator().manual_seed(1)
    many = torch.randn(20_000, 2, dtype=torch.float64, generator=generator)
    found = correlate(many, None, torch.full((20_000,), 1 / 20_000, dtype=torch.float64))
    assert float(spread(found.resampled())[0, 1]) == pytest.approx(20_000**-0.5, rel=0.15)


def test_factors_are_correlated_where_they_are_known_and_have_an_order():
    known = torch.arange(500) < 300
    labels = (
        Labels("measured", Y[:, 0]),
        Labels("partly", Y[:, 0], known),
        Labels("names", torch.arange(500) % 3, ordered=False),
        Labels("two names", (X[:, 0] > 0).long(), ordered=False),
        Labels("nowhere", Y[:, 0], torch.zeros(500, dtype=torch.bool)),
        Labels("soft", torch.full((500, 2), 0.5)),
    )
    matrix, _, skipped = correlate_with_factors(Codes(X, factors=labels), EQUAL)
    assert skipped == ("names", "soft")
    np.testing.assert_allclose(matrix[:, 0], np.corrcoef(X.numpy(), Y[:, 0].numpy(), rowvar=False)[:3, 3], atol=1e-12)
    np.testing.assert_allclose(
        matrix[:, 1], np.corrcoef(X[:300].numpy(), Y[:300, 0].numpy(), rowvar=False)[:3, 3], atol=1e-12
    )
    assert float(matrix[0, 3]) > 0.7
    assert matrix[:, [2, 4, 5]].isnan().all()
