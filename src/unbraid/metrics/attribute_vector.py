"""Attribute vectors: classification of binary attributes along directions in latent space."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from unbraid.codes import Labels
from unbraid.errors import CodesError
from unbraid.metrics.intervals import resampled_weights, settled_by_half, spread, wilson
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, prediction_tasks
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class AttributeVector(Metric):
    """Mean test accuracy of the classifiers w.z + b > 0 for factors with two values (Kumar et al., arXiv:1711.00848v1).

    *DIP-VAE*, table 2. z is the posterior mean. w is the mean of z over training images with the attribute minus the
    mean of z over training images without the attribute. b minimizes the hinge loss sum_n max(0, 1 - t_n (w.z_n + b)),
    with t = 1 for images with the attribute and -1 for other images. b is the midpoint of the interval of minimizers.
    The larger of the two values of a factor is the attribute. Factors with more values are left out. Scores are between
    0 and 1; higher is better.
    """

    num_train: int = 10_000
    """Number of training rows."""
    num_test: int = 5_000
    """Number of test rows."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    treats_floats_as_continuous: ClassVar[bool] = True
    is_scale_sensitive: ClassVar[bool] = True
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS | {"continuous factors"}
    quantity: ClassVar[str] = "accuracy of attribute vectors"
    fits_predictor: ClassVar[bool] = True

    def measure(self, statistics: Statistics) -> Score:
        factors, names = statistics.codes.factors, statistics.codes.factor_names
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        reasons = {k: _cannot_score(factors[k], task) for k, task in tasks.items()}
        left_out = [f"{names[k]} ({reason})" for k, reason in reasons.items() if reason]
        scored = {k: task for k, task in tasks.items() if not reasons[k]}
        if not scored:
            raise CodesError(
                f"AttributeVector: the factors are {', '.join(left_out)}; expected at least one factor with two "
                "values. Use scoring=Scoring(one_vs_rest=[...]) to split a factor into binary attributes."
            )
        fitted = {k: fit_attribute(task) for k, task in scored.items()}
        images = [task.test_images for task in scored.values()]
        accuracy = self._mean([each.correct for each in fitted.values()], images, statistics)
        halves = [task.half() for task in scored.values()] if statistics.with_intervals else []
        right = [fit_attribute(half).correct.mean() for half in halves if len(half.train_labels.unique()) == 2]
        with_half = float(torch.stack(right).mean()) if right else math.nan
        settled, notes = settled_by_half(accuracy.value, with_half, accuracy.interval, "training rows")
        accuracies = torch.stack([each.correct.mean() for each in fitted.values()])
        vectors = torch.stack([each.vector for each in fitted.values()], dim=1)
        biases = torch.tensor([each.bias for each in fitted.values()], dtype=torch.float64)
        return self.score(
            accuracy,
            names,
            parts={"majority": self._mean([each.majority for each in fitted.values()], images, statistics)},
            per_factor=among_factors(accuracies, fitted, len(names)),
            tables={
                "vectors": among_factors(vectors, fitted, len(names)),
                "biases": among_factors(biases, fitted, len(names)),
            },
            settled=settled,
            notes=(*notes, f"Left out: {', '.join(left_out)}.") if left_out else notes,
        )

    def _mean(
        self,
        correct: list[Float64[Tensor, " _test"]],
        images: list[Int64[Tensor, " _test"] | None],
        statistics: Statistics,
    ) -> Value:
        """Returns the mean accuracy with an interval from resamples of the test images.

        All attributes are evaluated on the same test images. If all resamples are equal, e.g. without errors, the
        interval is the Wilson interval of a binomial proportion.
        """
        value = float(torch.stack([points.mean() for points in correct]).mean())
        shares = [
            resampled_weights(len(points), self.seed, statistics.num_resamples, of) @ points
            for points, of in zip(correct, images, strict=True)
        ]
        error = float(spread(torch.stack(shares).mean(dim=0)))
        if error < 1e-12:
            num_images = [len(p if of is None else of.unique()) for p, of in zip(correct, images, strict=True)]
            return Value(value, wilson(value, min(num_images)))
        return Value.from_standard_error(value, error, self.bounds)


@final
@dataclass(frozen=True)
class Attribute:
    """Classifier of one attribute, and its results on the test rows.

    `correct` is 1 for test rows that the classifier predicts correctly and 0 for other rows. `majority` is the same for
    the constant prediction of the more frequent value.
    """

    vector: Float64[Tensor, " latent"]
    bias: float
    correct: Float64[Tensor, " test"]
    majority: Float64[Tensor, " test"]


def hinge_interval(scores: Float64[Tensor, " image"], has_attribute: Bool[Tensor, " image"]) -> tuple[float, float]:
    """Returns the interval of all b that minimize sum_n max(0, 1 - t_n (s_n + b)) with t_n = 1 or -1.

    The loss is piecewise linear, with breakpoints b = t_n - s_n. For P positive images, the slope is -P below the first
    breakpoint and increases by one at each breakpoint, so it is 0 between the sorted breakpoints P and P + 1.
    """
    corners = (torch.where(has_attribute, 1.0, -1.0) - scores).sort().values
    num_positive = int(has_attribute.sum())
    return float(corners[num_positive - 1]), float(corners[num_positive])


def hinge_bias(scores: Float64[Tensor, " image"], has_attribute: Bool[Tensor, " image"]) -> float:
    """Returns the midpoint of `hinge_interval`."""
    return sum(hinge_interval(scores, has_attribute)) / 2


def fit_attribute(task: PredictionTask) -> Attribute:
    """Fits the classifier of one attribute. Both values must occur in the training rows."""
    greatest = torch.cat([task.train_labels, task.test_labels]).max()
    positive, test_positive = task.train_labels == greatest, task.test_labels == greatest
    vector = task.train_codes[positive].mean(dim=0) - task.train_codes[~positive].mean(dim=0)
    bias = hinge_bias(task.train_codes @ vector, positive)
    more_are_positive = 2 * int(positive.sum()) > len(positive)
    return Attribute(
        vector,
        bias,
        correct=((task.test_codes @ vector + bias > 0) == test_positive).double(),
        majority=(test_positive == more_are_positive).double(),
    )


def _cannot_score(labels: Labels, task: PredictionTask) -> str | None:
    if task.is_continuous:
        return "continuous"
    num_values = int(labels.assignment().max()) + 1
    if num_values != 2:
        return f"{num_values} values"
    if len(task.train_labels.unique()) < 2:
        return "one value in the training rows"
    return None
