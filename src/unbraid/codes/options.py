"""CodesOptions: how factors are read, and what few codes have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.codes.factor_forms import Marks
from unbraid.codes.latent_prior import LatentPrior


@final
@dataclass(frozen=True, kw_only=True)
class CodesOptions:
    """Options of `Codes.from_arrays`.

    Args:
        factor_names: The names of the columns, where factors are a table without names.
        missing: What marks a missing label: math.nan, a number such as -1, or a word; or a mapping from names of
            factors to such marks.
        unordered: The names of factors whose values have no order, beside those whose values are words.
        covariance: Image by latent by latent, in place of `std`.
        groups: The numbers of the latents that belong together, such as [(0, 1), (2,)]; the continuous ones count
            first.
        prior: p(z), as a LatentPrior or as arrays by name: {"mean": ..., "std": ...}, with "covariance" in place of
            "std" where it correlates latents, and "probabilities_0", ... for discrete ones. Scores that compare codes
            with their prior carry a note where they assume one.
    """

    factor_names: Sequence[str] | None = None
    missing: Marks = None
    unordered: Sequence[str] = ()
    covariance: Any = None
    groups: Sequence[Sequence[int]] = ()
    prior: LatentPrior | Mapping[str, Any] | None = None
