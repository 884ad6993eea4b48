"""DCI-ES: the capacity that a predictor of the factors needs."""

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

_CONSTANT = "{} do not vary among the training or the test rows: left out."
_UNREAD = "No probe predicts {} better than a constant does: explicitness is undefined there, and left out."
_DOUBTFUL = "No probe predicts {} better than a constant by more than chance: explicitness means little there."


@final
@dataclass(frozen=True)
class DCIES(Metric):
    """Explicitness E of DCI-ES: how fast the loss falls as probes grow (Eastwood et al., arXiv:2210.00364v2).

    E is 1 if the smallest probe predicts the factors as well as the largest, 0 if the loss is linear in the logarithm
    of the number of parameters, and at least -1. Higher is better.

    Probes of rising size predict each factor from all latents; the loss l is 1 - R^2 where values have an order and 1 -
    accuracy elsewhere, on test rows, and no larger than that of guessing, l_b. E = 1 - 2 A / ((k_max - k_min) l_b),
    where A is the area between the curve of the least loss up to each size and its end, over k, the logarithm of the
    number of parameters. The value is the mean over factors; the part "informativeness" is that of 1 - l of the best
    probe. A factor that does not vary among test rows has no R^2, and one without order that does not vary among
    training rows no l_b: they are left out of both. If no probe predicts a factor better than a constant, E of that
    factor is undefined. Probes are nets with one hidden layer, or linear (0), all trained together. D, C and I are
    those of `DCI`.
    """

    hidden: tuple[int, ...] = (0, 8, 32, 128)
    """The numbers of hidden units of the probes, rising; 0 for a linear one."""
    num_steps: int = 300
    """The number of training steps."""
    batch_size: int = 256
    """The number of rows of a step."""
    learning_rate: float = 0.01
    """The initial learning rate of Adam, which falls to zero."""
    num_train: int = 10_000
    """The number of training rows."""
    num_test: int = 5_000
    """The number of test rows."""
    seed: int = 0
    """The seed of all random draws."""

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
                f"DCIES: hidden is {self.hidden}; expected two or more rising numbers of units from 0 (linear) to "
                "100,000, such as (0, 8, 32, 128)."
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
            [_curve(curve, _resamples(task, self.seed)) for curve, task in zip(curves, tasks.values(), strict=True)],
            dim=1,
        )
        constants = torch.tensor([_loss_of_a_constant(task) for task in tasks.values()], dtype=torch.float64)
        is_predicted = losses.amin(dim=1) < constants
        is_sure = losses.amin(dim=1) + QUANTILE * spread(resampled.amin(dim=2)) < constants
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


def _resamples(task: PredictionTask, seed: int) -> Float64[Tensor, "resample test"]:
    """Returns the share of each test row in resamples of the test images."""
    return resampled_weights(len(task.test_labels), seed, images=task.test_images)


def explicitness(
    losses: Float64[Tensor, "*resample factor probe"],
    sizes: Float64[Tensor, " probe"],
    guesses: Float64[Tensor, " factor"],
) -> Float64[Tensor, "*resample factor"]:
    """Returns 1 - 2 A / ((k_max - k_min) l_b) for each factor, where probes come in the order of their sizes."""
    least = torch.minimum(losses, guesses[:, None]).cummin(dim=-1).values
    area = torch.trapezoid(least - least[..., -1:], sizes, dim=-1)
    return 1 - 2 * area / ((sizes[-1] - sizes[0]) * guesses)


def _curve(
    curve: list[Losses], weights: Float64[Tensor, "resample test"] | None = None
) -> Float64[Tensor, "resample probe"]:
    """Returns the loss of each probe, in resamples of the test rows if they are given."""
    errors = torch.stack([part.error(weights) for part in curve], dim=1)
    # Errors of regressions are RMSE / std; their squares are 1 - R^2.
    return errors if curve[0].values is None else errors.square()


def _loss_of_guessing(task: PredictionTask) -> float:
    return 1.0 if task.ordered else 1 - 1 / len(task.train_labels.unique())


def _loss_of_a_constant(task: PredictionTask) -> float:
    """Returns the loss on the test rows of the mean, or of the value that is most frequent among the training rows."""
    if task.ordered:
        return 1.0
    return float((1 - task.majority()).mean())
