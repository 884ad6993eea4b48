"""Densities at draws with floors, as Do & Tran's code computes them. For comparison with published numbers only."""

import math
from collections.abc import Sequence

from unbraid.errors import CodesError
from unbraid.information.posteriors import Draws, Posteriors
from unbraid.information.sampled import LogDensities, log_densities


def floored_log_densities(
    posteriors: Posteriors, draws: Draws, floor: float, groups: Sequence[Sequence[int]] = ()
) -> LogDensities:
    """Returns log q at each draw, where no density counts as less than `floor`.

    In a product over latents each factor is at least the floor; so is each product for the draw's own image, and each
    mixture. Do & Tran, arXiv:1908.09961v4, whose code has a floor of 1e-8: -log q(z) is then at most 18.4 nats, which
    many latents exceed for want of nothing but number. The paper does not mention it. Diagonal Gaussian posteriors
    only.
    """
    _check(posteriors)
    logs = log_densities(posteriors, draws, groups, factor_floor=floor)
    return LogDensities(**{name: part.clamp(min=math.log(floor)) for name, part in vars(logs).items()})


def _check(posteriors: Posteriors) -> None:
    if posteriors.covariance is not None or posteriors.probabilities:
        raise CodesError(
            "density_floor is for uncorrelated Gaussian latents, as in Do & Tran's code. Leave it out: without floors "
            "all codes are taken."
        )
