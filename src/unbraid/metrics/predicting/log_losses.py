"""What a logistic regression on all latents, and none at all, pay for each label."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.metrics.predicting.convergence import quietly
from unbraid.metrics.predicting.prediction_tasks import PredictionTask


@final
@dataclass(frozen=True)
class LogLosses:
    """Holds -log p of the label in each row, fitted and without latents, in nats; and how many rows were left out
    because their value was never seen.
    """

    fitted: Float64[Tensor, " row"]
    null: Float64[Tensor, " row"]
    num_unseen: int


def log_losses(task: PredictionTask, *, in_sample: bool) -> LogLosses:
    """Returns the losses of a multinomial regression on standardised latents, on the test rows. It has C = 1, and
    without latents each value has its frequency among the training rows. In sample, where the test rows are the
    training rows, it has no penalty and balanced classes, and without latents all values are alike.
    """
    from sklearn.linear_model import LogisticRegression

    values, places = task.train_labels.unique(return_inverse=True)
    mean, scale = task.train_codes.mean(dim=0), task.train_codes.std(dim=0, correction=0)
    scale = torch.where(scale > 0, scale, 1.0)
    seen = torch.isin(task.test_labels, values)
    rows = torch.searchsorted(values, task.test_labels[seen])
    if in_sample:
        null = torch.full((len(rows),), math.log(len(values)), dtype=torch.float64)
        model = LogisticRegression(C=math.inf, class_weight="balanced", max_iter=100)
    else:
        null = -(torch.bincount(places) / len(places)).double().log()[rows]
        model = LogisticRegression(C=1.0, max_iter=1_000)
    if len(values) == 1:
        return LogLosses(torch.zeros_like(null), null, int((~seen).sum()))
    with quietly():
        model.fit(((task.train_codes - mean) / scale).numpy(), places.numpy())
        logs = torch.from_numpy(model.predict_log_proba(((task.test_codes[seen] - mean) / scale).numpy())).double()
    # As scikit-learn's log loss does, no probability counts as less than rounding.
    least = math.log(torch.finfo(torch.float64).eps)
    return LogLosses(-logs.clamp(min=least).gather(1, rows[:, None])[:, 0], null, int((~seen).sum()))
