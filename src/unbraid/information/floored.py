"""Densities at draws with floors, as Do & Tran's code computes them. For comparison with published numbers only."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.events import Event, tell
from unbraid.information.posteriors import Draws, Posteriors
from unbraid.information.sampled import LogDensities

# Terms of a block: 8 MB on a processor; a GPU wants many at once.
_BLOCK_TERMS = {"cpu": 1_000_000, "cuda": 64_000_000}
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def floored_log_densities(
    posteriors: Posteriors, draws: Draws, floor: float, groups: Sequence[Sequence[int]] = ()
) -> LogDensities:
    """Returns log q at each draw, where no density counts as less than `floor`.

    In a product over latents each factor is at least the floor; so is each product for the draw's own image, and each
    mixture. Do & Tran, arXiv:1908.09961v4, whose code has a floor of 1e-8: -log q(z) is then at most 18.4 nats, which
    many latents exceed for want of nothing but number. The paper does not mention it. Diagonal Gaussian posteriors
    only. Every term takes its own logarithm: some ten times as slow as `log_densities`.
    """
    _check(posteriors)
    mean, std, log_weights, log_floor = (
        posteriors.mean.double(),
        posteriors.std.double(),
        posteriors.weights.log(),
        math.log(floor),
    )

    def densities(z: Tensor, image: Tensor | slice) -> Tensor:
        return -0.5 * ((z - mean[image]) / std[image]).square() - std[image].log() - _HALF_LOG_TWO_PI

    sizes = _BLOCK_TERMS["cpu" if mean.device.type == "cpu" else "cuda"], mean.shape[1]
    images_per_block = max(1, min(len(mean), sizes[0] // sizes[1]))
    blocks = draws.z.double().split(max(1, sizes[0] // (sizes[1] * images_per_block)))
    of_mixture = []
    for number, block in enumerate(blocks):
        totals: list[Tensor] = []
        for begin in range(0, len(mean), images_per_block):
            image = slice(begin, begin + images_per_block)
            streams = _streams(densities(block[:, None], image), log_floor, groups)
            sums = [(part + log_weights[image, None]).logsumexp(dim=1) for part in streams]
            totals = (
                [torch.logaddexp(total, part) for total, part in zip(totals, sums, strict=True)] if totals else sums
            )
        of_mixture.append([total.clamp(min=log_floor) for total in totals])
        tell(Event("floored densities", number + 1, len(blocks), "blocks"))
    each, joint, without, grouped = (torch.cat(parts) for parts in zip(*of_mixture, strict=True))
    own = [part.clamp(min=log_floor) for part in _streams(densities(draws.z.double(), draws.image), log_floor, groups)]
    return LogDensities(each, joint[:, 0], without, grouped, own[0], own[1][:, 0], own[2], own[3])


def _streams(
    logs: Float64[Tensor, "*axes latent"], log_floor: float, groups: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns each latent as it is; all, all but each and the groups as products of floored factors."""
    floored = logs.clamp(min=log_floor)
    joint = floored.sum(dim=-1, keepdim=True)
    grouped = [floored[..., list(group)].sum(dim=-1, keepdim=True) for group in groups]
    return logs, joint, joint - floored, torch.cat(grouped, dim=-1) if grouped else logs[..., :0]


def _check(posteriors: Posteriors) -> None:
    if posteriors.covariance is not None or posteriors.probabilities:
        raise CodesError(
            "density_floor is for uncorrelated Gaussian latents, as in Do & Tran's code. Leave it out: without floors "
            "all codes are taken."
        )
