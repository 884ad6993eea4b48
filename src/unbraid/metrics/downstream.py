"""Downstream tasks: accuracy and sample efficiency of factor classifiers."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import ClassVar, Literal, assert_never, final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.metrics.explicitness import value_scores
from unbraid.metrics.intervals import by_image, error_of_factor_mean
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.predicting.factor_predictors import PredictorSettings, fitted_predictor
from unbraid.metrics.predicting.fits import on_cores
from unbraid.metrics.predicting.prediction_tasks import (
    PredictionTask,
    check_classes,
    mean_accuracy,
    prediction_tasks,
)
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics

Classifier = Literal["linear", "boosted_trees"]


@final
@dataclass(frozen=True)
class Downstream(Metric):
    """Downstream accuracy: the mean over factors of the test accuracy of a classifier on all latents.

    Higher is better. Locatello et al., arXiv:1811.12359v4, section 5.5. The classifier "linear" is a multinomial
    logistic regression with C = 1 on standardized latents, and "boosted_trees" is 100 gradient-boosted trees of depth
    3. The part "few_rows" is the accuracy of the classifier fitted on `num_few` rows. "sample_efficiency" is the ratio
    of this part to the value. "majority" is the accuracy of predicting the most frequent value.
    """

    classifier: Classifier = "linear"
    """Classifier: multinomial logistic regression, or boosted trees."""
    num_few: int = 100
    """Number of training rows for the part "few_rows"."""
    num_train: int = 10_000
    """Number of training rows."""
    num_test: int = 5_000
    """Number of test rows."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS
    quantity: ClassVar[str] = "downstream accuracy"
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"sample_efficiency": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.num_few <= self.num_train:
            raise SpecError(
                f"Downstream: num_few is {self.num_few}; expected 1 to num_train = {self.num_train:,}. Pass e.g. 100."
            )

    @property
    def is_scale_sensitive(self) -> bool:
        return self.classifier == "boosted_trees"

    def measure(self, statistics: Statistics) -> Score:
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        check_classes("Downstream", tasks.values())
        whole_and_few = [each for task in tasks.values() for each in (task, task.rows(slice(self.num_few)))]
        fitted = on_cores("downstream", [partial(self._right, task) for task in whole_and_few])
        right = {
            "all_rows": fitted[::2],
            "few_rows": fitted[1::2],
            "majority": [task.majority() for task in tasks.values()],
        }
        values = {name: mean_accuracy(rows, tasks.values(), self.bounds) for name, rows in right.items()}
        names = statistics.codes.factor_names
        tables = {
            name: among_factors(torch.stack([each.mean() for each in rows]), tasks, len(names))
            for name, rows in right.items()
        }
        fewest = min(len(task.train_labels) for task in tasks.values())
        return self.score(
            values["all_rows"],
            names,
            parts={
                "few_rows": values["few_rows"],
                "sample_efficiency": _efficiency(right["few_rows"], right["all_rows"], tasks.values()),
                "majority": values["majority"],
            },
            per_factor=tables["all_rows"],
            tables=tables,
            notes=(f"Only {fewest:,} training rows are available.",) if fewest <= self.num_few else (),
        )

    def _right(self, task: PredictionTask) -> Float64[Tensor, " test"]:
        """Returns 1 for each correctly classified test row and 0 for other rows."""
        match self.classifier:
            case "linear":
                values, scores = value_scores(task.train_codes, task.train_labels, task.test_codes, "multinomial")
                return (values[scores.argmax(dim=1)] == task.test_labels).double()
            case "boosted_trees":
                settings = PredictorSettings("boosted_trees", num_trees=100, max_depth=3, seed=self.seed)
                return 1 - fitted_predictor(task, settings).test.losses
            case _:
                assert_never(self.classifier)


def _efficiency(few: Sequence[Tensor], many: Sequence[Tensor], tasks: Collection[PredictionTask]) -> Value:
    """Returns the ratio of two mean accuracies, with an interval from the common test images."""
    top, bottom = (float(torch.stack([rows.mean() for rows in right]).mean()) for right in (few, many))
    if bottom == 0:
        return Value(math.nan)
    influences = [
        (by_image(f - f.mean(), task.test_images) - top / bottom * by_image(m - m.mean(), task.test_images)) / bottom
        for f, m, task in zip(few, many, tasks, strict=True)
    ]
    return Value.from_standard_error(top / bottom, error_of_factor_mean(influences), (0.0, math.inf))
