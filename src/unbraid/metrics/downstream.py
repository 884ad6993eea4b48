"""Downstream tasks: how well a classifier reads the factors off the code, and from how few labels."""

import math
from collections.abc import Mapping
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
from unbraid.metrics.predicting.on_cores import on_cores
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics

Classifier = Literal["linear", "boosted_trees"]


@final
@dataclass(frozen=True)
class Downstream(Metric):
    """The mean over factors of the share of test rows whose value a classifier of all latents names, fitted on
    `num_train` rows. Higher is better.

    Locatello et al., arXiv:1811.12359v4, section 5.5. `classifier`: "linear" is one multinomial regression with C = 1
    on standardized latents, "boosted_trees" 100 gradient-boosted trees of depth 3. The part "few_rows" is the accuracy
    of the same classifier fitted on `num_few` of the rows, "sample_efficiency" the ratio of the two, and "majority" the
    accuracy of naming the most frequent value.
    """

    classifier: Classifier = "linear"
    """What reads the factors off the code."""
    num_few: int = 100
    """How many rows it is fitted on for sample efficiency."""
    num_train: int = 10_000
    """How many rows it is fitted on."""
    num_test: int = 5_000
    """How many other rows it is tested on."""
    seed: int = 0
    """Where all that is random in it starts."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    quantity: ClassVar[str] = "downstream accuracy"
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"sample_efficiency": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.num_few <= self.num_train:
            raise SpecError(
                f"Downstream: num_few is {self.num_few}; expected 1 to {self.num_train:,}, which is num_train (100 is "
                "usual)."
            )

    @property
    def is_scale_sensitive(self) -> bool:
        return self.classifier == "boosted_trees"

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_MEANS

    def measure(self, statistics: Statistics) -> Score:
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        found = {k: task for k, task in enumerate(tasks) if task is not None}
        right: dict[str, list[Tensor]] = {"all_rows": [], "few_rows": [], "majority": []}
        for task in found.values():
            check_classes("Downstream", task)
        whole_and_few = [each for task in found.values() for each in (task, task.rows(slice(self.num_few)))]
        fitted = on_cores("downstream", [partial(self._right, task) for task in whole_and_few])
        right["all_rows"], right["few_rows"] = fitted[::2], fitted[1::2]
        for task in found.values():
            right["majority"].append((task.test_labels == task.train_labels.mode().values).double())
        values = {name: _mean(rows) for name, rows in right.items()}
        away = {name: _away(rows, list(found.values())) for name, rows in right.items()}
        value = Value.from_standard_error(values["all_rows"], error_of_factor_mean(away["all_rows"]), self.bounds)
        efficiency = _efficiency(values["few_rows"], away["few_rows"], values["all_rows"], away["all_rows"])
        tables = {name: _by_factor(rows, tuple(found), len(tasks)) for name, rows in right.items()}
        fewest = min(len(task.train_labels) for task in found.values())
        return Score(
            metric=type(self).__name__,
            value=value.value,
            interval=value.interval,
            parts={
                "few_rows": Value.from_standard_error(
                    values["few_rows"], error_of_factor_mean(away["few_rows"]), self.bounds
                ),
                "sample_efficiency": efficiency,
                "majority": Value.from_standard_error(
                    values["majority"], error_of_factor_mean(away["majority"]), self.bounds
                ),
            },
            per_factor=dict(zip(statistics.codes.factor_names, tables["all_rows"].tolist(), strict=True)),
            tables=tables,
            notes=(f"There are only {fewest:,} training rows.",) if fewest <= self.num_few else (),
            settings=self.settings,
        )

    def _right(self, task: PredictionTask) -> Float64[Tensor, " test"]:
        """Returns 1 for each test row whose value is named, else 0."""
        match self.classifier:
            case "linear":
                values, scores = value_scores(task.train_codes, task.train_labels, task.test_codes, "multinomial")
                return (values[scores.argmax(dim=1)] == task.test_labels).double()
            case "boosted_trees":
                settings = PredictorSettings("boosted_trees", num_trees=100, max_depth=3, seed=self.seed)
                return 1 - fitted_predictor(task, settings).test.losses
            case _:
                assert_never(self.classifier)


def _mean(right: list[Tensor]) -> float:
    return float(torch.stack([rows.mean() for rows in right]).mean())


def _away(right: list[Tensor], tasks: list[PredictionTask]) -> list[Tensor]:
    """Returns, for each factor, what each test image adds to the accuracy."""
    return [by_image(rows - rows.mean(), task.test_images) for rows, task in zip(right, tasks, strict=True)]


def _efficiency(top: float, few: list[Tensor], bottom: float, many: list[Tensor]) -> Value:
    """Returns the ratio of the two accuracies, with the error that comes from the test images that both share."""
    if bottom == 0:
        return Value(math.nan)
    away = [(f - top / bottom * m) / bottom for f, m in zip(few, many, strict=True)]
    return Value.from_standard_error(top / bottom, error_of_factor_mean(away), (0.0, math.inf))


def _by_factor(right: list[Tensor], places: tuple[int, ...], num_factors: int) -> Float64[Tensor, " factor"]:
    table = torch.full((num_factors,), math.nan, dtype=torch.float64)
    table[list(places)] = torch.stack([rows.mean() for rows in right])
    return table
