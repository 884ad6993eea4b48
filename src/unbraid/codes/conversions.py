"""Codes from arrays, tensors and nested lists."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import as_array, as_floats
from unbraid.codes.checks import as_groups, check_finite, refuse_where
from unbraid.codes.codes import Codes
from unbraid.codes.factor_forms import as_factors
from unbraid.codes.latent_prior import LatentPrior
from unbraid.codes.options import CodesOptions
from unbraid.errors import CodesError


def codes_from_arrays(
    mean: Any = None,
    std: Any = None,
    *,
    log_var: Any = None,
    samples: Any = None,
    probabilities: Any = (),
    factors: Any = None,
    weights: Any = None,
    options: CodesOptions | None = None,
) -> Codes:
    """Returns codes from what `Codes.from_arrays` takes, of a single image too."""
    options = options or CodesOptions()
    covariance, prior = options.covariance, options.prior
    draws = None if samples is None else _as_draws(samples)
    tables = _as_tables(probabilities)
    center = _as_mean(mean, draws, tables, has_spread=not (std is log_var is covariance is None))
    return Codes(
        mean=center,
        std=_as_std(std, log_var, center),
        covariance=None if covariance is None else as_floats("covariance", covariance).to(center),
        samples=None if draws is None else draws.to(center),
        probabilities=tuple(table.to(center.device) for table in tables),
        groups=as_groups(options.groups),
        factors=as_factors(
            factors,
            options.factor_names,
            missing=options.missing,
            unordered=options.unordered,
            device=center.device,
        ),
        weights=None if weights is None else as_floats("weights", weights).to(center.device),
        prior=LatentPrior.from_mapping(prior) if isinstance(prior, Mapping) else prior,
    )


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
