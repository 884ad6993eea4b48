"""From a table over factors to a weight for each image."""

import logging
from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid.datasets.columns import Values, discrete_place_of, value_indices
from unbraid.datasets.dataset import Factor
from unbraid.datasets.weights.joint import Joint
from unbraid.errors import SpecError

log = logging.getLogger(__name__)


def image_weights(
    joint: Joint, factors: Sequence[Factor], values: Values, base: Float[Tensor, " image"] | None = None
) -> Float64[Tensor, " image"]:
    """Returns p(n): the probability of the image's combination of values, shared among the images that have it. It sums
    to one.

    The probability is shared alike, or in proportion to `base`, the weights that the images have already; so all that
    the joint does not name keeps its distribution, given what it names. A combination that no image has cannot be
    drawn: the others become more likely, all by the same factor, and a warning is logged.
    """
    sizes = joint.sizes_among(factors)
    cells = torch.zeros(len(values), dtype=torch.int64, device=values.device)
    for name, size in zip(joint.factors, sizes, strict=True):
        place = discrete_place_of(name, factors, type(joint).__name__)
        cells = cells * size + value_indices(values, place, factors[place])
    table = joint.table(sizes).flatten().to(values.device)
    shares = torch.ones(len(values), dtype=torch.float64, device=values.device) if base is None else base.double()
    shares = shares / shares.sum()
    masses = torch.zeros_like(table).index_add_(0, cells, shares)
    present = torch.where(masses > 0, table, 0.0)
    _tell_what_is_missing(joint, table, present)
    per_share = present / present.sum() / torch.where(masses > 0, masses, 1.0)
    return shares * per_share[cells]


def _tell_what_is_missing(joint: Joint, table: Float64[Tensor, " cell"], present: Float64[Tensor, " cell"]) -> None:
    missing = int(((table > 0) & (present == 0)).sum())
    name = f"{type(joint).__name__} over {', '.join(joint.factors)}"
    if not bool((present > 0).any()):
        raise SpecError(
            f"{name}: no image shows any of the combinations that it makes likely. Choose another table, or other "
            "images."
        )
    if missing:
        log.warning(
            "%s: %s of %s combinations, with a probability of %.3g, are shown by no image. The others are drawn more "
            "often, all by the same factor.",
            name,
            f"{missing:,}",
            f"{len(table):,}",
            float(table.sum() - present.sum()),
        )
