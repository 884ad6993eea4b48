"""Predictors of a factor from all latents, and how much each latent counts in them."""

from dataclasses import dataclass
from typing import Any, Literal, assert_never, final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.predicting.convergence import quietly
from unbraid.metrics.predicting.lasso import lasso
from unbraid.metrics.predicting.prediction_tasks import PredictionTask
from unbraid.metrics.settings import sklearn_seed

Predictor = Literal["lasso", "forest", "boosted_trees"]


@final
@dataclass(frozen=True)
class PredictorSettings:
    """Says which predictor is fitted, and with which settings."""

    predictor: Predictor = "lasso"
    alpha: float = 0.002
    standardise: bool = True
    num_trees: int = 10
    max_depth: int = 8
    seed: int = 0

    def classifies(self, task: PredictionTask) -> bool:
        """Returns whether the task is classified: forests classify what has no order; boosted trees, as in
        disentanglement_lib, everything that is not continuous; the LASSO nothing.
        """
        match self.predictor:
            case "lasso":
                return False
            case "forest":
                return not task.is_continuous and not task.ordered
            case "boosted_trees":
                return not task.is_continuous
            case _:
                assert_never(self.predictor)


@final
@dataclass(frozen=True)
class Losses:
    """Holds what an error is averaged from: squared residuals and the values, or 1 where a class is wrong (and no
    values).
    """

    losses: Float64[Tensor, " row"]
    values: Float64[Tensor, " row"] | None

    def error(self, weights: Float64[Tensor, "resample row"] | None = None) -> Float64[Tensor, " resample"]:
        """Returns RMSE / std(y), or the share of wrong classes. It is NaN where y does not vary."""
        p = torch.full((1, len(self.losses)), 1 / len(self.losses), dtype=torch.float64) if weights is None else weights
        loss = p @ self.losses
        if self.values is None:
            return loss
        centred = self.values - self.values.mean()
        variance = p @ centred.square() - (p @ centred).square()
        return torch.where(variance > 0, loss / variance, torch.nan).sqrt()


@final
@dataclass(frozen=True)
class FittedPredictor:
    """Holds how much each latent counts, and what the fit misses on the training and the test rows."""

    importance: Float64[Tensor, " latent"]
    train: Losses
    test: Losses


def fitted_predictor(task: PredictionTask, settings: PredictorSettings) -> FittedPredictor:
    """Fits one factor on all latents.

    Importance is |weight| for the LASSO and the mean decrease in impurity, summing to one, for trees.
    """
    if settings.predictor == "lasso":
        fit = lasso(task.train_codes, task.train_labels.double(), settings.alpha, standardise=settings.standardise)
        return FittedPredictor(
            fit.weights[0].abs(),
            _squared(fit.predict(task.train_codes)[0], task.train_labels),
            _squared(fit.predict(task.test_codes)[0], task.test_labels),
        )
    compare = _wrong if settings.classifies(task) else _squared
    if bool((task.train_labels == task.train_labels[0]).all()):
        # scikit-learn refuses a single class: nothing was there to learn, and no latent counts.
        nothing = torch.zeros(task.train_codes.shape[1], dtype=torch.float64)
        train, test = (task.train_labels[0].expand(len(labels)) for labels in (task.train_labels, task.test_labels))
        return FittedPredictor(nothing, compare(train, task.train_labels), compare(test, task.test_labels))
    _check_range(task)
    with quietly():
        model = _trees(task, settings).fit(task.train_codes.numpy(), task.train_labels.numpy())
    train, test = (torch.from_numpy(model.predict(codes.numpy())) for codes in (task.train_codes, task.test_codes))
    importance = torch.from_numpy(model.feature_importances_).double()
    return FittedPredictor(importance, compare(train, task.train_labels), compare(test, task.test_labels))


def refitted_importances(
    task: PredictionTask, settings: PredictorSettings, row_weights: Float64[Tensor, "resample row"]
) -> Float64[Tensor, "resample latent"]:
    """Returns the importances in fits on resamples of the training rows, each given by the share of every row in it."""
    if settings.predictor == "lasso":
        fit = lasso(
            task.train_codes,
            task.train_labels.double(),
            settings.alpha,
            standardise=settings.standardise,
            row_weights=row_weights,
        )
        return fit.weights.abs()
    counts = (row_weights * row_weights.shape[1]).round().long()
    rows = torch.arange(row_weights.shape[1])
    return torch.stack(
        [fitted_predictor(task.rows(rows.repeat_interleave(count)), settings).importance for count in counts]
    )


def _check_range(task: PredictionTask) -> None:
    largest = max(float(codes.abs().max()) for codes in (task.train_codes, task.test_codes))
    if largest > float(torch.finfo(torch.float32).max):
        raise CodesError(
            f"DCI: the largest mean is {largest:g}, and scikit-learn's trees read float32, which ends at 3.4e38. "
            "Divide the latents by a constant first."
        )


def _trees(task: PredictionTask, settings: PredictorSettings) -> Any:
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    kinds = {
        ("forest", True): RandomForestClassifier,
        ("forest", False): RandomForestRegressor,
        ("boosted_trees", True): GradientBoostingClassifier,
        ("boosted_trees", False): GradientBoostingRegressor,
    }
    kind = kinds[settings.predictor, settings.classifies(task)]
    return kind(n_estimators=settings.num_trees, max_depth=settings.max_depth, random_state=sklearn_seed(settings.seed))


def _squared(predicted: Tensor, labels: Tensor) -> Losses:
    return Losses((predicted.double() - labels.double()).square(), labels.double())


def _wrong(predicted: Tensor, labels: Tensor) -> Losses:
    return Losses((predicted != labels).double(), None)
