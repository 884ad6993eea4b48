"""Golden values of the metrics that fit a classifier, from the rows, pairs and batches that the inputs give."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.golden.values import TIE, Arrays, Values
from unbraid.metrics.dci import (
    completeness,
    completeness_of_factors,
    disentanglement,
    disentanglement_of_latents,
    weighted_completeness,
)
from unbraid.metrics.explicitness import ValueClassifier, areas_of_values, value_scores
from unbraid.metrics.factor_vae_score import (
    active_latents,
    normalized_variances,
    vote_is_right,
    vote_table,
    votes,
    weighted_variance,
)
from unbraid.metrics.predicting.factor_predictors import PredictorSettings, fitted_predictor
from unbraid.metrics.predicting.prediction_tasks import PredictionTask
from unbraid.metrics.sap import balanced_accuracy, gaps, plain_accuracy, predicted_labels, squared_correlations
from unbraid.metrics.zdiff import PairClassifier, pair_features, predicted_factors

# The first of the given pairs and batches train, the others test.
NUM_TRAIN = 40

PREDICTORS = {
    "dci/lasso0.002_std": PredictorSettings("lasso", alpha=0.002),
    "dci/lasso0.002_raw": PredictorSettings("lasso", alpha=0.002, standardize=False),
    "dci/forest": PredictorSettings("forest", num_trees=10, max_depth=8),
}
PAIR_CLASSIFIERS: dict[str, PairClassifier] = {"zdiff/logistic": "logistic", "zdiff/svm_hinge": "svm"}


def dci(arrays: Arrays) -> Values:
    """Fitted on all images, and tested on the same."""
    mean, y = arrays["mu"].double(), arrays["y"]
    varying = _varying(y)
    found: Values = {}
    for key, settings in PREDICTORS.items():
        fits = [
            fitted_predictor(PredictionTask(f"factor_{k}", mean, y[:, k], mean, y[:, k]), settings) for k in varying
        ]
        importance = (
            torch.stack([fit.importance for fit in fits], dim=1)
            if fits
            else torch.empty(mean.shape[1], 0, dtype=torch.float64)
        )
        errors = torch.tensor([float(fit.train.error()) for fit in fits], dtype=torch.float64)
        found[key] = {
            "R": _with_constant(importance, varying, y.shape[1]),
            "error_per_factor": _with_constant(errors[None], varying, y.shape[1])[0],
            "error": errors.mean(),
            "D_per_latent": disentanglement_of_latents(importance) if fits else torch.full((mean.shape[1],), math.nan),
            "C_per_factor": _with_constant(completeness_of_factors(importance)[None], varying, y.shape[1])[0],
            "disentanglement": disentanglement(importance) if fits else math.nan,
            "completeness_mean": completeness(importance),
            "completeness_weighted": weighted_completeness(importance) if fits else math.nan,
        }
        if settings.predictor == "forest":
            del found[key]["error_per_factor"]
    return found


def sap(arrays: Arrays) -> Values:
    mean, y = arrays["mu"].double(), arrays["y"]
    varying = _varying(y)
    binary = [k for k in varying if len(y[:, k].unique()) == 2]
    num_train = max(2, 2 * len(mean) // 3)
    train, test = arrays["shuffle"][:num_train], arrays["shuffle"][num_train:]

    def columns(score: Callable[[Tensor], Tensor], factors: list[int]) -> Tensor:
        found = [score(y[:, k]) for k in factors]
        return (
            _with_constant(torch.stack(found, dim=1), factors, y.shape[1])
            if found
            else torch.full((mean.shape[1], y.shape[1]), math.nan, dtype=torch.float64)
        )

    def svm(labels: Tensor) -> Tensor:
        predicted = predicted_labels(mean[train], labels[train], mean[test], "svm")
        return plain_accuracy(predicted, labels[test], _all_rows(len(test)))[0]

    def threshold(labels: Tensor) -> Tensor:
        return balanced_accuracy(predicted_labels(mean, labels, mean, "threshold"), labels, _all_rows(len(mean)))[0]

    matrices = {
        # A constant factor correlates with nothing: 0 in the matrix, and no part of the mean.
        "sap/continuous": (
            columns(lambda labels: squared_correlations(mean, labels), list(range(y.shape[1]))),
            varying,
        ),
        "sap/threshold_binary": (columns(threshold, binary), binary),
        "sap/svm": (columns(svm, varying), varying),
    }
    if "y_raw" in arrays:
        raw = arrays["y_raw"].double()
        matrix = torch.stack([squared_correlations(mean, column) for column in raw.unbind(1)], dim=1)
        matrices["sap/continuous_raw"] = (matrix, _varying(raw))
    return {key: {"matrix": matrix, "SAP": gaps(matrix)[factors].mean()} for key, (matrix, factors) in matrices.items()}


def explicitness(arrays: Arrays) -> Values:
    """Fitted on all images, and scored on the same."""
    mean, y = arrays["mu"].double(), arrays["y"]
    varying = _varying(y)

    def areas(classifier: ValueClassifier) -> tuple[Tensor, Tensor]:
        found = [areas_of_values(*value_scores(mean, y[:, k], mean, classifier), y[:, k])[0].nanmean() for k in varying]
        per_factor = torch.tensor(found, dtype=torch.float64)
        return _with_constant(per_factor[None], varying, y.shape[1])[0], per_factor.mean()

    (per_factor, mean_area), (raw_per_factor, raw_mean) = areas("one_vs_rest"), areas("one_vs_rest_raw")
    return {
        "explicitness": {
            "per_factor": per_factor,
            "mean": mean_area,
            "raw_per_factor": raw_per_factor,
            "raw_mean": raw_mean,
        }
    }


def z_diff(arrays: Arrays) -> Values:
    features, factor = pair_features(arrays["mu"], arrays["pair_a"], arrays["pair_b"]), arrays["pair_label"]
    found: Values = {"zdiff/features_first5": features[:5]}
    for key, classifier in PAIR_CLASSIFIERS.items():
        predicted = predicted_factors(features[:NUM_TRAIN], factor[:NUM_TRAIN], features[NUM_TRAIN:], classifier)
        found[key] = (predicted == factor[NUM_TRAIN:]).double().mean()
    return found


def factor_vae_score(arrays: Arrays) -> Values:
    """Where two active latents vary least alike, the vote is open, and so is everything that follows from it."""
    mean, factor, num_factors = arrays["mu"], arrays["pair_label"], arrays["y"].shape[1]
    variance = weighted_variance(mean)
    active = active_latents(variance)
    if not bool(active.any()):
        return {
            "kim_mnih": {"train": 0.0, "eval": 0.0, "n_active": 0, "n_ties": 0, "votes_train": None, "argmin": None}
        }
    variances = normalized_variances(mean, arrays["batch_idx"], variance)
    vote = votes(variances, active)
    ranked = variances[:, active].sort(dim=1).values
    tied = ranked[:, 1] - ranked[:, 0] < TIE if ranked.shape[1] > 1 else torch.zeros(len(ranked), dtype=torch.bool)
    table = vote_table(vote[:NUM_TRAIN], factor[:NUM_TRAIN], mean.shape[1], num_factors)
    is_open = bool(tied.any())
    right = vote_is_right(table, vote, factor)
    argmin: list[Any] = [None if tie else latent for latent, tie in zip(vote.tolist(), tied.tolist(), strict=True)]
    return {
        "kim_mnih": {
            "train": None if is_open else right[:NUM_TRAIN].mean(),
            "eval": None if is_open else right[NUM_TRAIN:].mean(),
            "n_active": int(active.sum()),
            "n_ties": int(tied.sum()),
            "votes_train": None if is_open else table,
            "argmin": None if bool(tied.all()) else argmin,
        }
    }


METRICS: tuple[Callable[[Arrays], Values], ...] = (dci, sap, explicitness, z_diff, factor_vae_score)


def _varying(y: Tensor) -> list[int]:
    return [k for k in range(y.shape[1]) if bool((y[:, k] != y[0, k]).any())]


def _with_constant(table: Tensor, factors: list[int], num_factors: int) -> Tensor:
    full = torch.full((len(table), num_factors), math.nan, dtype=torch.float64)
    full[:, factors] = table.double()
    return full


def _all_rows(num_rows: int) -> Tensor:
    return torch.full((1, num_rows), 1 / num_rows, dtype=torch.float64)
