"""Claim: a hypothesis that a quantity of a study lies in a region."""

import math
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import final

from unbraid._internal.names import suggestion
from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.metrics.scoring import Scoring
from unbraid.studies.claims.quantities import MIN_SEEDS, Quantity, computed
from unbraid.studies.statistics import Measurement
from unbraid.studies.study_scores import metric_and_part


@final
@dataclass(frozen=True)
class Claim(Config):
    """A hypothesis that a quantity lies above a border, below a border, or between two borders.

    `sentence` expresses the hypothesis in words. Exactly one of `above`, `below` and `between` is given. Claims with
    `central=True` decide the overall verdict. `scoring` selects a scoring of the study, by default the first one.
    """

    sentence: str
    quantity: Quantity
    _: KW_ONLY
    above: float | None = None
    below: float | None = None
    between: tuple[float, ...] | None = None
    central: bool = False
    scoring: Scoring | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = {name: value for name in ("above", "below", "between") if (value := getattr(self, name)) is not None}
        low, high = self.region
        is_range = low < high or (low == high and isinstance(self.quantity, computed))
        if len(given) != 1 or not is_range or (self.between is not None and len(self.between) != 2):
            raise SpecError(
                f"Claim {self.sentence!r}: the region is {given or 'missing'}; expected one of above, below, and "
                "between with two increasing borders. Pass for example above=0."
            )

    @property
    def region(self) -> tuple[float, float]:
        """The lower and the upper border of the region. A missing border is infinite."""
        if self.between:
            return self.between[0], self.between[-1]
        return -math.inf if self.above is None else self.above, math.inf if self.below is None else self.below

    def p_values(self, measured: Measurement) -> tuple[float, float]:
        """Returns the p-values of the null hypotheses "the claim is false" and "the claim is true"."""
        low, high = self.region
        if self.between is None:
            alone = measured.test(low) if math.isinf(high) else measured.test(high)[::-1]
        else:
            (above_low, below_low), (above_high, below_high) = measured.test(low), measured.test(high)
            alone = max(above_low, below_high), 2 * min(below_low, above_high)
        return min(1.0, self.quantity.num_choices * alone[0]), min(1.0, self.quantity.num_choices * alone[1])

    def smallest_p(self, num_seeds: Mapping[str, int]) -> float:
        """Returns the smallest p-value of "the claim is false" that is possible with these numbers of seeds."""
        (low, high), sizes = self.region, self.quantity.sizes(num_seeds)
        if min(sizes, default=MIN_SEEDS) < MIN_SEEDS:
            return 1.0
        above = 0.0 if math.isinf(low) else self.quantity.smallest_p(sizes, low)[0]
        below = 0.0 if math.isinf(high) else self.quantity.smallest_p(sizes, high)[1]
        return min(1.0, self.quantity.num_choices * max(above, below))

    def check(self, labels: Collection[str], metrics: Collection[str]) -> None:
        """Raises SpecError if the claim names a setting or a metric that the study does not have."""
        for label in self.quantity.settings_used:
            if label not in labels:
                raise SpecError(f"Claim {self.sentence!r}: unknown setting {label!r}. {suggestion(label, labels)}")
        for name in self.quantity.metrics_used:
            if metric_and_part(name, metrics)[0] not in metrics:
                raise SpecError(f"Claim {self.sentence!r}: unknown metric {name!r}. {suggestion(name, metrics)}")
