"""Arrays, tensors and nested lists in the forms that `Codes` holds."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid.arrays import as_array, as_floats, as_tensor
from unbraid.codes.checks import check_finite, refuse_where
from unbraid.codes.factor_forms import Marks, as_factors
from unbraid.codes.latent_prior import LatentPrior
from unbraid.errors import CodesError


def as_fields(
    mean: Any,
    std: Any = None,
    *,
    log_var: Any = None,
    samples: Any = None,
    covariance: Any = None,
    probabilities: Any = (),
    groups: Any = (),
    factors: Any = None,
    factor_names: Sequence[str] | None = None,
    missing: Marks = None,
    unordered: Any = (),
    weights: Any = None,
    prior: LatentPrior | Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the fields of `Codes` from what `Codes.from_arrays` takes."""
    draws = None if samples is None else _as_draws(samples)
    tables = _as_tables(probabilities)
    center = _as_mean(mean, draws, tables, has_spread=not (std is log_var is covariance is None))
    return {
        "mean": center,
        "std": _as_std(std, log_var, center),
        "covariance": None if covariance is None else as_floats("covariance", covariance).to(center),
        "samples": None if draws is None else draws.to(center),
        "probabilities": tuple(table.to(center.device) for table in tables),
        "groups": as_groups(groups),
        "factors": as_factors(factors, factor_names, missing=missing, unordered=unordered, device=center.device),
        "weights": None if weights is None else as_floats("weights", weights).to(center.device),
        "prior": LatentPrior.from_arrays(prior) if isinstance(prior, Mapping) else prior,
    }


def _as_mean(
    mean: Any, draws: Tensor | None, tables: tuple[Tensor, ...], *, has_spread: bool
) -> Float[Tensor, "image latent"]:
    if mean is not None:
        return _as_matrix("mean", mean)
    if has_spread:
        raise CodesError("std, log_var or covariance was given without mean. Give the mean of each posterior too.")
    if draws is not None:
        return draws.double().mean(dim=0).to(draws.dtype)
    if not tables:
        raise CodesError(
            "No codes were given. Give mean (with std or log_var), samples, or the probabilities of discrete latents."
        )
    return tables[0].new_zeros(len(tables[0]), 0)


def _as_matrix(name: str, values: Any) -> Float[Tensor, "image latent"]:
    matrix = as_floats(name, values)
    if matrix.ndim != 2 or len(matrix) == 0:
        raise CodesError(
            f"{name} has shape {tuple(matrix.shape)}; expected (images, latents) with at least one of each."
        )
    return matrix


def _as_std(std: Any, log_var: Any, mean: Tensor) -> Tensor | None:
    if std is not None and log_var is not None:
        raise CodesError("Both std and log_var were given. Give one of them: they say the same thing.")
    if log_var is None:
        return None if std is None else _as_matrix("std", std).to(mean)
    logs = _as_matrix("log_var", log_var).double()
    if logs.shape != mean.shape:
        raise CodesError(
            f"log_var has shape {tuple(logs.shape)} and mean {tuple(mean.shape)}; give one log-variance for each mean."
        )
    check_finite("log_var", logs.isnan() | (logs == torch.inf))
    std_of_logs = (logs / 2).exp().to(mean)
    refuse_where(
        std_of_logs.isinf(),
        "log_var is so large that the std, exp(log_var / 2), overflows",
        "It is the natural logarithm of the variance.",
    )
    return std_of_logs


def _as_draws(samples: Any) -> Float[Tensor, "draw image latent"]:
    draws = as_floats("samples", samples)
    if draws.ndim == 2:
        draws = draws[None]
    if draws.ndim != 3 or 0 in draws.shape[:2]:
        raise CodesError(
            f"samples has shape {tuple(draws.shape)}; expected (images, latents) or (draws, images, latents) with at "
            "least one of each."
        )
    check_finite("samples", (~draws.isfinite()).any(dim=0))
    return draws


def _as_tables(probabilities: Any) -> tuple[Float[Tensor, "image _category"], ...]:
    given = probabilities if isinstance(probabilities, (list, tuple)) else as_array("probabilities", probabilities)
    if not isinstance(given, (list, tuple)) and given.ndim not in (2, 3):
        raise CodesError(
            f"probabilities has shape {tuple(given.shape)}; expected a list of tables (images, categories)."
        )
    is_one_table = not isinstance(given, (list, tuple)) and given.ndim == 2
    tables = tuple(as_floats("probabilities", table) for table in ([given] if is_one_table else given))
    for table in tables:
        if table.ndim != 2 or 0 in table.shape:
            raise CodesError(
                f"A table of probabilities has shape {tuple(table.shape)}; expected a list of tables (images, "
                "categories)."
            )
    return tables


def as_groups(groups: Any) -> tuple[tuple[int, ...], ...]:
    try:
        given = [list(group) for group in groups]
        if any(isinstance(latent, bool) or getattr(latent, "dtype", None) == torch.bool for g in given for latent in g):
            raise TypeError
        return tuple(tuple(operator.index(latent) for latent in group) for group in given)
    except TypeError:
        raise CodesError(
            f"groups is {str(groups)[:80]}; expected the numbers of the latents of each, such as [(0, 1), (2,)]."
        ) from None


def as_rows(rows: Any, num_images: int) -> Int64[Tensor, " row"]:
    """Returns the numbers of some images, from their numbers or from True and False for each image."""
    given = as_tensor("rows", rows)
    if given.dtype == torch.bool and given.shape == (num_images,):
        return given.nonzero()[:, 0]
    is_numbers = given.ndim == 1 and len(given) > 0 and given.dtype != torch.bool and not given.is_floating_point()
    if not is_numbers or not -num_images <= int(given.min()) <= int(given.max()) < num_images:
        raise CodesError(
            f"rows is {str(rows)[:80]}; expected a slice, numbers of rows from 0 to {num_images - 1}, or True and "
            f"False for each of the {num_images} codes."
        )
    return given.long()


def tamed(weights: Float[Tensor, " image"]) -> Float[Tensor, " image"]:
    """Returns the same weights up to scale, none so large or so small that sums of their squares leave even single
    precision.
    """
    greatest = weights.max()
    return weights if 1e-15 <= float(greatest) <= 1e15 else weights / greatest
