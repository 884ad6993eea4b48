"""MISJED of the most and the least informative latents."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, final

from unbraid.errors import CodesError
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.metric import Feature, Interval, Metric, Score, Value
from unbraid.metrics.misjed import MISJED
from unbraid.metrics.reductions.statistics import Statistics

# Ranks by informativeness: the first is 1, the last is -1.
_PAIRS = ((1, 2), (1, 3), (1, -1), (1, -2), (-1, -2), (-1, -3))


@final
@dataclass(frozen=True)
class RankedPairs(Metric):
    """MISJED, in nats, of pairs of latents by their ranks in informativeness: the parts "1,2", "1,3", "1,-1", "1,-2",
    "-1,-2" and "-1,-3", where 1 is the most informative latent and -1 the least. The value is that of MISJED.

    Do & Tran, arXiv:1908.09961v4, table 5. Two latents of noise, N(0, 1) whatever the image, have twice their entropy
    in bins, the largest there is: 7.889 nats in 100 bins from -4 to 4.
    """

    bounds: ClassVar[Interval] = (-math.inf, 1.0)
    quantity: ClassVar[str] = "MISJED of ranked pairs"
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False
    by_name_only: ClassVar[bool] = True

    estimator: Quantized = Quantized()  # noqa: RUF009 (frozen)
    """How information is estimated."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return MISJED(self.estimator).accepts

    def measure(self, statistics: Statistics) -> Score:
        num_latents = statistics.codes.mean.shape[1]
        if num_latents < 3:
            raise CodesError(
                f"RankedPairs compares the first three latents with the last three; there are {num_latents}."
            )
        score = MISJED(self.estimator).of(statistics)
        told = Informativeness(self.estimator).of(statistics).per_latent
        ranked = sorted(range(num_latents), key=lambda latent: -told[latent])

        def place(rank: int) -> int:
            return ranked[rank - 1 if rank > 0 else rank]

        table = score.tables["misjed"]
        parts = {f"{one},{other}": Value(float(table[place(one), place(other)])) for one, other in _PAIRS}
        return replace(score, metric=type(self).__name__, parts=parts, settings=self.settings)
