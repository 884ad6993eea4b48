"""What each latent says: how much of the image, and of which factor."""

from dataclasses import dataclass
from typing import final

from unbraid.codes import Codes
from unbraid.metrics.chance_shares import known_shares
from unbraid.metrics.metric import Score
from unbraid.metrics.unused_latents import informativeness, unused_latents

LEAST_SHARE = 0.1
"""A latent that knows less than this share of every factor follows none."""


@final
@dataclass(frozen=True)
class Reading:
    """Says what one latent holds. `nats` is I(x; z_j). `follows` are the factors it says most of, with I(z_j; v_k) /
    H(v_k), above chance where there are few images.

    A second factor is named if the latent knows at least half as much of it: that latent is entangled. `num_categories`
    is 0 if it is continuous.
    """

    latent: int
    nats: float
    follows: tuple[tuple[str, float], ...] = ()
    num_categories: int = 0
    is_unused: bool = False


def read_latents(codes: Codes, mig: Score | None) -> list[Reading]:
    """Returns every latent, the most informative first."""
    known = informativeness(codes, mig)
    nats, unused = known.tolist(), unused_latents(codes, mig, known).tolist()
    names = () if mig is None else tuple(mig.per_factor)
    shares = None if mig is None else known_shares(codes, mig)
    categories = [0] * codes.mean.shape[1] + [table.shape[1] for table in codes.probabilities]
    readings = [
        Reading(
            latent=j,
            nats=max(0.0, nats[j]),
            follows=() if shares is None else _followed(shares[j].tolist(), names),
            num_categories=categories[j],
            is_unused=unused[j],
        )
        for j in range(len(nats))
    ]
    return sorted(readings, key=lambda reading: -reading.nats)


def _followed(shares: list[float], names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    ranked = sorted(
        ((name, share) for name, share in zip(names, shares, strict=True) if share >= LEAST_SHARE),
        key=lambda pair: -pair[1],
    )
    return tuple(pair for pair in ranked[:2] if pair[1] >= ranked[0][1] / 2)
