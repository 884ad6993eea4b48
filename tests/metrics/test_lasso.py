"""The LASSO against scikit-learn and against its optimality conditions."""

import pytest
import torch
from sklearn.linear_model import Lasso as Reference

from unbraid.metrics.intervals import resampled_weights
from unbraid.metrics.predicting import lasso as module
from unbraid.metrics.predicting.lasso import lasso


def data(seed=0, num_rows=60):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(num_rows, 4, dtype=torch.float64, generator=generator) * torch.tensor([1.0, 0.01, 3.0, 1.0]) + 5
    x[:, 3] = 0.8 * x[:, 0] + 0.1 * x[:, 3]
    y = (x[:, 0] - x[:, 2] / 2 + torch.randn(num_rows, dtype=torch.float64, generator=generator)).round()
    return x, y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.002, 0.1])
def test_raw_weights_are_those_of_scikit_learn(seed, alpha):
    x, y = data(seed)
    reference = Reference(alpha=alpha, max_iter=100_000, tol=1e-12, random_state=0).fit(x.numpy(), y.numpy())
    found = lasso(x, y, alpha, standardize=False)
    torch.testing.assert_close(found.weights[0], torch.from_numpy(reference.coef_), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(
        found.predict(x)[0], torch.from_numpy(reference.predict(x.numpy())), atol=1e-6, rtol=1e-6
    )


def test_standardized_weights_ignore_scale_and_offset():
    x, y = data()
    found = lasso(x, y, 0.01).weights
    torch.testing.assert_close(
        lasso(x * torch.tensor([1e-3, 10, 1, 5.0]) + 7, 3 * y - 1, 0.01).weights, found, atol=1e-8, rtol=0
    )


def test_a_weighted_row_counts_like_its_copies():
    x, y = data()
    weights = resampled_weights(len(y), num_resamples=3)
    found = lasso(x, y, 0.01, row_weights=weights)
    for r, counts in enumerate((weights * len(y)).round().long()):
        rows = torch.arange(len(y)).repeat_interleave(counts)
        torch.testing.assert_close(found.weights[r], lasso(x[rows], y[rows], 0.01).weights[0], atol=1e-8, rtol=0)


def test_copies_of_a_latent_share_its_weight():
    """No unique optimum, but the sum of the weights is."""
    x, y = data()
    found = lasso(torch.cat([x[:, :1], x[:, :1]], dim=1), y, 0.01).weights[0].sum()
    assert float(found) == pytest.approx(float(lasso(x[:, :1], y, 0.01).weights[0, 0]), abs=1e-8)


def test_a_constant_latent_gets_no_weight():
    x, y = data()
    x[:, 1] = 1e6 + 0.1
    for standardize in (True, False):
        assert float(lasso(x, y, 0.002, standardize=standardize).weights[0, 1]) == 0


def test_a_constant_label_leaves_nothing_to_weigh():
    x, _ = data()
    assert float(lasso(x, torch.full((60,), 3.0).double(), 0.002).weights.abs().max()) == 0


def test_more_latents_than_rows_are_fitted_as_well_as_can_be(monkeypatch):
    """Descent creeps where latents outnumber rows: within a thousand sweeps it stops at weights whose objective is
    within 0.1 % of the least.
    """
    solves = []
    solved_for_signs = module._solved_for_signs
    monkeypatch.setattr(module, "_solved_for_signs", lambda *given: solves.append(1) or solved_for_signs(*given))
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(13, 16, dtype=torch.float64, generator=generator)
    y = torch.randint(0, 4, (13,), generator=generator).double()
    x, y = ((part - part.mean(dim=0)) / part.std(dim=0, correction=0) for part in (x, y))

    def objective(weights):
        residual = y - y.mean() - (x - x.mean(dim=0)) @ weights
        return float(residual.square().mean() / 2 + 0.002 * weights.abs().sum())

    reference = Reference(alpha=0.002, max_iter=1_000_000, tol=1e-10, random_state=0).fit(x.numpy(), y.numpy())
    found = objective(lasso(x, y, 0.002, standardize=False).weights[0])
    assert found == pytest.approx(objective(torch.from_numpy(reference.coef_)), rel=1e-3)
    assert len(solves) <= 100  # one in ten sweeps


def test_as_many_latents_as_rows_are_fitted_in_seconds():
    """200 of each, and 5 resamples: by scikit-learn's loop, to the optimum that its rows have."""
    generator = torch.Generator().manual_seed(0)
    x, y = (
        torch.randn(200, 200, dtype=torch.float64, generator=generator),
        torch.randn(200, dtype=torch.float64, generator=generator),
    )
    found = lasso(
        x,
        y,
        0.05,
        row_weights=torch.cat([torch.full((1, 200), 1 / 200, dtype=torch.float64), resampled_weights(200, 0, 4)]),
    )
    u, v = (x - x.mean(dim=0)) / x.std(dim=0, correction=0), (y - y.mean()) / y.std(correction=0)
    reference = Reference(alpha=0.05, max_iter=100_000, tol=1e-10, random_state=0).fit(u.numpy(), v.numpy())
    assert found.weights.shape == (5, 200)
    # The duality gap is below 1e-8: a weight is off by less than its root.
    torch.testing.assert_close(found.weights[0], torch.from_numpy(reference.coef_), atol=1e-4, rtol=0)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_what_is_constant_in_a_resample_gets_no_weight_there(scale):
    """A latent and a label that one row in 200 has: resamples without that row have nothing to fit."""
    x, y = torch.zeros(200, 1).double(), torch.zeros(200).double()
    x[7], y[7] = 3.7 * scale, 1.3
    shares = resampled_weights(200, 0, 200)
    without = shares[:, 7] == 0
    fitted = lasso(x, y, 0.002, row_weights=shares).weights
    assert int(without.sum()) > 50
    assert float(fitted[without].abs().max()) == 0
    assert float(fitted[~without].abs().min()) > 0.9
