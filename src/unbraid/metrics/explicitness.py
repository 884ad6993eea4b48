"""Explicitness: prediction of factor values from all latents by linear classifiers."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, assert_never, final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.intervals import by_image, error_of_factor_mean, settled_by_half
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.predicting.fits import on_cores, quietly
from unbraid.metrics.predicting.prediction_tasks import (
    PredictionTask,
    check_classes,
    prediction_tasks,
    standardized_like,
)
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics

ValueClassifier = Literal["one_vs_rest", "one_vs_rest_raw", "multinomial"]


@final
@dataclass(frozen=True)
class Explicitness(Metric):
    """Area under the ROC curve of a logistic regression on all latents (Ridgeway & Mozer, arXiv:1802.05312v2).

    The score is the mean over factors of the mean area over the values of the factor (section 3). Higher is better;
    chance is 0.5. The classifier "one_vs_rest" is one regression per value without a penalty (C = 1e10). Its
    probabilities are normalized over the values, as in the authors' and Do & Tran's code. "one_vs_rest_raw" uses the
    scores of the regressions without normalization, which cannot separate a value in the middle of the range of a
    latent. "multinomial" is one regression with C = 1 on standardized latents, as in disentanglement_lib.
    """

    classifier: ValueClassifier = "one_vs_rest"
    """Classifier: one regression per value with normalized or raw scores, or one multinomial regression."""
    num_train: int = 10_000
    """Number of training rows."""
    num_test: int = 5_000
    """Number of test rows."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS
    quantity: ClassVar[str] = "explicitness"
    fits_predictor: ClassVar[bool] = True

    def measure(self, statistics: Statistics) -> Score:
        codes = statistics.codes
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        check_classes("Explicitness", tasks.values())
        halves = [task.half() for task in tasks.values()] if statistics.with_intervals else []
        fitted = on_cores("explicitness", [partial(self._areas, task) for task in [*tasks.values(), *halves]])
        fitted, by_half = fitted[: len(tasks)], fitted[len(tasks) :]
        found = [of_values for of_values, _ in fitted]
        areas = torch.stack([of_values.nanmean() for of_values in found])
        with_half = (
            float(torch.stack([of_values.nanmean() for of_values, _ in by_half]).nanmean()) if by_half else math.nan
        )
        names_and_areas = zip(tasks.values(), found, strict=True)
        unscored = [task.name for task, of_values in names_and_areas if bool(of_values.isnan().any())]
        if bool(areas.isnan().all()):
            raise CodesError(
                "Explicitness: no factor value occurs in both training and test rows; expected at least one. Use more "
                "images."
            )
        influences = [
            by_image(influence, task.test_images) for task, (_, influence) in zip(tasks.values(), fitted, strict=True)
        ]
        error = error_of_factor_mean(influences) if statistics.with_intervals else math.nan
        value = Value.from_standard_error(areas.nanmean(), error, self.bounds)
        settled, notes = settled_by_half(value.value, with_half, value.interval, "training rows")
        if unscored:
            notes = (
                *notes,
                f"Values of {', '.join(unscored)} that do not occur in both training and test rows are left out.",
            )
        by_value = torch.nn.utils.rnn.pad_sequence(found, padding_value=math.nan)
        return self.score(
            value,
            codes.factor_names,
            per_factor=among_factors(areas, tasks, len(codes.factors)),
            tables={"areas": among_factors(by_value, tasks, len(codes.factors)).T},
            settled=settled,
            notes=notes,
        )

    def _areas(self, task: PredictionTask) -> tuple[Float64[Tensor, " value"], Float64[Tensor, " row"]]:
        """Returns the area of each value, and the influence of each test row on the mean area."""
        values, scores = value_scores(task.train_codes, task.train_labels, task.test_codes, self.classifier)
        return areas_of_values(values, scores, task.test_labels)


def value_scores(
    train_codes: Float64[Tensor, "train latent"],
    train_labels: Int64[Tensor, " train"],
    test_codes: Float64[Tensor, "test latent"],
    classifier: ValueClassifier = "one_vs_rest",
) -> tuple[Int64[Tensor, " value"], Float64[Tensor, "test value"]]:
    """Returns the values of the training labels, and a logit or log-probability of each value for each test row."""
    values, numbers = train_labels.unique(return_inverse=True)
    if len(values) == 1:
        return values, torch.zeros(len(test_codes), 1, dtype=torch.float64)
    train, test = (standardized_like(codes, train_codes) for codes in (train_codes, test_codes))
    if classifier == "multinomial":
        return values, _logits(train, numbers, test, inverse_penalty=1.0, solver="lbfgs").log_softmax(dim=1)
    one_against_rest = range(len(values)) if len(values) > 2 else (1,)
    logits = torch.cat(
        [
            _logits(train, (numbers == v).long(), test, inverse_penalty=1e10, solver="newton-cholesky")
            for v in one_against_rest
        ],
        dim=1,
    )
    if len(values) == 2:
        logits = torch.cat([-logits, logits], dim=1)
    match classifier:
        case "one_vs_rest":
            # Log-probabilities, because underflows of probabilities far from all values would create ties.
            logs = torch.nn.functional.logsigmoid(logits)
            return values, logs - logs.logsumexp(dim=1, keepdim=True)
        case "one_vs_rest_raw":
            return values, logits
        case _:
            assert_never(classifier)


def areas_of_values(
    values: Int64[Tensor, " value"], scores: Float64[Tensor, "test value"], labels: Int64[Tensor, " test"]
) -> tuple[Float64[Tensor, " value"], Float64[Tensor, " test"]]:
    """Returns the area under the ROC curve of each value, and the influence of each row on the mean area.

    The area is NaN if no label or every label has the value. The mean excludes NaN.
    """
    curves = [roc_auc(score, labels == value) for value, score in zip(values, scores.T, strict=True)]
    areas = torch.tensor([area for area, _ in curves], dtype=torch.float64)
    return areas, torch.stack([influence for _, influence in curves]).sum(dim=0) / max(1, int((~areas.isnan()).sum()))


def roc_auc(scores: Float64[Tensor, " row"], positive: Bool[Tensor, " row"]) -> tuple[float, Float64[Tensor, " row"]]:
    """Returns the area under the ROC curve, and the influence of each row on the area.

    The area is the probability that a positive row has a larger score than a negative row, where ties count 1/2. It is
    NaN if all rows or no rows are positive. The variance of the area is the mean of the squared influences divided by
    the number of rows (DeLong, DeLong & Clarke-Pearson, Biometrics 1988). The time is O(n log n).
    """
    num_positive = int(positive.sum())
    num_negative = len(positive) - num_positive
    if num_positive == 0 or num_negative == 0:
        return math.nan, torch.zeros_like(scores)
    above_negatives = _share_below(scores, scores[~positive])
    above_positives = _share_below(scores, scores[positive])
    area = above_negatives[positive].mean()
    influence = torch.where(
        positive,
        (above_negatives - area) * len(positive) / num_positive,
        (1 - above_positives - area) * len(positive) / num_negative,
    )
    return float(area), influence


def _share_below(scores: Float64[Tensor, " row"], others: Float64[Tensor, " other"]) -> Float64[Tensor, " row"]:
    """Returns the fraction of `others` below each score, where ties count 1/2."""
    ranked = others.sort().values
    scores = scores.contiguous()
    below, not_above = (torch.searchsorted(ranked, scores, right=right) for right in (False, True))
    return (below + not_above).double() / (2 * len(others))


def _logits(
    train: Tensor, labels: Tensor, test: Tensor, *, inverse_penalty: float, solver: str
) -> Float64[Tensor, "test value"]:
    from sklearn.linear_model import LogisticRegression

    # Newton's method, because weights are large for nearly separable classes, and ranks are correct only at the
    # optimum.
    model = LogisticRegression(
        C=inverse_penalty, solver=solver, tol=1e-8 if solver == "newton-cholesky" else 1e-4, max_iter=1_000
    )
    with quietly():
        model.fit(train.numpy(), labels.numpy())
    found = torch.from_numpy(model.decision_function(test.numpy())).double()
    if solver == "newton-cholesky":
        return found[:, None]
    return torch.stack([-found / 2, found / 2], dim=1) if found.ndim == 1 else found
