"""Densities at draws with floors, as Do & Tran's code computes them. For comparison with published numbers only."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.information.posteriors import Draws, Posteriors
from unbraid.information.sampled import LogDensities

# Draws times images times latents. Above, it would take minutes and is refused: nobody needs these numbers for their own sake.
MAX_TERMS = 200_000_000
# Terms of a block: 32 MB.
_BLOCK_TERMS = 4_000_000
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def floored_log_densities(posteriors: Posteriors, draws: Draws, floor: float, groups: Sequence[Sequence[int]] = ()) -> LogDensities:
    """log q at each draw, where no density counts as less than `floor`.

    In a product over latents each factor is at least the floor; so is each product for the draw's own image, and each mixture. Do & Tran,
    arXiv:1908.09961v4, whose code has a floor of 1e-8: -log q(z) is then at most 18.4 nats, which many latents exceed for want of nothing but number. The
    paper does not mention it. Diagonal Gaussian posteriors only.
    """
    _check(posteriors, draws)
    mean, std, log_weights, log_floor = posteriors.mean.double(), posteriors.std.double(), posteriors.weights.log(), math.log(floor)

    def densities(z: Tensor, image: Tensor | slice) -> Tensor:
        return -0.5 * ((z - mean[image]) / std[image]).square() - std[image].log() - _HALF_LOG_TWO_PI

    of_mixture = []
    for block in draws.z.double().split(max(1, _BLOCK_TERMS // mean.numel())):
        streams = _streams(densities(block[:, None], slice(None)), log_floor, groups)
        of_mixture.append([(part + log_weights[:, None]).logsumexp(dim=1).clamp(min=log_floor) for part in streams])
    each, joint, without, grouped = (torch.cat(parts) for parts in zip(*of_mixture, strict=True))
    own = [part.clamp(min=log_floor) for part in _streams(densities(draws.z.double(), draws.image), log_floor, groups)]
    return LogDensities(each, joint[:, 0], without, grouped, own[0], own[1][:, 0], own[2], own[3])


def _streams(
    logs: Float64[Tensor, "*axes latent"], log_floor: float, groups: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each latent as it is; all, all but each and the groups as products of floored factors."""
    floored = logs.clamp(min=log_floor)
    joint = floored.sum(dim=-1, keepdim=True)
    grouped = [floored[..., list(group)].sum(dim=-1, keepdim=True) for group in groups]
    return logs, joint, joint - floored, torch.cat(grouped, dim=-1) if grouped else logs[..., :0]


def _check(posteriors: Posteriors, draws: Draws) -> None:
    if posteriors.covariance is not None or posteriors.probabilities:
        raise CodesError(
            "density_floor is for uncorrelated Gaussian latents, as in Do & Tran's code. Leave it out: without floors all codes are taken."
        )
    num_terms = len(draws) * posteriors.mean.numel()
    if num_terms > MAX_TERMS:
        raise CodesError(
            f"density_floor reproduces Do & Tran's code, slowly: {len(draws):,} draws against {len(posteriors.mean):,} images are {num_terms:,} terms, and "
            f"at most {MAX_TERMS:,} are computed. Take fewer samples or images, or leave density_floor out."
        )
