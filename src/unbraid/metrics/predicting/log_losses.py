"""What a logistic regression on all latents, and none at all, pay for each label."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.metrics.predicting.convergence import quietly
from unbraid.metrics.predicting.prediction_tasks import PredictionTask


@final
@dataclass(frozen=True)
class LogLosses:
    """Holds -log p of the label in each row, fitted and without latents, in nats; and which rows these are of all:
    others were left out because their value was never seen.
    """

    fitted: Float64[Tensor, " seen"]
    null: Float64[Tensor, " seen"]
    seen: Bool[Tensor, " row"]

    @property
    def can_be_compared(self) -> bool:
        """Whether there are rows, and without latents they cost something."""
        return len(self.null) > 0 and float(self.null.mean()) > 0


def log_losses(task: PredictionTask, *, in_sample: bool, of_levels: bool = False) -> LogLosses:
    """Returns the losses of a multinomial regression on standardized latents, on the test rows. It has C = 1, and
    without latents each value has its frequency among the training rows. In sample, where the test rows are the
    training rows, it has no penalty and balanced classes, and without latents all values are alike. `of_levels`: it
    reads a column of 0 and 1 for each level of each latent among the training rows, in place of standardized latents.
    """
    from sklearn.linear_model import LogisticRegression

    values, places = task.train_labels.unique(return_inverse=True)
    train, test = _in_levels(task) if of_levels else _standardized(task)
    seen = torch.isin(task.test_labels, values)
    rows = torch.searchsorted(values, task.test_labels[seen])
    if in_sample:
        null = torch.full((len(rows),), math.log(len(values)), dtype=torch.float64)
        model = LogisticRegression(C=math.inf, class_weight="balanced", max_iter=100)
    else:
        null = -(torch.bincount(places) / len(places)).double().log()[rows]
        model = LogisticRegression(C=1.0, max_iter=1_000)
    if len(values) == 1 or len(rows) == 0:
        return LogLosses(torch.zeros_like(null), null, seen)
    with quietly():
        model.fit(train.numpy(), places.numpy())
        logs = torch.from_numpy(model.predict_log_proba(test[seen].numpy())).double()
    # As scikit-learn's log loss does, no probability counts as less than rounding.
    least = math.log(torch.finfo(torch.float64).eps)
    return LogLosses(-logs.clamp(min=least).gather(1, rows[:, None])[:, 0], null, seen)


def _standardized(task: PredictionTask) -> tuple[Float64[Tensor, "train latent"], Float64[Tensor, "test latent"]]:
    mean, scale = task.train_codes.mean(dim=0), task.train_codes.std(dim=0, correction=0)
    scale = torch.where(scale > 0, scale, 1.0)
    return (task.train_codes - mean) / scale, (task.test_codes - mean) / scale


def _in_levels(task: PredictionTask) -> tuple[Float64[Tensor, "train level"], Float64[Tensor, "test level"]]:
    """Returns a column for each level of each latent among the training rows: 1 in the rows that have it."""
    levels = [column.unique() for column in task.train_codes.T.contiguous()]

    def columns(codes: Float64[Tensor, "row latent"]) -> Float64[Tensor, "row level"]:
        each = zip(codes.unbind(dim=1), levels, strict=True)
        return torch.cat([(column[:, None] == known).double() for column, known in each], dim=1)

    return columns(task.train_codes), columns(task.test_codes)
