"""Checks of the arguments and the index of `Codes`."""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid._internal.arrays import as_tensor, shown
from unbraid.codes.labels import Labels
from unbraid.codes.latent_prior import LatentPrior
from unbraid.errors import CodesError


def check_finite(name: str, bad: Tensor) -> None:
    """Raises an error if any entry of `bad` (image by latent) is True."""
    _refuse_where(bad, f"{name} is NaN or infinite", "Expected finite numbers. Drop these rows, or fix the encoder.")


def _refuse_where(bad: Tensor, complaint: str, advice: str) -> None:
    if bool(bad.any()):
        rows, latents = bad.any(1).nonzero()[:, 0].tolist(), bad.any(0).nonzero()[:, 0].tolist()
        raise CodesError(
            f"{complaint} in {len(rows)} rows ({shown(rows)}), latents [{shown(latents, most=20)}]. {advice}"
        )


def check_std(std: Tensor, mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error unless std has the shape of mean and finite entries >= 0."""
    if std.shape != mean.shape:
        raise CodesError(
            f"std (or log_var) has shape {tuple(std.shape)}; expected {tuple(mean.shape)}, the shape of mean. Pass one "
            "std for each mean."
        )
    check_finite("std, or exp(log_var / 2),", ~std.isfinite())
    if std.numel() > 0:  # none of discrete latents
        least = float(std.min())
        _refuse_where(std < 0, f"std is negative (minimum {least:g})", "Expected >= 0. Pass log-variances as log_var.")


def check_covariance(covariance: Tensor, std: Tensor | None, mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error if std is also given, or unless covariance contains one covariance matrix per image."""
    num_images, num_latents = mean.shape
    if std is not None:
        raise CodesError("Both std and covariance were given; expected one of them. Omit std.")
    if covariance.shape != (num_images, num_latents, num_latents):
        raise CodesError(
            f"covariance has shape {tuple(covariance.shape)}; expected {(num_images, num_latents, num_latents)}. Pass "
            "one matrix for each image."
        )
    check_finite("covariance", (~covariance.isfinite()).any(dim=2))
    variances = covariance.diagonal(dim1=1, dim2=2)
    if bool((variances < 0).any()):
        raise CodesError(
            f"covariance has negative variances on its diagonal (minimum {float(variances.min()):g}); expected "
            "variances >= 0. Pass covariance matrices."
        )
    # In float32, computed matrices differ from their transpose by a few units in the seventh digit.
    if bool(((covariance - covariance.mT).abs() > 1e-4 * covariance.abs().amax(dim=(1, 2), keepdim=True)).any()):
        raise CodesError(
            "covariance is not symmetric in some images; expected symmetric matrices. Pass covariances instead of "
            "Cholesky factors."
        )


def check_samples(samples: Tensor, mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error unless samples contains finite numbers of shape (draws, images, latents)."""
    if samples.shape[1:] != mean.shape or len(samples) == 0:
        raise CodesError(
            f"samples has shape {tuple(samples.shape)}; expected (draws, {', '.join(map(str, mean.shape))}), to match "
            "mean. Pass at least one draw of every image."
        )
    check_finite("samples", (~samples.isfinite()).any(dim=0))


def check_probabilities(name: str, table: Tensor, num_images: int) -> None:
    """Raises an error if a row of the table is not a probability distribution."""
    if len(table) != num_images or table.shape[1] == 0:
        raise CodesError(
            f"{name} has shape {tuple(table.shape)}; expected ({num_images}, categories). Pass one row per image and "
            "one column per category."
        )
    bad = ~table.isfinite().all(dim=1) | (table < 0).any(dim=1) | ((table.double().sum(dim=1) - 1).abs() > 1e-4)
    if bool(bad.any()):
        rows = bad.nonzero()[:, 0].tolist()
        raise CodesError(
            f"{name} is negative, not finite or does not sum to 1 in {len(rows)} rows (the first is {rows[0]}); "
            "expected q(z | x) of each category. Apply a softmax to logits first."
        )


def check_factors(factors: Sequence[Any], mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error unless all factors are `Labels` with one label per image and different names."""
    for labels in factors:
        if not isinstance(labels, Labels):
            raise CodesError(
                f"A factor is a {type(labels).__name__}; expected Labels. Use Codes.from_arrays for arrays and lists."
            )
        if len(labels.values) != len(mean):
            transposed = len(labels.values) == mean.shape[1]
            raise CodesError(
                f"Factor {labels.name!r} has {len(labels.values)} labels; expected {len(mean)}, because mean has shape "
                f"{tuple(mean.shape)} (images, latents). Pass one label for each image"
                f"{', or transpose mean' if transposed else ''}."
            )
    names = [labels.name for labels in factors]
    if len(set(names)) < len(names):
        raise CodesError(
            f"The factors are named {shown(names, most=20)}; expected different names. Rename the duplicates."
        )


def check_weights(weights: Tensor, num_images: int) -> None:
    """Raises an error unless the weights are unnormalized probabilities of the images."""
    if weights.shape != (num_images,):
        raise CodesError(
            f"weights has shape {tuple(weights.shape)}; expected ({num_images},). Pass one weight for each image."
        )
    if not bool(weights.isfinite().all() & (weights >= 0).all() & (weights > 0).any()):
        raise CodesError(
            f"weights is between {float(weights.min()):g} and {float(weights.max()):g}; expected finite numbers >= 0, "
            "not all 0. Pass probabilities p(n) up to scale."
        )


def check_prior(prior: LatentPrior, mean: Tensor, probabilities: Sequence[Tensor]) -> None:
    """Raises an error unless the prior is a `LatentPrior` of the same latents."""
    if not isinstance(prior, LatentPrior):
        raise CodesError(
            f"prior is a {type(prior).__name__}; expected a LatentPrior. Use Codes.from_arrays for arrays."
        )
    found = (len(prior.mean), *map(len, prior.probabilities))
    expected = (mean.shape[1], *(table.shape[1] for table in probabilities))
    if found != expected:
        raise CodesError(
            f"The prior has {_latents(found)}; expected {_latents(expected)}, as in the codes. Pass a prior for each "
            "latent."
        )


def _latents(sizes: Sequence[int]) -> str:
    """Describes latents in words, given the number of continuous latents and the sizes of discrete latents."""
    discrete = f" and discrete latents with {shown(sizes[1:])} categories" if len(sizes) > 1 else ""
    return f"{sizes[0]} continuous latents{discrete}"


def as_groups(groups: Any) -> tuple[tuple[int, ...], ...]:
    """Converts groups to tuples of latent indices."""
    try:
        given = [list(group) for group in groups]
        if any(isinstance(latent, bool) or getattr(latent, "dtype", None) == torch.bool for g in given for latent in g):
            raise TypeError
        return tuple(tuple(operator.index(latent) for latent in group) for group in given)
    except TypeError:
        raise CodesError(
            f"groups is {str(groups)[:80]}; expected a list of latent indices for each group. Pass e.g. [(0, 1), (2,)]."
        ) from None


def check_groups(groups: Sequence[Sequence[int]], num_latents: int) -> None:
    """Raises an error if a group is empty, or a latent is out of range or in several groups."""
    named = [latent for group in groups for latent in group]
    if not (all(groups) and all(0 <= latent < num_latents for latent in named) and len(set(named)) == len(named)):
        raise CodesError(
            f"groups is {str(groups)[:80]}; expected non-empty groups without common latents. Pass latent indices from "
            f"0 to {num_latents - 1}."
        )


def as_rows(rows: Any, num_images: int) -> Int64[Tensor, " row"]:
    """Converts an index (an integer, integers, or a mask) to row indices."""
    given = as_tensor("rows", rows)
    if given.dtype == torch.bool and given.shape == (num_images,):
        return given.nonzero()[:, 0]
    if given.ndim > 1 or given.dtype == torch.bool or given.is_floating_point() or given.numel() == 0:
        raise CodesError(
            f"The index is {str(rows)[:80]}; expected a slice, integers or a mask. Pass integers from 0 to "
            f"{num_images - 1}, or True or False for each of the {num_images} images."
        )
    chosen = given.long().reshape(-1)
    if outside := [row for row in (int(chosen.min()), int(chosen.max())) if not -num_images <= row < num_images]:
        raise IndexError(f"Image {outside[0]} does not exist. Pass an index from 0 to {num_images - 1}.")
    return chosen


def rescale_if_extreme(weights: Float[Tensor, " image"]) -> Float[Tensor, " image"]:
    """Divides weights by their maximum if sums of squares would overflow or underflow in float32."""
    greatest = weights.max()
    return weights if 1e-15 <= float(greatest) <= 1e15 else weights / greatest
