"""Training and test rows for the predictor of each factor."""

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
    """Training and test rows for predicting a factor from the means of all latents. All tensors are on the CPU.

    Integer labels are value indices minus the smallest index, which preserves differences for regressions. Float labels
    are measurements. If rows were drawn with the weights of images, `train_images` and `test_images` are the image
    indices of the rows, because an image may be drawn several times.
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
        """Selects training rows."""
        images = None if self.train_images is None else self.train_images[rows]
        return replace(
            self, train_codes=self.train_codes[rows], train_labels=self.train_labels[rows], train_images=images
        )

    def together(self, num_rows: int) -> "PredictionTask":
        """Returns a task with the same rows for training and testing: the first `num_rows` training and test rows."""
        codes = torch.cat([self.train_codes, self.test_codes])[:num_rows]
        labels = torch.cat([self.train_labels, self.test_labels])[:num_rows]
        images = None
        if self.train_images is not None and self.test_images is not None:
            images = torch.cat([self.train_images, self.test_images])[:num_rows]
        return PredictionTask(self.name, codes, labels, codes, labels, self.ordered, images, images)

    def half(self) -> "PredictionTask":
        """Returns the task with the first half of the training rows."""
        return self.rows(slice(max(1, len(self.train_labels) // 2)))

    def majority(self) -> Float64[Tensor, " test"]:
        """Returns 1 for each test row with the most frequent value of the training rows, and 0 for other rows."""
        return (self.test_labels == self.train_labels.mode().values).double()


def prediction_tasks(
    statistics: Statistics, num_train: int | None, num_test: int, seed: int
) -> Mapping[int, PredictionTask]:
    """Returns a task for each factor that varies, by factor index. Factors without missing labels have the same rows.

    If `num_train` is None, all rows are training rows, and test rows come only from a separate test part.
    """

    def compute() -> Mapping[int, PredictionTask]:
        return {
            k: _task(statistics, statistics.codes.factors[k], num_train, num_test, seed)
            for k, varies in enumerate(statistics.varies)
            if varies
        }

    return statistics.once(("prediction_tasks", num_train, num_test, seed), compute)


def check_classes(metric: str, tasks: Iterable[PredictionTask]) -> None:
    """Raises CodesError if a factor has more values than training rows."""
    for task in tasks:
        num_values, num_rows = len(torch.cat([task.train_labels, task.test_labels]).unique()), len(task.train_labels)
        if num_values > num_rows:
            raise CodesError(
                f"{metric}: factor {task.name!r} has {num_values} values in {num_rows} training images; expected at "
                "most as many values as images. Use more images, drop the factor, or pass measurements as floats."
            )


def mean_accuracy(right: Iterable[Tensor], tasks: Iterable[PredictionTask], bounds: Interval) -> Value:
    """Returns the mean accuracy over factors, with an interval for the sampling of test images."""
    rows = list(right)
    influences = [by_image(each - each.mean(), task.test_images) for each, task in zip(rows, tasks, strict=True)]
    return Value.from_standard_error(
        torch.stack([each.mean() for each in rows]).mean(), error_of_factor_mean(influences), bounds
    )


def standardized_like(
    values: Float64[Tensor, " row *columns"], like: Float64[Tensor, " other *columns"]
) -> Float64[Tensor, " row *columns"]:
    """Standardizes columns with the mean and std of `like`. Columns with a std of 0 are only centered."""
    scale = like.std(dim=0, correction=0)
    return (values - like.mean(dim=0)) / torch.where(scale > 0, scale, 1.0)


def _task(statistics: Statistics, labels: Labels, num_train: int | None, num_test: int, seed: int) -> PredictionTask:
    codes, weights = statistics.codes, statistics.codes.weights
    if weights is not None and bool((weights[weights > 0] == weights[weights > 0][0]).all()):
        weights = None  # equal weights: images are drawn without replacement
    train, test = _rows(statistics, labels, num_train, num_test, seed, weights)
    if (len(test) == 0 and num_train is not None) or len(train) < 2:
        raise CodesError(
            f"Factor {labels.name!r} has labels for {len(train) + len(test)} images; expected at least 3, to fit and "
            "test a predictor. Pass more labels."
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
