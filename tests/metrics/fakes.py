"""Small metrics for tests of what lies around metrics."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch

from unbraid._internal.progress import Event, emit
from unbraid.errors import CodesError
from unbraid.metrics.metric import Feature, Metric, Score, Value
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class CountFactors(Metric):
    """How many factors there are."""

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    higher_is_better: ClassVar[bool | None] = None

    @property
    def accepts(self) -> frozenset[Feature]:
        return frozenset({"missing labels"})

    def measure(self, statistics: Statistics) -> Score:
        names = statistics.codes.factor_names
        return Score("CountFactors", float(len(names)), per_factor=dict.fromkeys(names, 1.0), settings=self.settings)


@final
@dataclass(frozen=True)
class Spread(Metric):
    """The mean of some draws, and their shape. Lower is better, no factors needed."""

    how: Literal["wide", "narrow_one"] = "wide"
    num_samples: int = 50
    seed: int = 0
    scale: float = 1.0
    strict: bool = False

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False

    @property
    def accepts(self) -> frozenset[Feature]:
        return frozenset()

    def measure(self, statistics: Statistics) -> Score:
        emit(Event("drawing", 1, 2, "draws"))
        if self.strict:
            raise CodesError("Spread: too strict for these codes. Be lenient.")
        z = statistics.draws(self.num_samples, self.seed).z.double()
        value = Value.from_standard_error(z.mean(), z.std() / math.sqrt(z.numel()))
        parts = {f"part_{number}": Value(float(number)) for number in range(8)}
        table = torch.tensor([[math.nan, 1.0], [math.inf, 2.0]])
        return Score(
            "Spread", value.value, value.interval, parts=parts, per_latent=tuple(z.mean(dim=0).tolist()),
            tables={"t": table},
            settled=False, notes=("More draws would move it.",), settings=self.settings,
        )  # fmt: skip
