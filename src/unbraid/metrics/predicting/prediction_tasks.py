"""Training rows and test rows for a predictor of each factor."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Labels
from unbraid.errors import CodesError
from unbraid.metrics.intervals import by_image, error_of_factor_mean
from unbraid.metrics.metric import Interval, Value
from unbraid.metrics.reductions.pearson import label_numbers
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class PredictionTask:
    """A factor to predict from the means of the latents. All tensors are on the CPU.

    Integer labels are value indices minus the smallest; float labels are measurements. Differences between labels are
    preserved for regressions. If rows were drawn by the weights of images, `train_images` and `test_images` hold the
    image of each row, because an image that was drawn twice adds no information.
    """

    name: str
    train_codes: Float64[Tensor, "train latent"]
    train_labels: Int64[Tensor, " train"] | Float64[Tensor, " train"]
    test_codes: Float64[Tensor, "test latent"]
    test_labels: Int64[Tensor, " test"] | Float64[Tensor, " test"]
    ordered: bool = True
    train_images: Int64[Tensor, " train"] | None = None
    test_images: Int64[Tensor, " test"] | None = None

    @property
    def is_continuous(self) -> bool:
        return self.train_labels.is_floating_point()

    def rows(self, rows: Int64[Tensor, " row"] | slice) -> "PredictionTask":
        """Returns the task with a selection of the training rows."""
        images = None if self.train_images is None else self.train_images[rows]
        return replace(
            self, train_codes=self.train_codes[rows], train_labels=self.train_labels[rows], train_images=images
        )

    def together(self, num_rows: int) -> "PredictionTask":
        """Returns the task with the same `num_rows` rows for training and testing, training rows first."""
        codes = torch.cat([self.train_codes, self.test_codes])[:num_rows]
        labels = torch.cat([self.train_labels, self.test_labels])[:num_rows]
        images = None
        if self.train_images is not None and self.test_images is not None:
            images = torch.cat([self.train_images, self.test_images])[:num_rows]
        return PredictionTask(self.name, codes, labels, codes, labels, self.ordered, images, images)

    def half(self) -> "PredictionTask":
        """Returns the task with half of the training rows."""
        return self.rows(slice(max(1, len(self.train_labels) // 2)))

    def majority(self) -> Float64[Tensor, " test"]:
        """Returns 1 for each test row with the most frequent value of the training rows, else 0."""
        return (self.test_labels == self.train_labels.mode().values).double()


def prediction_tasks(
    statistics: Statistics, num_train: int | None, num_test: int, seed: int
) -> Mapping[int, PredictionTask]:
    """Returns a task for each factor that varies, by factor index. Factors without missing labels share rows.

    Without `num_train` all rows are training rows, and test rows exist only in a separate test part.
    """

    def compute() -> Mapping[int, PredictionTask]:
        return {
            k: _task(statistics, statistics.codes.factors[k], num_train, num_test, seed)
            for k, varies in enumerate(statistics.varies)
            if varies
        }

    return statistics.once(("prediction_tasks", num_train, num_test, seed), compute)


def check_classes(metric: str, tasks: Iterable[PredictionTask]) -> None:
    """Raises CodesError if a factor has fewer training rows than classes."""
    for task in tasks:
        num_values, num_rows = len(torch.cat([task.train_labels, task.test_labels]).unique()), len(task.train_labels)
        if num_values > num_rows:
            raise CodesError(
                f"{metric}: factor {task.name!r} takes {num_values} values in {num_rows} training images, fewer images "
                "than classes. Give more images, or drop the factor; if its values are measurements, pass them as "
                "floats."
            )


def mean_accuracy(right: Iterable[Tensor], tasks: Iterable[PredictionTask], bounds: Interval) -> Value:
    """Returns the accuracy averaged over factors, with an interval over test images."""
    rows = list(right)
    influences = [by_image(each - each.mean(), task.test_images) for each, task in zip(rows, tasks, strict=True)]
    return Value.from_standard_error(
        torch.stack([each.mean() for each in rows]).mean(), error_of_factor_mean(influences), bounds
    )


def standardized_like(
    values: Float64[Tensor, " row *columns"], like: Float64[Tensor, " other *columns"]
) -> Float64[Tensor, " row *columns"]:
    """Returns the columns of `values` minus the mean of `like`, divided by the std of `like` unless it is 0."""
    scale = like.std(dim=0, correction=0)
    return (values - like.mean(dim=0)) / torch.where(scale > 0, scale, 1.0)


def _task(statistics: Statistics, labels: Labels, num_train: int | None, num_test: int, seed: int) -> PredictionTask:
    codes, weights = statistics.codes, statistics.codes.weights
    if weights is not None and bool((weights[weights > 0] == weights[weights > 0][0]).all()):
        weights = None  # all images that may be drawn are equally likely, and none is drawn twice
    train, test = _rows(statistics, labels, num_train, num_test, seed, weights)
    if (len(test) == 0 and num_train is not None) or len(train) < 2:
        raise CodesError(
            f"Factor {labels.name!r} is known in {len(train) + len(test)} images; a predictor needs at least 3 to fit "
            "and to test. Give more labels."
        )
    values = label_numbers(labels)

    def pick(table: Tensor, rows: Tensor) -> Tensor:
        return table[rows.to(table.device)].cpu()

    return PredictionTask(
        name=labels.name,
        train_codes=pick(codes.mean, train).double(),
        train_labels=pick(values, train),
        test_codes=pick(codes.mean, test).double(),
        test_labels=pick(values, test),
        ordered=labels.ordered,
        train_images=None if weights is None else train,
        test_images=None if weights is None else test,
    )


def _rows(
    statistics: Statistics,
    labels: Labels,
    num_train: int | None,
    num_test: int,
    seed: int,
    weights: Float[Tensor, " image"] | None,
) -> tuple[Int64[Tensor, " train"], Int64[Tensor, " test"]]:
    codes, num_fitted, known = statistics.codes, statistics.num_fitted, labels.known
    if codes.weights is not None and weights is None:
        known = codes.weights > 0 if known is None else known & (codes.weights > 0)
    if num_train is None:
        num_fitted, num_train, num_test = num_fitted or len(codes), len(codes), len(codes)
    if num_fitted is None:
        return row_draws.train_and_test_rows(len(codes), num_train, num_test, seed, "prediction", known, weights)
    parts = {"train": (range(num_fitted), num_train), "test": (range(num_fitted, len(codes)), num_test)}
    train, test = (
        row_draws.rows_of_part(part, number, seed, f"prediction/{name}", known, weights)
        for name, (part, number) in parts.items()
    )
    return train, test
