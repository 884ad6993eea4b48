"""Codes with some of their latents alone: what is left of each table."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from unbraid.codes.latent_prior import LatentPrior
from unbraid.errors import CodesError

Groups = tuple[tuple[int, ...], ...]


def check_latents(latents: Sequence[int], num_latents: int) -> None:
    """Raises if there are no such latents, or if one is named twice."""
    if outside := [latent for latent in latents if not 0 <= latent < num_latents]:
        raise CodesError(f"There is no latent {outside[0]}: they are numbered from 0 to {num_latents - 1}.")
    if not latents or len(set(latents)) < len(latents):
        raise CodesError(f"latents is {tuple(latents)}; expected the number of at least one latent, each once.")


def fields_of_latents(
    latents: Sequence[int],
    mean: Float[Tensor, "image latent"],
    std: Float[Tensor, "image latent"] | None,
    covariance: Float[Tensor, "image latent latent"] | None,
    samples: Float[Tensor, "draw image latent"] | None,
    probabilities: Sequence[Float[Tensor, "image _category"]],
    groups: Groups,
    prior: LatentPrior | None,
) -> dict[str, Any]:
    """Returns the fields of codes that change when only these latents are kept, in this order; the continuous ones come
    first all the same. A group keeps those of its latents that are left.
    """
    continuous = [latent for latent in latents if latent < mean.shape[1]]
    discrete = [latent - mean.shape[1] for latent in latents if latent >= mean.shape[1]]
    place = {latent: new for new, latent in enumerate([*continuous, *(mean.shape[1] + k for k in discrete)])}
    left = (tuple(place[latent] for latent in group if latent in place) for group in groups)
    return {
        "mean": mean[:, continuous],
        "std": None if std is None else std[:, continuous],
        "covariance": None if covariance is None else covariance[:, continuous][:, :, continuous],
        "samples": None if samples is None else samples[:, :, continuous],
        "probabilities": tuple(probabilities[k] for k in discrete),
        "groups": tuple(group for group in left if group),
        "prior": None if prior is None else _prior_of(prior, continuous, discrete),
    }


def _prior_of(prior: LatentPrior, continuous: Sequence[int], discrete: Sequence[int]) -> LatentPrior:
    """Returns the marginal of the prior. A flow bends each latent by itself, so it is cut as the covariance is."""
    return LatentPrior(
        prior.mean[list(continuous)],
        prior.covariance[list(continuous)][:, list(continuous)],
        tuple(prior.family[latent] for latent in continuous),
        None if prior.flow is None else prior.flow[:, :, list(continuous)],
        tuple(prior.probabilities[k] for k in discrete),
    )
