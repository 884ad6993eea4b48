"""Explicitness: can a linear classifier read every value of every factor off the code?"""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, assert_never, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.intervals import by_image, error_of_factor_mean, settled_by_half
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.predicting.convergence import quietly
from unbraid.metrics.predicting.on_cores import on_cores
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.predicting.roc_auc import roc_auc
from unbraid.metrics.reductions.statistics import Statistics

ValueClassifier = Literal["one_vs_rest", "one_vs_rest_raw", "multinomial"]


@final
@dataclass(frozen=True)
class Explicitness(Metric):
    """The mean over factors of the mean over their values of the area under the ROC curve of a logistic regression on
    all latents. Higher is better.

    Ridgeway & Mozer, arXiv:1802.05312v2, section 3. `classifier`: "one_vs_rest" fits one regression a value without a
    penalty (C = 1e10) and ranks by probabilities normalized over the values, as their code and Do & Tran's do;
    "one_vs_rest_raw" ranks by each regression's own score, under which a value in the middle of a latent's range cannot
    be told; "multinomial" is one regression with C = 1 on standardized latents, as in disentanglement_lib. Fitted on
    `num_train` rows and scored on `num_test` others. Chance is 0.5.
    """

    classifier: ValueClassifier = "one_vs_rest"
    """One regression a value, ranked by normalized or by raw scores, or one for all values."""
    num_train: int = 10_000
    """How many rows it is fitted on."""
    num_test: int = 5_000
    """How many other rows it is tested on."""
    seed: int = 0
    """Where all that is random in it starts."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    quantity: ClassVar[str] = "explicitness"
    fits_predictor: ClassVar[bool] = True

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_MEANS

    def measure(self, statistics: Statistics) -> Score:
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        areas, halves = (torch.full((len(tasks),), math.nan, dtype=torch.float64) for _ in range(2))
        per_value = [torch.empty(0, dtype=torch.float64) for _ in tasks]
        variances, unscored = [], []
        known = {k: task for k, task in enumerate(tasks) if task is not None}
        for task in known.values():
            check_classes("Explicitness", task)
        whole_and_half = [each for task in known.values() for each in (task, task.half())]
        fitted = on_cores("explicitness", [partial(self._areas, task) for task in whole_and_half])
        for (k, task), (found, influence), (of_half, _) in zip(known.items(), fitted[::2], fitted[1::2], strict=True):
            per_value[k], areas[k], halves[k] = found, found.nanmean(), of_half.nanmean()
            if bool(found.isnan().any()):
                unscored.append(task.name)
            variances.append(by_image(influence, task.test_images))
        if bool(areas.isnan().all()):
            raise CodesError(
                "Explicitness: no value of any factor occurs in both the training and the test rows. Give more images."
            )
        value = Value.from_standard_error(areas.nanmean(), error_of_factor_mean(variances), self.bounds)
        settled, notes = settled_by_half(value.value, float(halves.nanmean()), value.interval, "training rows")
        if unscored:
            notes = (
                *notes,
                (
                    f"Some values of {', '.join(unscored)} are not in both the training and the test rows; "
                    "they are left out."
                ),
            )
        return Score(
            metric=type(self).__name__,
            value=value.value,
            interval=value.interval,
            per_factor=dict(zip(statistics.codes.factor_names, areas.tolist(), strict=True)),
            tables={"areas": _stacked(per_value)},
            settled=settled,
            notes=notes,
            settings=self.settings,
        )

    def _areas(self, task: PredictionTask) -> tuple[Float64[Tensor, " value"], Float64[Tensor, " row"]]:
        """Returns the area of each value, and what each test row adds to their mean."""
        values, scores = value_scores(task.train_codes, task.train_labels, task.test_codes, self.classifier)
        return areas_of_values(values, scores, task.test_labels)


def value_scores(
    train_codes: Float64[Tensor, "train latent"],
    train_labels: Int64[Tensor, " train"],
    test_codes: Float64[Tensor, "test latent"],
    classifier: ValueClassifier = "one_vs_rest",
) -> tuple[Int64[Tensor, " value"], Float64[Tensor, "test value"]]:
    """Returns the values among the training labels, and how much each test row looks like each of them: a logit, or the
    logarithm of a probability.
    """
    values, numbers = train_labels.unique(return_inverse=True)
    if len(values) == 1:
        return values, torch.zeros(len(test_codes), 1, dtype=torch.float64)
    mean, scale = train_codes.mean(dim=0), train_codes.std(dim=0, correction=0)
    scale = torch.where(scale > 0, scale, 1.0)
    train, test = ((codes - mean) / scale for codes in (train_codes, test_codes))
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
            # In logarithms: far from all values every probability underflows, and rows would tie that do not.
            logs = torch.nn.functional.logsigmoid(logits)
            return values, logs - logs.logsumexp(dim=1, keepdim=True)
        case "one_vs_rest_raw":
            return values, logits
        case _:
            assert_never(classifier)


def areas_of_values(
    values: Int64[Tensor, " value"], scores: Float64[Tensor, "test value"], labels: Int64[Tensor, " test"]
) -> tuple[Float64[Tensor, " value"], Float64[Tensor, " test"]]:
    """Returns the area under the ROC curve of each value, NaN where the labels have none of it or nothing else, and
    what each row adds to the mean of the others.
    """
    curves = [roc_auc(score, labels == value) for value, score in zip(values, scores.T, strict=True)]
    areas = torch.tensor([curve.area for curve in curves], dtype=torch.float64)
    return areas, torch.stack([curve.influence for curve in curves]).sum(dim=0) / max(1, int((~areas.isnan()).sum()))


def _logits(
    train: Tensor, labels: Tensor, test: Tensor, *, inverse_penalty: float, solver: str
) -> Float64[Tensor, "test value"]:
    from sklearn.linear_model import LogisticRegression

    # Newton steps: to rank the rows right near separation, the optimum must be met, and it lies far out.
    model = LogisticRegression(
        C=inverse_penalty, solver=solver, tol=1e-8 if solver == "newton-cholesky" else 1e-4, max_iter=1_000
    )
    with quietly():
        model.fit(train.numpy(), labels.numpy())
    found = torch.from_numpy(model.decision_function(test.numpy())).double()
    if solver == "newton-cholesky":
        return found[:, None]
    return torch.stack([-found / 2, found / 2], dim=1) if found.ndim == 1 else found


def _stacked(areas: list[Float64[Tensor, " _value"]]) -> Float64[Tensor, "factor value"]:
    """Returns a table with one row per factor, filled up with NaN."""
    return torch.nn.utils.rnn.pad_sequence(areas, batch_first=True, padding_value=math.nan)
