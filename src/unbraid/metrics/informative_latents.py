"""How many latents say anything of the image."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta_method import standard_error
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Exact
from unbraid.metrics.information_metric import check_entropies
from unbraid.metrics.metric import QUANTILE, Feature, Metric, Score, Value
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import ANY_LABELS, labels_aside


@final
@dataclass(frozen=True)
class InformativeLatents(Metric):
    """The number of latents with I(x, z_i) > `min_information`, in nats. Neither good nor bad.

    Do & Tran, arXiv:1908.09961v4, figures 26 to 28, count informative latents without saying which these are; their
    code takes a mean posterior std below 0.4. The part "narrow" is that number.
    """

    estimator: Estimator = Exact()  # noqa: RUF009 (frozen)
    """How information is estimated."""
    min_information: float = 0.01
    """How many nats an informative latent says of the image, at least."""
    max_std: float = 0.4
    """The part "narrow" counts latents whose posteriors have a smaller std on average."""

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    quantity: ClassVar[str] = "number of informative latents"
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False
    by_name_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_entropies("InformativeLatents", self.estimator)
        for name in ("min_information", "max_std"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SpecError(f"InformativeLatents: {name} is {getattr(self, name)}; expected 0 or more.")

    @property
    def accepts(self) -> frozenset[Feature]:
        return self.estimator.accepts | ANY_LABELS

    def measure(self, statistics: Statistics) -> Score:
        statistics = labels_aside(statistics)
        information = self.estimator.information(statistics)
        nats, errors = information.informativeness, _errors(self.estimator, statistics)

        def count(of: Float64[Tensor, " latent"]) -> float:
            return float((of > self.min_information).sum())

        narrow = _narrow(statistics, self.max_std)
        half = QUANTILE * errors.nan_to_num()
        return Score(
            metric=type(self).__name__,
            value=count(nats),
            interval=(count(nats - half), count(nats + half)),
            parts={} if narrow is None else {"narrow": Value(float(narrow.sum()))},
            per_latent=tuple(nats.tolist()),
            settings=self.settings | self.estimator.used(statistics),
        )


def _errors(estimator: Estimator, statistics: Statistics) -> Float64[Tensor, " latent"]:
    """Returns the standard error of I(x, z_i), latent by latent."""
    found = [
        standard_error(
            lambda averages: LatentInformation(**averages).informativeness,
            vars(estimator.information(statistics)),
            *rows,
        )
        for rows in estimator.deviations(statistics)
    ]
    return torch.stack(found).square().sum(dim=0).sqrt()


def _narrow(statistics: Statistics, max_std: float) -> Bool[Tensor, " latent"] | None:
    """Returns which continuous latents have narrow posteriors; None where they have no width at all."""
    std = statistics.codes.marginal_std
    return None if std is None else statistics.weights @ std.double() < max_std
