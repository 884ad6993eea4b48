"""What each latent says, ranked."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, final

from unbraid.errors import SpecError
from unbraid.metrics.best_factor import BestFactor
from unbraid.metrics.estimators import Estimator, Sampled
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.metric import Feature, Interval, Metric, Score, Value
from unbraid.metrics.reductions.sampled_entropies import Conditional
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.separability import Separability
from unbraid.metrics.sepin import SEPIN

Ranked = Literal["informativeness", "separability", "sepin", "best_factor"]
_OF_DRAWS = {"separability": Separability, "sepin": SEPIN}


@final
@dataclass(frozen=True)
class RankedLatents(Metric):
    """The numbers that a metric has for each latent, the largest first, as parts "1", "2" and so on; the value is that
    of the metric itself.

    The order of latents differs between models that are otherwise alike, so that numbers of one latent cannot be
    compared between them; those of one rank can. Do & Tran, arXiv:1908.09961v4, figures 9 and 14, show ranks.
    """

    by: Ranked = "informativeness"
    """The metric whose numbers are ranked."""
    estimator: Estimator = Sampled()  # noqa: RUF009 (frozen)
    """How information is estimated; of separability and SEPIN, by draws."""
    conditional: Conditional = "analytic"
    """H(. | x) in closed form over all images, or averaged over the same draws as Do & Tran's code does."""
    density_floor: float | None = None
    """Smaller densities count as this one, as in Do & Tran's code; none for no such limit."""

    bounds: ClassVar[Interval] = (-math.inf, math.inf)
    quantity: ClassVar[str] = "ranked latents"
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False
    by_name_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by in _OF_DRAWS and not isinstance(self.estimator, Sampled):
            raise SpecError(f"RankedLatents: {self.by} is estimated from draws; the estimator is {self.estimator}.")
        _ = self.metric  # which refuses what it does not take

    @property
    def metric(self) -> Metric:
        """Returns the metric whose numbers are ranked."""
        if self.by == "best_factor":
            return BestFactor(self.estimator)
        if isinstance(self.estimator, Sampled) and self.by in _OF_DRAWS:
            return _OF_DRAWS[self.by](self.estimator, self.conditional, self.density_floor)
        return Informativeness(self.estimator, self.conditional, self.density_floor)

    @property
    def accepts(self) -> frozenset[Feature]:
        return self.metric.accepts

    def measure(self, statistics: Statistics) -> Score:
        score = self.metric.of(statistics)
        # What is not defined comes last.
        ranked = sorted(score.per_latent, key=lambda number: math.inf if math.isnan(number) else -number)
        return replace(
            score,
            metric=type(self).__name__,
            parts={str(rank): Value(number) for rank, number in enumerate(ranked, start=1)},
            settings=self.settings
            | {name: score.settings[name] for name in ("num_samples", "seed") if name in score.settings},
        )
