"""DCI-ES: explicitness from the capacity of probes needed to predict the factors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.metrics.intervals import resampled_weights, spread
from unbraid.metrics.metric import OF_MEANS, QUANTILE, Feature, Interval, Metric, Score, Value
from unbraid.metrics.predicting.factor_predictors import Losses
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.predicting.probes import PROBE_RANGES, Probe, ProbeTraining, trained_probes
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics

_CONSTANT = "{} are left out, because they are constant in the training or test rows."
_UNREAD = "No probe predicts {} better than a constant, so their explicitness is undefined and left out."
_DOUBTFUL = "No probe predicts {} significantly better than a constant, so their explicitness is unreliable."


@final
@dataclass(frozen=True)
class DCIES(Metric):
    """Explicitness E of DCI-ES: the decrease of the loss with probe capacity (Eastwood et al., arXiv:2210.00364v2).

    E is 1 if the smallest probe predicts the factors as well as the largest probe, 0 if the loss is linear in the
    logarithm of the number of parameters, and at least -1. Higher is better.

    Probes of increasing size predict each factor from all latents. The loss l on test rows is 1 - R^2 for ordered
    values and 1 - accuracy for unordered values, limited to the loss l_b of random guessing. E = 1 - 2 A / ((k_max -
    k_min) l_b), where k is the logarithm of the number of parameters. A is the area between the running minimum of the
    loss over k and the final value of this minimum. The value is the mean of E over factors. The part
    "informativeness" is the mean of 1 - l of the best probe. Constant factors are left out. E of a factor is undefined
    if no probe predicts the factor better than a constant. Probes are nets with one hidden layer, or linear (0), which
    are trained together. `DCI` computes D, C and I.
    """

    hidden: tuple[int, ...] = (0, 8, 32, 128)
    """Numbers of hidden units of the probes, in increasing order; 0 for a linear probe."""
    num_steps: int = 300
    """Number of training steps."""
    batch_size: int = 256
    """Number of rows per training step."""
    learning_rate: float = 0.01
    """Initial learning rate of Adam, which falls to zero."""
    num_train: int = 10_000
    """Number of training rows."""
    num_test: int = 5_000
    """Number of test rows."""
    seed: int = 0
    """Seed of all random draws."""

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS | {"continuous factors"}
    quantity: ClassVar[str] = "DCI-ES explicitness"
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"informativeness": True})
    by_name_only: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType(PROBE_RANGES)

    def __post_init__(self) -> None:
        super().__post_init__()
        rises = all(low < high for low, high in zip(self.hidden, self.hidden[1:], strict=False))
        if len(self.hidden) < 2 or not rises or self.hidden[0] < 0 or self.hidden[-1] > 100_000:
            raise SpecError(
                f"DCIES: hidden is {self.hidden}; expected at least two increasing numbers of units from 0 (linear) to "
                "100,000. Pass e.g. (0, 8, 32, 128)."
            )

    def measure(self, statistics: Statistics) -> Score:
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        check_classes("DCIES", [task for task in tasks.values() if not task.ordered])
        probes = [[Probe(task, width, not task.ordered) for width in self.hidden] for task in tasks.values()]
        training = ProbeTraining(self.num_steps, self.batch_size, self.learning_rate, self.seed)
        missed = trained_probes([p for each in probes for p in each], training, statistics.codes.mean.device)
        curves = [missed[at : at + len(self.hidden)] for at in range(0, len(missed), len(self.hidden))]
        sizes = torch.tensor([sum(each[c].num_parameters for each in probes) for c in range(len(self.hidden))])
        guesses = torch.tensor([_loss_of_guessing(task) for task in tasks.values()], dtype=torch.float64)
        losses = torch.stack([_curve(curve) for curve in curves])[:, 0]
        resampled = torch.stack(
            [
                _curve(
                    curve,
                    resampled_weights(len(task.test_labels), self.seed, statistics.num_resamples, task.test_images),
                )
                for curve, task in zip(curves, tasks.values(), strict=True)
            ],
            dim=1,
        )
        constants = torch.tensor([_loss_of_a_constant(task) for task in tasks.values()], dtype=torch.float64)
        is_predicted = losses.amin(dim=1) < constants
        errors = spread(resampled.amin(dim=2)) if statistics.with_intervals else 0.0
        is_sure = losses.amin(dim=1) + QUANTILE * errors < constants
        each = explicitness(losses, sizes.double().log(), guesses).where(is_predicted, math.nan)
        every = explicitness(resampled, sizes.double().log(), guesses).where(is_predicted, math.nan)
        value = Value.from_standard_error(each.nanmean(), spread(every.nanmean(dim=1)), self.bounds)
        known = torch.where(guesses > 0, guesses, math.nan)
        best = [torch.minimum(table.amin(dim=-1), known) for table in (losses, resampled)]
        kept, spreads = (1 - least.nanmean(dim=-1) for least in best)
        names = statistics.codes.factor_names
        constant = [names[k] for k, loss in zip(tasks, best[0], strict=True) if math.isnan(loss)]
        unread, doubtful = (
            [names[k] for k, counts in zip(tasks, which, strict=True) if counts and names[k] not in constant]
            for which in (~is_predicted, is_predicted & ~is_sure)
        )
        return self.score(
            value,
            names,
            parts={"informativeness": Value.from_standard_error(kept, spread(spreads), (0.0, 1.0))},
            per_factor=among_factors(each, tasks, len(names)),
            tables={"loss": among_factors(losses.T, tasks, len(names)).T, "log_parameters": sizes.double().log()},
            notes=tuple(
                note.format(", ".join(factors))
                for note, factors in ((_CONSTANT, constant), (_UNREAD, unread), (_DOUBTFUL, doubtful))
                if factors
            ),
        )


def explicitness(
    losses: Float64[Tensor, "*resample factor probe"],
    sizes: Float64[Tensor, " probe"],
    guesses: Float64[Tensor, " factor"],
) -> Float64[Tensor, "*resample factor"]:
    """Returns E = 1 - 2 A / ((k_max - k_min) l_b) for each factor. Probes must be sorted by size."""
    least = torch.minimum(losses, guesses[:, None]).cummin(dim=-1).values
    area = torch.trapezoid(least - least[..., -1:], sizes, dim=-1)
    return 1 - 2 * area / ((sizes[-1] - sizes[0]) * guesses)


def _curve(
    curve: list[Losses], weights: Float64[Tensor, "resample test"] | None = None
) -> Float64[Tensor, "resample probe"]:
    """Returns the loss of each probe, or the loss in each resample of the test rows if `weights` are given."""
    errors = torch.stack([part.error(weights) for part in curve], dim=1)
    # Errors of regressions are RMSE / std; their squares are 1 - R^2.
    return errors if curve[0].values is None else errors.square()


def _loss_of_guessing(task: PredictionTask) -> float:
    return 1.0 if task.ordered else 1 - 1 / len(task.train_labels.unique())


def _loss_of_a_constant(task: PredictionTask) -> float:
    """Returns the test loss of a constant prediction: the mean, or the most frequent value of unordered factors."""
    if task.ordered:
        return 1.0
    return float((1 - task.majority()).mean())
