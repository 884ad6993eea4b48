"""Attribute vectors: how well a direction of latent space tells a binary attribute."""

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
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class AttributeVector(Metric):
    """Mean test accuracy, over factors with two values, of the classifier w.z + b > 0. Between 0 and 1; higher is
    better.

    Kumar et al., *DIP-VAE*, arXiv:1711.00848v1, table 2: w is the mean of z over training images with the attribute,
    less the mean over those without (z are the means of the posteriors), and b minimizes the hinge loss sum_n max(0, 1
    - t_n (w.z_n + b)), t = 1 with the attribute and -1 without. The loss is piecewise linear: b is exact, and the
    middle where an interval is optimal. Of two values the greater is the attribute. Other factors are left out.
    """

    num_train: int = 10_000
    """How many rows it is fitted on."""
    num_test: int = 5_000
    """How many other rows it is tested on."""
    seed: int = 0
    """Where all that is random in it starts."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    quantity: ClassVar[str] = "accuracy of attribute vectors"
    fits_predictor: ClassVar[bool] = True

    @property
    def is_scale_sensitive(self) -> bool:
        return True

    @property
    def treats_floats_as_continuous(self) -> bool:
        return True

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_MEANS | {"continuous factors"}

    def measure(self, statistics: Statistics) -> Score:
        factors = statistics.codes.factors
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        reasons = [_cannot_score(labels, task) if task else None for labels, task in zip(factors, tasks, strict=True)]
        left_out = [f"{labels.name} ({reason})" for labels, reason in zip(factors, reasons, strict=True) if reason]
        fitted = [
            fit_attribute(task) if task and not reason else None for task, reason in zip(tasks, reasons, strict=True)
        ]
        scored = [attribute for attribute in fitted if attribute is not None]
        if not scored:
            raise CodesError(
                "AttributeVector scores factors with two values, and there are none among these: "
                f"{', '.join(left_out)}."
            )
        images = [task.test_images for task, attribute in zip(tasks, fitted, strict=True) if task and attribute]
        accuracy = _mean([attribute.correct for attribute in scored])
        interval = _interval(accuracy, [attribute.correct for attribute in scored], images, self.seed)
        halves = [
            fit_attribute(task.half()) for task, attribute in zip(tasks, fitted, strict=True) if task and attribute
        ]
        settled, notes = settled_by_half(
            accuracy, _mean([half.correct for half in halves if half]), interval, "training rows"
        )
        majority = _mean([attribute.majority for attribute in scored])
        nothing = torch.full_like(scored[0].vector, math.nan)
        return Score(
            metric=type(self).__name__,
            value=accuracy,
            interval=interval,
            parts={
                "majority": Value(
                    majority, _interval(majority, [attribute.majority for attribute in scored], images, self.seed)
                )
            },
            per_factor={
                f.name: float(a.correct.mean()) if a else math.nan for f, a in zip(factors, fitted, strict=True)
            },
            tables={
                "vectors": torch.stack([a.vector if a else nothing for a in fitted], dim=1),
                "biases": torch.tensor([a.bias if a else math.nan for a in fitted], dtype=torch.float64),
            },
            settled=settled,
            notes=(*notes, f"Left out: {', '.join(left_out)}.") if left_out else notes,
            settings=self.settings,
        )


@final
@dataclass(frozen=True)
class Attribute:
    """Holds the classifier of one attribute, and which test images it got right; `majority`: which the more frequent
    value would get right.
    """

    vector: Float64[Tensor, " latent"]
    bias: float
    correct: Float64[Tensor, " test"]
    majority: Float64[Tensor, " test"]


def hinge_interval(scores: Float64[Tensor, " image"], has_attribute: Bool[Tensor, " image"]) -> tuple[float, float]:
    """Returns the interval of all b that minimize sum_n max(0, 1 - t_n (s_n + b)), t = 1 or -1.

    The slope is minus the number of positives below the first corner b = t - s and rises by one at each corner. So it
    is 0 from the corner of that number, in order, to the next.
    """
    corners = (torch.where(has_attribute, 1.0, -1.0) - scores).sort().values
    num_positive = int(has_attribute.sum())
    return float(corners[num_positive - 1]), float(corners[num_positive])


def hinge_bias(scores: Float64[Tensor, " image"], has_attribute: Bool[Tensor, " image"]) -> float:
    """Returns the middle of `hinge_interval`."""
    return sum(hinge_interval(scores, has_attribute)) / 2


def fit_attribute(task: PredictionTask) -> Attribute | None:
    """Returns the classifier of one attribute, or None where the training rows hold one value only."""
    greatest = torch.cat([task.train_labels, task.test_labels]).max()
    positive, test_positive = task.train_labels == greatest, task.test_labels == greatest
    if bool(positive.all()) or not bool(positive.any()):
        return None
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


def _mean(correct: list[Float64[Tensor, " _test"]]) -> float:
    return float(torch.stack([points.mean() for points in correct]).mean()) if correct else math.nan


def _interval(
    value: float, correct: list[Float64[Tensor, " _test"]], images: list[Int64[Tensor, " _test"] | None], seed: int
) -> tuple[float, float] | None:
    """Returns the interval from resamples of the test images, which attributes share. Where resamples do not differ
    (all right, say), it is that of a plain share.
    """
    shares = [
        resampled_weights(len(points), seed, images=of) @ points for points, of in zip(correct, images, strict=True)
    ]
    error = float(spread(torch.stack(shares).mean(dim=0)))
    if error < 1e-12:
        num_images = [len(p if of is None else of.unique()) for p, of in zip(correct, images, strict=True)]
        return wilson(value, min(num_images))
    return Value.from_standard_error(value, error, AttributeVector.bounds).interval
