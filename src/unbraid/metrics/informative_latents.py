"""Number of latents with information about the image."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.information.delta_method import standard_error
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators import Estimator, Exact
from unbraid.metrics.information_metric import check_entropies
from unbraid.metrics.metric import QUANTILE, Feature, Interval, Metric, Score, Value
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import ANY_LABELS, labels_aside
from unbraid.metrics.settings import NOT_NEGATIVE


@final
@dataclass(frozen=True)
class InformativeLatents(Metric):
    """Number of latents with I(x, z_i) > `min_information`, in nats. Neither higher nor lower is better.

    Do & Tran, arXiv:1908.09961v4, figures 26 to 28, report this number without a definition. Their code counts the
    latents with a mean posterior std below 0.4, which is the part "narrow".
    """

    estimator: Estimator = Exact()
    """Estimator of information."""
    min_information: float = 0.01
    """Minimum information of an informative latent about the image, in nats."""
    max_std: float = 0.4
    """Maximum mean posterior std of the latents in the part "narrow"."""

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    quantity: ClassVar[str] = "number of informative latents"
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False
    by_name_only: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType(
        {"min_information": NOT_NEGATIVE, "max_std": NOT_NEGATIVE}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_entropies("InformativeLatents", self.estimator)

    @property
    def accepts(self) -> frozenset[Feature]:
        return self.estimator.accepts | ANY_LABELS

    def measure(self, statistics: Statistics) -> Score:
        statistics = labels_aside(statistics)
        information = self.estimator.information(statistics)
        nats = information.informativeness

        def count(of: Float64[Tensor, " latent"]) -> float:
            return float((of > self.min_information).sum())

        narrow, interval = _narrow(statistics, self.max_std), None
        if statistics.with_intervals:
            half = QUANTILE * _errors(self.estimator, statistics).nan_to_num()
            interval = (count(nats - half), count(nats + half))
        return self.score(
            Value(count(nats), interval),
            parts={} if narrow is None else {"narrow": Value(float(narrow.sum()))},
            per_latent=nats,
            settings=self.settings | self.estimator.used(statistics),
        )


def _errors(estimator: Estimator, statistics: Statistics) -> Float64[Tensor, " latent"]:
    """Returns the standard error of I(x, z_i) for each latent."""
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
    """Returns a mask of the continuous latents with a mean posterior std below `max_std`; None without a std."""
    std = statistics.codes.marginal_std
    return None if std is None else statistics.weights @ std.double() < max_std
