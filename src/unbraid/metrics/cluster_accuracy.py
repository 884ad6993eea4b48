"""Cluster accuracy: the best matching of the categories of a discrete latent with the values of a factor."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import scipy
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class ClusterAccuracy(Metric):
    """Accuracy of discrete latents as clusters under the best one-to-one matching (Xie et al., ICML 2016).

    An image is correct if its most likely category is matched to its value. The matching maximizes the fraction of
    correct images (Kuhn, Naval Research Logistics Quarterly 1955; Xie, Girshick & Farhadi, section 4.2). The accuracy
    of a factor is this fraction for the best discrete latent, and the score is the mean over factors. Higher is better.
    Images in unmatched categories are incorrect. The part "commonest" is the fraction of the most frequent value.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS | {"discrete latents"}
    quantity: ClassVar[str] = "cluster accuracy"
    by_name_only: ClassVar[bool] = True

    def measure(self, statistics: Statistics) -> Score:
        codes = statistics.codes
        if not codes.probabilities:
            raise CodesError(
                "ClusterAccuracy: the codes have 0 discrete latents; expected at least 1. Pass probabilities, or train "
                "with ConcreteLatents."
            )
        categories = [p.argmax(dim=1).cpu() for p in codes.probabilities]
        p = statistics.weights.double().cpu()
        factors = [_Factor(labels.assignment().cpu(), p) for labels in codes.factors]
        matched = [[factor.matched(each) for factor in factors] for each in categories]
        accuracy = torch.stack(
            [torch.stack([f.p @ right for f, right in zip(factors, row, strict=True)]) for row in matched]
        )
        varies = torch.tensor(statistics.varies)
        best = accuracy.argmax(dim=0)
        per_factor = torch.where(varies, accuracy.amax(dim=0), torch.nan)
        # Influence of each image on the mean over factors; 0 for unknown values.
        added = [factors[k].p * (matched[best[k]][k] - accuracy[best[k], k]) for k in range(len(factors)) if varies[k]]
        error = math.sqrt(float(torch.stack(added).mean(dim=0).square().sum()))
        value = Value.from_standard_error(per_factor.nanmean(), error, self.bounds)
        commonest = torch.stack([factor.commonest() for factor in factors])[varies].mean()
        return self.score(
            value,
            codes.factor_names,
            parts={"commonest": Value(float(commonest))},
            per_factor=per_factor,
            tables={"accuracy": accuracy},
        )


@final
class _Factor:
    """Value of a factor for each image (-1 if unknown), and image probabilities normalized over known values."""

    def __init__(self, values: Int64[Tensor, " image"], p: Float64[Tensor, " image"]) -> None:
        known = torch.where(values >= 0, p, 0.0)
        self.values, self.p = values, known / known.sum()

    def matched(self, categories: Int64[Tensor, " image"]) -> Float64[Tensor, " image"]:
        """Returns 1 for each image whose category is matched to its value, and 0 for other images."""
        num_values, num_categories = int(self.values.max()) + 1, int(categories.max()) + 1
        cells = categories * num_values + self.values.clamp(min=0)
        shares = torch.bincount(cells, self.p, num_categories * num_values).reshape(num_categories, num_values)
        rows, columns = scipy.optimize.linear_sum_assignment(shares.numpy(), maximize=True)
        value_of = torch.full((num_categories,), -2)
        value_of[torch.from_numpy(rows)] = torch.from_numpy(columns)
        return (value_of[categories] == self.values).double()

    def commonest(self) -> Float64[Tensor, ""]:
        """Returns the fraction of images with the most frequent value."""
        return torch.bincount(self.values.clamp(min=0), self.p).max()
