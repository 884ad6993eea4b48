"""Predictors of a factor from all latents, with the importance of each latent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.intervals import by_image, resampled_weights, spread
from unbraid.metrics.metric import Value
from unbraid.metrics.predicting.fits import quietly
from unbraid.metrics.predicting.lasso import lasso
from unbraid.metrics.predicting.prediction_tasks import PredictionTask
from unbraid.metrics.reductions.statistics import NUM_RESAMPLES
from unbraid.metrics.settings import sklearn_seed

Predictor = Literal["lasso", "forest", "boosted_trees"]

# Maximum number of resampled rows: 160 MB for 200 resamples.
_MAX_RESAMPLED_ROWS = 100_000


@final
@dataclass(frozen=True)
class PredictorSettings:
    """Type and settings of a predictor."""

    predictor: Predictor = "lasso"
    alpha: float = 0.002
    standardize: bool = True
    num_trees: int = 10
    max_depth: int = 8
    regress_unordered: bool = False
    seed: int = 0

    def classifies(self, task: PredictionTask) -> bool:
        """Returns whether the predictor of the task is a classifier.

        Forests classify unordered values, unless `regress_unordered`. Boosted trees classify all discrete values, as in
        disentanglement_lib. The LASSO is always a regression.
        """
        if self.predictor == "forest":
            return not (task.is_continuous or task.ordered or self.regress_unordered)
        return self.predictor == "boosted_trees" and not task.is_continuous


@final
@dataclass(frozen=True)
class Losses:
    """Losses of the rows: squared residuals of a regression, or 1 for wrong classes and `values` None."""

    losses: Float64[Tensor, " row"]
    values: Float64[Tensor, " row"] | None

    def error(self, weights: Float64[Tensor, "resample row"] | None = None) -> Float64[Tensor, " resample"]:
        """Returns RMSE / std(y), or the fraction of wrong classes; NaN if y is constant."""
        p = torch.full((1, len(self.losses)), 1 / len(self.losses), dtype=torch.float64) if weights is None else weights
        loss = p @ self.losses
        if self.values is None:
            return loss
        centered = self.values - self.values.mean()
        variance = p @ centered.square() - (p @ centered).square()
        return torch.where(variance > 0, loss / variance, torch.nan).sqrt()

    def influence(self) -> Float64[Tensor, " row"]:
        """Returns the influence of each row on the error."""
        if self.values is None:
            return self.losses - self.losses.mean()
        squares = (self.values - self.values.mean()).square()
        # The clamp avoids a division by 0 for an error of 0.
        ratio = self.losses / self.losses.mean().clamp(min=torch.finfo(torch.float64).tiny)
        return self.error() / 2 * (ratio - squares / squares.mean())


@final
@dataclass(frozen=True)
class FittedPredictor:
    """Importance of each latent, and losses on training and test rows."""

    importance: Float64[Tensor, " latent"]
    train: Losses
    test: Losses


def mean_error(
    losses: Sequence[Losses],
    seed: int,
    images: Sequence[Int64[Tensor, " _row"] | None],
    num_resamples: int = NUM_RESAMPLES,
) -> Value:
    """Returns the mean error over factors, with an interval from resampled rows without new fits.

    For many rows, the interval is computed from influences to limit memory, or is None if factors have labels in
    different rows. `images` is the image index of each row, for each factor, if images have several rows.
    """
    mean = torch.stack([part.error()[0] for part in losses]).nanmean()
    most = max(len(part.losses) for part in losses)
    if most <= _MAX_RESAMPLED_ROWS:
        weights = [
            resampled_weights(len(part.losses), seed, num_resamples, of)
            for part, of in zip(losses, images, strict=True)
        ]
        resampled = torch.stack([part.error(p) for part, p in zip(losses, weights, strict=True)], dim=1).nanmean(dim=1)
        return Value.from_standard_error(mean, spread(resampled), (0.0, math.inf))
    if any(len(part.losses) != most for part in losses):
        return Value(float(mean))
    each = [by_image(part.influence(), of) for part, of in zip(losses, images, strict=True)]
    influence = torch.stack(each).nanmean(dim=0)
    return Value.from_standard_error(mean, influence.square().mean().sqrt() / math.sqrt(most), (0.0, math.inf))


def fitted_predictor(task: PredictionTask, settings: PredictorSettings) -> FittedPredictor:
    """Fits a predictor of one factor from all latents.

    Importance is |weight| for the LASSO, and the mean decrease in impurity, normalized to sum to one, for trees.
    """
    if settings.predictor == "lasso":
        fit = lasso(task.train_codes, task.train_labels.double(), settings.alpha, standardize=settings.standardize)
        return FittedPredictor(
            fit.weights[0].abs(),
            _squared(fit.predict(task.train_codes)[0], task.train_labels),
            _squared(fit.predict(task.test_codes)[0], task.test_labels),
        )
    compare = _wrong if settings.classifies(task) else _squared
    if bool((task.train_labels == task.train_labels[0]).all()):
        # scikit-learn does not support a single class; all importances are 0.
        nothing = torch.zeros(task.train_codes.shape[1], dtype=torch.float64)
        train, test = (task.train_labels[0].expand(len(labels)) for labels in (task.train_labels, task.test_labels))
        return FittedPredictor(nothing, compare(train, task.train_labels), compare(test, task.test_labels))
    _check_range(task)
    with quietly():
        model = _trees(task, settings).fit(task.train_codes.numpy(), task.train_labels.numpy())
    train, test = (
        torch.from_numpy(model.predict(codes.numpy())) if len(codes) else codes.new_zeros(0)
        for codes in (task.train_codes, task.test_codes)
    )
    # Rounding may make the importance of an unused latent negative.
    importance = torch.from_numpy(model.feature_importances_).double().clamp(min=0)
    return FittedPredictor(importance, compare(train, task.train_labels), compare(test, task.test_labels))


def refitted_importances(
    task: PredictionTask, settings: PredictorSettings, row_weights: Float64[Tensor, "resample row"]
) -> Float64[Tensor, "resample latent"]:
    """Refits the predictor on resamples, given as weights of the training rows, and returns the importances."""
    if settings.predictor == "lasso":
        fit = lasso(
            task.train_codes,
            task.train_labels.double(),
            settings.alpha,
            standardize=settings.standardize,
            row_weights=row_weights,
        )
        return fit.weights.abs()
    counts = (row_weights * row_weights.shape[1]).round().long()
    rows = torch.arange(row_weights.shape[1])
    return torch.stack(
        [fitted_predictor(task.rows(rows.repeat_interleave(count)), settings).importance for count in counts]
    )


def _check_range(task: PredictionTask) -> None:
    largest = float(torch.cat([task.train_codes, task.test_codes]).abs().max())
    if largest > float(torch.finfo(torch.float32).max):
        raise CodesError(
            f"The largest mean is {largest:g}; expected at most 3.4e38, because scikit-learn's trees use float32. "
            "Divide the latents by a constant."
        )


def _trees(task: PredictionTask, settings: PredictorSettings) -> Any:
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    is_forest, classifies = settings.predictor == "forest", settings.classifies(task)
    classifier, regressor = (
        (RandomForestClassifier, RandomForestRegressor)
        if is_forest
        else (GradientBoostingClassifier, GradientBoostingRegressor)
    )
    kind = classifier if classifies else regressor
    return kind(n_estimators=settings.num_trees, max_depth=settings.max_depth, random_state=sklearn_seed(settings.seed))


def _squared(predicted: Tensor, labels: Tensor) -> Losses:
    return Losses((predicted.double() - labels.double()).square(), labels.double())


def _wrong(predicted: Tensor, labels: Tensor) -> Losses:
    return Losses((predicted != labels).double(), None)
