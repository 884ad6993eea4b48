"""LASSO for few latents, many rows and many resamples, computed from second moments.

scikit-learn's `lars_path_gram` also uses second moments, but supports only one resample per call. It is 10 to 50 times
slower for 10 to 40 almost uncorrelated latents, and with correlations of 0.999 it does not always reach the optimum.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

# With more latents than rows there are many optima, and descent is slow. After this number of sweeps, the weights have
# four correct digits.
_MAX_SWEEPS = 1_000
_TOLERANCE = 1e-10
_SWEEPS_BETWEEN_SOLVES = 10
# Maximum number of latents for the descent in Python.
_MAX_FEW_LATENTS = 40
_MAX_COMPILED_SWEEPS = 10_000
# Maximum number of products of columns in memory: 256 MB.
_MAX_PRODUCTS = 2**25


@final
@dataclass(frozen=True)
class Lasso:
    """Linear predictor `weights` . (x - x_mean) / x_scale * y_scale + y_mean, for each resample of the rows.

    |`weights`| are the importances.
    """

    weights: Float64[Tensor, "resample latent"]
    x_mean: Float64[Tensor, "resample latent"]
    x_scale: Float64[Tensor, "resample latent"]
    y_mean: Float64[Tensor, " resample"]
    y_scale: Float64[Tensor, " resample"]

    def predict(self, x: Float64[Tensor, "row latent"]) -> Float64[Tensor, "resample row"]:
        slope = self.weights / self.x_scale * self.y_scale[:, None]
        return slope @ x.T + (self.y_mean - (slope * self.x_mean).sum(dim=1))[:, None]


def lasso(
    x: Float64[Tensor, "row latent"],
    y: Float64[Tensor, " row"],
    alpha: float,
    *,
    standardize: bool = True,
    row_weights: Float64[Tensor, "resample row"] | None = None,
) -> Lasso:
    """Fits a LASSO, argmin_w 1/2 sum_n p_n (y_n - w . x_n - b)^2 + alpha |w|_1, for each vector of row weights p.

    p_n is 1 / N by default. With `standardize`, x and y are first standardized. The weight of a constant latent is 0.
    The method is cyclic coordinate descent on the second moments (Friedman, Hastie & Tibshirani, J. Stat. Softw. 2010),
    whose time does not depend on the number of rows. The descent stops when no weight changes by more than 1e-10, or
    when the signs of the weights equal the optimal signs. The optimum then solves a linear equation.
    """
    p = torch.full((1, len(y)), 1 / len(y), dtype=torch.float64) if row_weights is None else row_weights
    # Centered moments, because moments about 0 cancel if the mean is large.
    x_shift, y_shift = x.mean(dim=0), y.mean()
    table = torch.cat([x - x_shift, (y - y_shift)[:, None]], dim=1)
    mean = p @ table
    second = _second_moments(p, table)
    covariance = second - mean[:, :, None] * mean[:, None, :]
    variance = covariance.diagonal(dim1=1, dim2=2)
    # Smaller variances are rounding errors of the mean, or of the second moment in a resample.
    rounding = 1e-12 * second.diagonal(dim1=1, dim2=2)
    negligible = 1e-24 * torch.cat([x_shift, y_shift[None]]).square() + rounding
    scale = torch.where(variance > negligible, variance.clamp(min=0).sqrt(), 0.0)
    divisor = torch.where(scale > 0, scale, 1.0) if standardize else torch.ones_like(scale)
    gram = covariance / divisor[:, :, None] / divisor[:, None, :]
    gram = gram * (scale > 0)[:, :, None] * (scale > 0)[:, None, :]
    if x.shape[1] <= _MAX_FEW_LATENTS:
        weights = _coordinate_descent(gram[:, :-1, :-1], gram[:, :-1, -1], alpha)
    else:
        weights = torch.stack([_compiled_descent(one, alpha) for one in gram])
    return Lasso(weights, mean[:, :-1] + x_shift, divisor[:, :-1], mean[:, -1] + y_shift, divisor[:, -1])


def _second_moments(
    p: Float64[Tensor, "resample row"], table: Float64[Tensor, "row column"]
) -> Float64[Tensor, "resample column column"]:
    num_columns = table.shape[1]
    if num_columns <= _MAX_FEW_LATENTS:
        num_rows = _MAX_PRODUCTS // num_columns**2
        blocks = zip(p.split(num_rows, dim=1), table.split(num_rows), strict=True)
        moments = [share @ (rows[:, :, None] * rows[:, None, :]).flatten(1) for share, rows in blocks]
        return sum(moments[1:], moments[0]).unflatten(1, (num_columns, -1))
    # The products of all columns in all rows would not fit into memory.
    return torch.stack([table.T @ (one[:, None] * table) for one in p])


def _compiled_descent(gram: Float64[Tensor, "column column"], alpha: float) -> Float64[Tensor, " latent"]:
    """Returns the weights that predict the last column from many latents, computed by scikit-learn.

    The duality gap is at most 1e-8 of the variance of y.
    """
    from sklearn.linear_model import lasso_path

    # scikit-learn needs rows. The rows of a square root of the matrix have the given second moments.
    size, basis = torch.linalg.eigh(gram)
    rows = math.sqrt(len(gram)) * size.clamp(min=0).sqrt()[:, None] * basis.T
    x, y = np.asfortranarray(rows[:, :-1].numpy()), rows[:, -1].contiguous().numpy()
    _, weights, _ = lasso_path(
        x, y, alphas=[alpha], precompute=True, tol=1e-8, max_iter=_MAX_COMPILED_SWEEPS, random_state=0
    )
    return torch.from_numpy(weights[:, 0].copy())


def _coordinate_descent(
    gram: Float64[Tensor, "resample latent latent"], target: Float64[Tensor, "resample latent"], alpha: float
) -> Float64[Tensor, "resample latent"]:
    weights = torch.zeros_like(target)
    diagonal = gram.diagonal(dim1=1, dim2=2)
    size = target.abs().amax().clamp(min=torch.finfo(torch.float64).tiny)
    for sweep in range(1, _MAX_SWEEPS + 1):
        largest = 0.0
        for i in range(weights.shape[1]):
            without = target[:, i] - (gram[:, i] * weights).sum(dim=1) + diagonal[:, i] * weights[:, i]
            shrunk = without.sign() * (without.abs() - alpha).clamp(min=0)
            new = torch.where(diagonal[:, i] > 0, shrunk / torch.where(diagonal[:, i] > 0, diagonal[:, i], 1.0), 0.0)
            # In units of the target, so that the accuracy does not depend on the scale of a latent.
            largest = max(largest, float(((new - weights[:, i]).abs() * diagonal[:, i]).amax() / size))
            weights[:, i] = new
        if largest <= _TOLERANCE:
            break
        if sweep % _SWEEPS_BETWEEN_SOLVES == 0:
            solved, is_optimal = _solved_for_signs(gram, target, alpha, weights.sign())
            if bool(is_optimal.all()):
                return solved
    return weights


def _solved_for_signs(
    gram: Float64[Tensor, "resample latent latent"],
    target: Float64[Tensor, "resample latent"],
    alpha: float,
    signs: Float64[Tensor, "resample latent"],
) -> tuple[Float64[Tensor, "resample latent"], Bool[Tensor, " resample"]]:
    """Solves the linear equation for given signs of the weights, and returns whether the solution is the optimum.

    For correct signs the solution is exact. Coordinate descent converges slowly for strongly correlated latents.
    """
    used = signs != 0
    equations = torch.where(used[:, :, None] & used[:, None, :], gram, torch.eye(gram.shape[1], dtype=gram.dtype))
    solved = torch.linalg.solve_ex(equations, torch.where(used, target - alpha * signs, 0.0))[0]
    slope = target - (gram @ solved[:, :, None])[:, :, 0]
    slack = 1e-12 * target.abs().amax(dim=1, keepdim=True)
    holds = torch.where(
        used, (solved * signs > 0) & ((slope - alpha * signs).abs() <= slack), slope.abs() <= alpha + slack
    )
    return solved, holds.all(dim=1)
