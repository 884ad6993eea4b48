"""SAP: the difference between the best and the second best prediction of a factor from one latent."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, assert_never, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid._internal.progress import Event, emit
from unbraid.errors import CodesError
from unbraid.metrics.intervals import resampled_weights, settled_by_half, spread
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.predicting.fits import fitted_svm
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.reductions.gaps import top_two
from unbraid.metrics.reductions.pearson import label_numbers
from unbraid.metrics.reductions.statistics import Statistics

LatentClassifier = Literal["svm", "threshold"]
FactorsAs = Literal["labels", "measurements"]
# Smaller variances are rounding errors, and the correlation is set to 0.
_MIN_VARIANCE = 1e-12


@final
@dataclass(frozen=True)
class SAP(Metric):
    """Separated attribute predictability (Kumar et al., *DIP-VAE*, arXiv:1711.00848v3, section 3).

    SAP = mean_k (S_ik - S_jk), where latents i and j have the largest and the second largest score S for factor k (ICLR
    2018). Higher is better, at most 1. For a continuous factor, S is the squared correlation with the means of a latent
    over all images. For a discrete factor, S is the test accuracy of a classifier that reads one latent. "svm" is a
    linear SVM (C = 0.01, balanced class weights) with plain accuracy, as in disentanglement_lib. "threshold" is the
    best threshold with balanced accuracy, for factors with two values; other factors are left out. The SVM reads
    unscaled latents. Only latents above 2^10, for which its solver does not converge, are divided by a power of two.
    """

    classifier: LatentClassifier = "svm"
    """Classifier: a linear SVM, or the best threshold for factors with two values."""
    factors_as: FactorsAs = "labels"
    """Treatment of value indices of ordered factors: as labels or as measurements."""
    num_train: int = 10_000
    """Number of training rows."""
    num_test: int = 5_000
    """Number of test rows."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS | {"continuous factors"}
    fits_predictor: ClassVar[bool] = True

    @property
    def is_scale_sensitive(self) -> bool:
        return self.classifier == "svm"

    @property
    def treats_floats_as_continuous(self) -> bool:
        return self.factors_as == "labels"

    def measure(self, statistics: Statistics) -> Score:
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        num_latents, num_factors = statistics.codes.mean.shape[1], len(statistics.codes.factors)
        matrix, half = (torch.full((num_latents, num_factors), math.nan, dtype=torch.float64) for _ in range(2))
        num_resamples = statistics.num_resamples
        resampled = torch.full((num_resamples, num_latents, num_factors), math.nan, dtype=torch.float64)
        left_out, is_fitted = [], False
        for k, task in tasks.items():
            emit(Event("SAP", k, num_factors, "factors"))
            if reason := self._cannot_score(task):
                left_out.append(f"{task.name} ({reason})")
            elif self._is_measured(task):
                matrix[:, k], resampled[:, :, k] = _correlations(statistics.tested_part, k, task)
                half[:, k] = matrix[:, k]
            else:
                is_fitted = True
                check_classes("SAP", [task])
                matrix[:, k], resampled[:, :, k] = self._accuracies(task, num_resamples)
                if num_resamples:
                    half[:, k] = self._accuracies(task.half(), 0)[0]
        if len(left_out) == len(tasks):
            raise CodesError(
                f"SAP: the factors are {', '.join(left_out)}; expected at least one supported factor. Use "
                "classifier='svm' and factors_as='labels'."
            )
        error = spread(torch.stack([_mean_gap(table) for table in resampled])) if num_resamples else math.nan
        value = Value.from_standard_error(_mean_gap(matrix), error, self.bounds)
        settled, notes = (
            settled_by_half(value.value, float(_mean_gap(half)), value.interval, "training rows")
            if is_fitted
            else (None, ())
        )
        if left_out:
            notes = (*notes, f"Left out: {', '.join(left_out)}.")
        return self.score(
            value,
            statistics.codes.factor_names,
            per_factor=gaps(matrix),
            tables={"scores": matrix},
            settled=settled,
            notes=notes,
        )

    def _is_measured(self, task: PredictionTask) -> bool:
        return task.is_continuous or self.factors_as == "measurements"

    def _cannot_score(self, task: PredictionTask) -> str | None:
        if self.factors_as == "measurements" and not task.ordered:
            return "its values have no order"
        num_values = len(torch.cat([task.train_labels, task.test_labels]).unique())
        if self.classifier == "threshold" and not self._is_measured(task) and num_values > 2:
            return f"{num_values} values instead of two"
        return None

    def _accuracies(self, task: PredictionTask, num_resamples: int) -> tuple[Tensor, Tensor]:
        """Returns the accuracy of each latent, and its accuracies in resamples of the test rows."""
        predicted = predicted_labels(task.train_codes, task.train_labels, task.test_codes, self.classifier, self.seed)
        weights = torch.full((1, len(predicted)), 1 / len(predicted), dtype=torch.float64)
        if num_resamples:
            resamples = resampled_weights(len(predicted), self.seed, num_resamples, task.test_images)
            weights = torch.cat([weights, resamples])
        accuracy = balanced_accuracy if self.classifier == "threshold" else plain_accuracy
        found = accuracy(predicted, task.test_labels, weights)
        return found[0], found[1:]


def gaps(matrix: Float64[Tensor, "latent factor"]) -> Float64[Tensor, " factor"]:
    """Returns the largest minus the second largest score of each factor.

    With a single latent, the gap is the score. Columns of NaN give NaN.
    """
    return top_two(matrix).gap


def squared_correlations(
    latents: Float[Tensor, "image latent"],
    values: Float[Tensor, " image"] | Int64[Tensor, " image"],
    weights: Float[Tensor, " image"] | None = None,
) -> Float64[Tensor, " latent"]:
    """Returns the squared correlations of latents and values, weighted by p(n); 0 for constant latents or values."""
    y = values.double()
    p = torch.full_like(y, 1 / len(y)) if weights is None else weights.double() / weights.double().sum()
    z, y = latents.double() - p @ latents.double(), y - p @ y
    covariance, variance, y_variance = p @ (z * y[:, None]), p @ z.square(), p @ y.square()
    defined = (variance > _MIN_VARIANCE) & (y_variance > _MIN_VARIANCE)
    return torch.where(defined, covariance.square() / torch.where(defined, variance * y_variance, 1.0), 0.0)


def predicted_labels(
    train_codes: Float64[Tensor, "train latent"],
    train_labels: Int64[Tensor, " train"],
    test_codes: Float64[Tensor, "test latent"],
    classifier: LatentClassifier = "svm",
    seed: int = 0,
) -> Int64[Tensor, "test latent"]:
    """Fits a classifier on each latent and returns the predictions for the test rows."""
    if bool((train_labels == train_labels[0]).all()):
        return train_labels[0].expand(test_codes.shape)
    columns = []
    for train, test in zip(train_codes.T, test_codes.T, strict=True):
        match classifier:
            case "svm":
                shrink = _shrink(train)
                features = (shrink * train)[:, None]
                model = fitted_svm(features, train_labels, seed, class_weight="balanced", dual=False)
                columns.append(torch.from_numpy(model.predict((shrink * test)[:, None].numpy())))
            case "threshold":
                columns.append(_by_threshold(train, train_labels, test))
            case _:
                assert_never(classifier)
    return torch.stack(columns, dim=1)


def _shrink(latent: Float64[Tensor, " train"]) -> float:
    """Returns the scale of a latent for the SVM: 1, or a power of two that reduces larger latents to 2^10."""
    # For larger numbers liblinear stops far from the optimum, with errors of the accuracy of 0.06 at 10^4 and 0.5 at
    # 10^6. At 2^10 the penalty on the weight is negligible, so the scale does not change the exact classifier.
    return 2.0 ** min(0, 10 - math.frexp(float(latent.abs().max()))[1])


def plain_accuracy(
    predicted: Int64[Tensor, "row latent"], labels: Int64[Tensor, " row"], weights: Float64[Tensor, "resample row"]
) -> Float64[Tensor, "resample latent"]:
    """Returns the weighted fraction of correctly predicted rows."""
    return weights @ (predicted == labels[:, None]).double()


def balanced_accuracy(
    predicted: Int64[Tensor, "row latent"], labels: Int64[Tensor, " row"], weights: Float64[Tensor, "resample row"]
) -> Float64[Tensor, "resample latent"]:
    """Returns the mean recall over the occurring values."""
    right = (predicted == labels[:, None]).double()
    recalls = []
    for value in labels.unique():
        here = (labels == value).double()
        recalls.append(weights @ (right * here[:, None]) / (weights @ here)[:, None])
    return torch.stack(recalls).nanmean(dim=0)


def _by_threshold(
    train: Float64[Tensor, " train"], labels: Int64[Tensor, " train"], test: Float64[Tensor, " test"]
) -> Int64[Tensor, " test"]:
    """Returns the predictions of the threshold with the largest balanced accuracy on the training rows.

    All thresholds between training values are evaluated.
    """
    low, high = labels.unique().tolist()
    ranked = train.sort()
    is_high = (labels[ranked.indices] == high).double()
    # Fraction of the rows of each value below a threshold at rank r.
    high_below, low_below = (
        torch.cat([part.new_zeros(1), part.cumsum(0) / part.sum()]) for part in (is_high, 1 - is_high)
    )
    lead = low_below - high_below
    # Equal codes cannot be separated.
    inseparable = torch.cat([torch.tensor([False]), ranked.values[1:] == ranked.values[:-1], torch.tensor([False])])
    cut = int(torch.where(inseparable, -math.inf, lead.abs()).argmax())
    edges = torch.cat([torch.tensor([-math.inf]).double(), ranked.values, torch.tensor([math.inf]).double()])
    threshold = (
        edges[cut] + (edges[cut + 1] - edges[cut]) / 2 if 0 < cut < len(train) else edges[cut if cut == 0 else cut + 1]
    )
    above, below = (high, low) if float(lead[cut]) >= 0 else (low, high)
    return torch.where(test > threshold, above, below)


def _mean_gap(matrix: Float64[Tensor, "latent factor"]) -> Float64[Tensor, ""]:
    return gaps(matrix).nanmean()


def _correlations(statistics: Statistics, factor: int, task: PredictionTask) -> tuple[Tensor, Tensor]:
    """Returns squared correlations over all images, and resamples of them estimated from the rows of the task."""
    codes = statistics.codes
    labels = codes.factors[factor]
    known = slice(None) if labels.known is None else labels.known
    weights = None if codes.weights is None else codes.weights[known]
    column = squared_correlations(codes.mean[known], label_numbers(labels)[known], weights).cpu()
    if not statistics.with_intervals:
        return column, column.expand(0, -1)
    z, y = torch.cat([task.train_codes, task.test_codes]), torch.cat([task.train_labels, task.test_labels])
    scatter = torch.stack(
        [squared_correlations(z, y, row) for row in resampled_weights(len(y))]
    ) - squared_correlations(z, y)
    num_images = statistics.num_effective_images * (
        1.0 if labels.known is None else float(labels.known.double().mean())
    )
    return column, column + scatter * math.sqrt(len(y) / num_images)
