"""Checks of the arguments of `Codes`, and of its index."""

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
    _refuse_where(bad, f"{name} is NaN or infinite", "Drop those rows, or fix the encoder output.")


def _refuse_where(bad: Tensor, complaint: str, advice: str) -> None:
    if bool(bad.any()):
        rows, latents = bad.any(1).nonzero()[:, 0].tolist(), bad.any(0).nonzero()[:, 0].tolist()
        raise CodesError(
            f"{complaint} in {len(rows)} rows ({shown(rows)}), latents [{shown(latents, most=20)}]. {advice}"
        )


def check_std(std: Tensor, mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error if std does not hold one finite number >= 0 for each mean."""
    if std.shape != mean.shape:
        raise CodesError(
            f"std (or log_var) has shape {tuple(std.shape)} and mean {tuple(mean.shape)}; give one std for each mean."
        )
    check_finite("std, or exp(log_var / 2),", ~std.isfinite())
    if std.numel() > 0:  # none of discrete latents
        least = float(std.min())
        _refuse_where(std < 0, f"std is negative (the least is {least:g})", "Pass log-variances as log_var.")


def check_covariance(covariance: Tensor, std: Tensor | None, mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error if std is given too, or if covariance is not one covariance matrix per image."""
    num_images, num_latents = mean.shape
    if std is not None:
        raise CodesError("Both std and covariance were given. Give one of them: the covariance holds the variances.")
    if covariance.shape != (num_images, num_latents, num_latents):
        raise CodesError(
            f"covariance has shape {tuple(covariance.shape)}; expected one matrix a code, "
            f"{(num_images, num_latents, num_latents)}."
        )
    check_finite("covariance", (~covariance.isfinite()).any(dim=2))
    variances = covariance.diagonal(dim1=1, dim2=2)
    if bool((variances < 0).any()):
        raise CodesError(
            f"covariance has negative variances on its diagonal (the least is {float(variances.min()):g})."
        )
    # Float32 keeps seven digits; matrices that were multiplied together differ from their transpose by a few units of
    # the last.
    if bool(((covariance - covariance.mT).abs() > 1e-4 * covariance.abs().amax(dim=(1, 2), keepdim=True)).any()):
        raise CodesError("covariance is not symmetric in some images. Give covariances, not their Cholesky factors.")


def check_samples(samples: Tensor, mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error if samples does not hold finite numbers of shape (draws, images, latents)."""
    if samples.shape[1:] != mean.shape or len(samples) == 0:
        raise CodesError(
            f"samples has shape {tuple(samples.shape)}; expected (draws, {', '.join(map(str, mean.shape))}) with at "
            "least one draw, to match mean: one point a draw and image."
        )
    check_finite("samples", (~samples.isfinite()).any(dim=0))


def check_probabilities(name: str, table: Tensor, num_images: int) -> None:
    """Raises an error if a row of the table is not a probability distribution."""
    if len(table) != num_images or table.shape[1] == 0:
        raise CodesError(
            f"{name} has shape {tuple(table.shape)}; expected a row for each of the {num_images} images and "
            "a column for each category."
        )
    bad = ~table.isfinite().all(dim=1) | (table < 0).any(dim=1) | ((table.double().sum(dim=1) - 1).abs() > 1e-4)
    if bool(bad.any()):
        rows = bad.nonzero()[:, 0].tolist()
        raise CodesError(
            f"{name} is negative, not finite or does not sum to 1 in {len(rows)} rows (the first is {rows[0]}). Give "
            "q(z | x) of each category; logits go through a softmax first."
        )


def check_factors(factors: Sequence[Any], mean: Float[Tensor, "image latent"]) -> None:
    """Raises an error if a factor is not an instance of `Labels` with one label per image."""
    for labels in factors:
        if not isinstance(labels, Labels):
            raise CodesError(
                f"A factor is {type(labels).__name__}; expected Labels. Codes.from_arrays takes numpy arrays and lists."
            )
        if len(labels.values) != len(mean):
            transposed = len(labels.values) == mean.shape[1]
            raise CodesError(
                f"Factor {labels.name!r} has {len(labels.values)} labels, and mean has shape {tuple(mean.shape)}: "
                f"{len(mean)} images by {mean.shape[1]} latents. Give one label for each image"
                f"{', or transpose mean' if transposed else ''}."
            )
    names = [labels.name for labels in factors]
    if len(set(names)) < len(names):
        raise CodesError(
            f"The factors are named {shown(names, most=20)}: some share a name. Give each a different one."
        )


def check_weights(weights: Tensor, num_images: int) -> None:
    """Raises an error if the weights are not unnormalized probabilities of the images."""
    if weights.shape != (num_images,):
        raise CodesError(
            f"weights has shape {tuple(weights.shape)}; give one weight for each of the {num_images} codes."
        )
    if not bool(weights.isfinite().all() & (weights >= 0).all() & (weights > 0).any()):
        raise CodesError(
            "weights are probabilities p(n) up to scale: none may be negative, NaN or infinite, and not all may be 0; "
            f"the least is {float(weights.min()):g}, the greatest {float(weights.max()):g}."
        )


def check_prior(prior: LatentPrior, mean: Tensor, probabilities: Sequence[Tensor]) -> None:
    """Raises an error if the prior does not fit the latents."""
    if not isinstance(prior, LatentPrior):
        raise CodesError(
            f"prior is {type(prior).__name__}; expected a LatentPrior. Codes.from_arrays takes arrays too."
        )
    found = (len(prior.mean), *map(len, prior.probabilities))
    expected = (mean.shape[1], *(table.shape[1] for table in probabilities))
    if found != expected:
        raise CodesError(
            f"The prior is one of {_latents(found)}, and the codes have {_latents(expected)}. Give a prior for each "
            "latent."
        )


def _latents(sizes: Sequence[int]) -> str:
    """Returns the latent sizes as text: continuous latents, then categories of the discrete latents."""
    discrete = f" and discrete ones with {shown(sizes[1:])} categories" if len(sizes) > 1 else ""
    return f"{sizes[0]} continuous latents{discrete}"


def as_groups(groups: Any) -> tuple[tuple[int, ...], ...]:
    """Converts the groups to tuples of latent numbers."""
    try:
        given = [list(group) for group in groups]
        if any(isinstance(latent, bool) or getattr(latent, "dtype", None) == torch.bool for g in given for latent in g):
            raise TypeError
        return tuple(tuple(operator.index(latent) for latent in group) for group in given)
    except TypeError:
        raise CodesError(
            f"groups is {str(groups)[:80]}; expected the numbers of the latents of each group, such as [(0, 1), (2,)]."
        ) from None


def check_groups(groups: Sequence[Sequence[int]], num_latents: int) -> None:
    """Raises an error if a group is empty, or a latent is out of range or in several groups."""
    named = [latent for group in groups for latent in group]
    if not (all(groups) and all(0 <= latent < num_latents for latent in named) and len(set(named)) == len(named)):
        raise CodesError(
            f"groups is {str(groups)[:80]}; expected latent numbers from 0 to {num_latents - 1}, at least one in each "
            "group, and none of them twice."
        )


def as_rows(rows: Any, num_images: int) -> Int64[Tensor, " row"]:
    """Converts an index (a number, several numbers, or a mask) to row numbers."""
    given = as_tensor("rows", rows)
    if given.dtype == torch.bool and given.shape == (num_images,):
        return given.nonzero()[:, 0]
    if given.ndim > 1 or given.dtype == torch.bool or given.is_floating_point() or given.numel() == 0:
        raise CodesError(
            f"The index is {str(rows)[:80]}; expected a slice, numbers from 0 to {num_images - 1}, or True and False "
            f"for each of the {num_images} images."
        )
    chosen = given.long().reshape(-1)
    if outside := [row for row in (int(chosen.min()), int(chosen.max())) if not -num_images <= row < num_images]:
        raise IndexError(f"There is no image {outside[0]}; expected a number from 0 to {num_images - 1}.")
    return chosen


def rescale_if_extreme(weights: Float[Tensor, " image"]) -> Float[Tensor, " image"]:
    """Divides the weights by the largest if sums of squares would overflow or underflow in float32."""
    greatest = weights.max()
    return weights if 1e-15 <= float(greatest) <= 1e15 else weights / greatest
