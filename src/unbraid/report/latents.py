"""What each latent says: how much of the image, and of which factor."""

import math
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float64
from torch import Tensor

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.information.posteriors import Posteriors
from unbraid.information.quantised import Bins
from unbraid.metrics.metric import Score
from unbraid.metrics.statistics import Statistics

# Below this many nats about the image, a latent is noise to the decoder.
UNUSED = 0.01
# A latent that knows less than this share of every factor follows none.
_LEAST_SHARE = 0.1


@final
@dataclass(frozen=True)
class Reading:
    """One latent. `nats` is I(x; z_j). `follows` are the factors it says most of, with I(z_j; v_k) / H(v_k).

    A second factor is named if the latent knows at least half as much of it: that latent is entangled. `num_categories`
    is 0 if it is continuous.
    """

    latent: int
    nats: float
    follows: tuple[tuple[str, float], ...] = ()
    num_categories: int = 0

    @property
    def is_unused(self) -> bool:
        return self.nats < UNUSED


def read_latents(codes: Codes, mig: Score | None) -> list[Reading]:
    """Every latent, the most informative first. I(x; z_j) = H(z_j) - H(z_j | x): Do & Tran, arXiv:1908.09961v4, section
    3.1.
    """
    nats = informativeness(codes, mig).tolist()
    shares = None if mig is None else factor_shares(mig)
    names = () if mig is None else tuple(mig.per_factor)
    categories = [0] * codes.mean.shape[1] + [table.shape[1] for table in codes.probabilities]
    readings = [
        Reading(j, max(0.0, nats[j]), () if shares is None else _followed(shares[j].tolist(), names), categories[j])
        for j in range(len(nats))
    ]
    return sorted(readings, key=lambda reading: -reading.nats)


def informativeness(codes: Codes, mig: Score | None) -> Float64[Tensor, " latent"]:
    """I(x; z_j) in nats; through bins where q(z | x) has no density. An exact MIG has already integrated H(z_j), which
    is the slow part.
    """
    std, has_continuous = codes.marginal_std, codes.mean.shape[1] > 0
    if has_continuous and std is None and codes.samples is None:
        raise CodesError(
            "The report shows what each posterior says, and these codes have only means. Encode them with their std."
        )
    statistics = Statistics(replace(codes, factors=()))
    if has_continuous and (std is None or bool((std <= 0).any())):
        return statistics.quantised(Bins()).informativeness
    if mig is None or mig.settings.get("estimator") != "exact":
        return statistics.exact().informativeness
    each = Posteriors(codes.mean, statistics.std, statistics.weights, probabilities=codes.probabilities).entropy().each
    return mig.tables["latent_entropy"] - each


def factor_shares(mig: Score) -> Float64[Tensor, "latent factor"]:
    """I(z_j; v_k) / H(v_k), from 0 to 1. NaN where a factor never varies."""
    information, entropy = mig.tables["mutual_information"].clamp(min=0), mig.tables["factor_entropy"]
    varies = entropy.new_tensor([not math.isnan(gap) for gap in mig.per_factor.values()]).bool()
    return (information / entropy).where(varies, math.nan)


def _followed(shares: list[float], names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    ranked = sorted(
        ((name, share) for name, share in zip(names, shares, strict=True) if share >= _LEAST_SHARE),
        key=lambda pair: -pair[1],
    )
    return tuple(pair for pair in ranked[:2] if pair[1] >= ranked[0][1] / 2)
