"""How another model follows the sliders of the first one."""

from dataclasses import dataclass
from typing import final

from scipy.optimize import linear_sum_assignment

from unbraid.codes import Codes
from unbraid.codes.matching import match_latents


@final
@dataclass(frozen=True)
class Partner:
    """Holds the latent of another model that goes with one of the first.

    `scale` turns a step of the one into a step of the other; `categories` are those of the other's, for each of the
    one's, where both are discrete.
    """

    latent: int
    correlation: float
    scale: float = 1.0
    categories: tuple[int, ...] = ()


def partners(ours: Codes, theirs: Codes) -> list[Partner | None]:
    """Returns the matching latent of `theirs` for each latent of `ours`; None for those left over.

    The assignment has the largest sum of absolute correlations over the same images.

    Discrete latents go with discrete ones in their order, if both have as many categories; categories that come
    together most often go together.
    """
    found: list[Partner | None] = [None] * ours.num_latents
    for pair in match_latents(ours, theirs).pairs:
        one, other = (codes.mean[:, j].double().std() for codes, j in ((ours, pair.first), (theirs, pair.second)))
        ratio = float(other / one)
        found[pair.first] = Partner(pair.second, pair.correlation, -ratio if pair.correlation < 0 else ratio)
    first, second = ours.mean.shape[1], theirs.mean.shape[1]
    for number, (one, other) in enumerate(zip(ours.probabilities, theirs.probabilities, strict=False)):
        if one.shape[1] == other.shape[1]:
            joint = one.double().T @ other.double() / len(one)
            rows, chosen = linear_sum_assignment(joint.numpy(), maximize=True)
            agreement = float(joint[rows, chosen].sum())
            found[first + number] = Partner(second + number, agreement, categories=tuple(map(int, chosen)))
    return found
