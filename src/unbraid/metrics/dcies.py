"""DCI-ES: how much capacity it takes to read the factors off the code."""

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
from unbraid.metrics.metric import OF_MEANS, QUANTILE, Feature, Metric, Score, Value
from unbraid.metrics.predicting.factor_predictors import Losses
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.predicting.probes import Probe, ProbeTraining, trained_probes
from unbraid.metrics.reductions.statistics import Statistics

_CONSTANT = "{} do not vary among the training or the test rows: left out."
_UNREAD = "No probe reads {} better than a constant answer would: explicitness is undefined there, and left out."
_DOUBTFUL = "No probe reads {} better than a constant answer by more than chance: explicitness means little there."


@final
@dataclass(frozen=True)
class DCIES(Metric):
    """The explicitness E of DCI-ES: 1 if the simplest probe reads the factors as well as the largest does, 0 if the
    loss falls in a straight line with the logarithm of the number of parameters, -1 at worst. Higher is better.

    Eastwood et al., arXiv:2210.00364v2. Probes of rising size predict each factor from all latents; the loss l is 1 -
    R^2 where values have an order and 1 - accuracy elsewhere, on test rows, and no larger than that of guessing, l_b.
    E = 1 - 2 A / ((k_max - k_min) l_b), where A is the area between the curve of the least loss up to each size and its
    end, over k, the logarithm of the number of parameters. The value is the mean over factors; the part
    "informativeness" is that of 1 - l of the best probe. A factor that does not vary among test rows has no R^2, and
    one without order that does not vary among training rows no l_b: they are left out of both. Where no probe reads a
    factor better than a constant answer, there is no capacity to measure, and E of that factor is undefined. Probes are
    nets with one hidden layer, or linear (0), all trained together. The other letters: D, C and I are those of `DCI`.
    """

    hidden: tuple[int, ...] = (0, 8, 32, 128)
    """How many hidden units the probes have, rising; 0 for a linear one."""
    num_steps: int = 300
    """How many steps they are trained."""
    batch_size: int = 256
    """How many rows a step sees."""
    learning_rate: float = 0.01
    """Learning rate of Adam at first; it falls to zero."""
    num_train: int = 10_000
    """How many rows they are fitted on."""
    num_test: int = 5_000
    """How many other rows they are tested on."""
    seed: int = 0
    """Where all that is random in it starts."""

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    quantity: ClassVar[str] = "DCI-ES explicitness"
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"informativeness": True})
    by_name_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        rises = all(low < high for low, high in zip(self.hidden, self.hidden[1:], strict=False))
        if len(self.hidden) < 2 or not rises or self.hidden[0] < 0 or self.hidden[-1] > 100_000:
            raise SpecError(
                f"DCIES: hidden is {self.hidden}; expected two or more rising numbers of units from 0 (linear) to "
                "100,000, such as (0, 8, 32, 128)."
            )
        if not 1 <= self.num_steps <= 10**7:
            raise SpecError(f"DCIES: num_steps is {self.num_steps}; expected 1 to 10,000,000 (300 is usual).")
        if not 0 < self.learning_rate < math.inf:
            raise SpecError(f"DCIES: learning_rate is {self.learning_rate}; expected more than 0 (0.01 is usual).")

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_MEANS | {"continuous factors"}

    def measure(self, statistics: Statistics) -> Score:
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        found = {k: task for k, task in enumerate(tasks) if task is not None}
        probes = [[Probe(task, width, not task.ordered) for width in self.hidden] for task in found.values()]
        for task in found.values():
            if not task.ordered:
                check_classes("DCIES", task)
        training = ProbeTraining(self.num_steps, self.batch_size, self.learning_rate, self.seed)
        missed = trained_probes([p for each in probes for p in each], training, statistics.codes.mean.device)
        curves = [missed[at : at + len(self.hidden)] for at in range(0, len(missed), len(self.hidden))]
        sizes = torch.tensor([sum(each[c].num_parameters for each in probes) for c in range(len(self.hidden))])
        guesses = torch.tensor([_loss_of_guessing(task) for task in found.values()], dtype=torch.float64)
        losses = torch.stack([_curve(curve) for curve in curves])[:, 0]
        resampled = torch.stack(
            [_curve(curve, self._resamples(task)) for curve, task in zip(curves, found.values(), strict=True)], dim=1
        )
        constants = torch.tensor([_loss_of_a_constant(task) for task in found.values()], dtype=torch.float64)
        is_read = losses.amin(dim=1) < constants
        is_sure = losses.amin(dim=1) + QUANTILE * spread(resampled.amin(dim=2)) < constants
        each = explicitness(losses, sizes.double().log(), guesses).where(is_read, math.nan)
        every = explicitness(resampled, sizes.double().log(), guesses).where(is_read, math.nan)
        value = Value.from_standard_error(each.nanmean(), spread(every.nanmean(dim=1)), self.bounds)
        known = torch.where(guesses > 0, guesses, math.nan)
        best = [torch.minimum(table.amin(dim=-1), known) for table in (losses, resampled)]
        kept, spreads = (1 - least.nanmean(dim=-1) for least in best)
        names, places = statistics.codes.factor_names, list(found)
        constant = [names[k] for k, loss in zip(places, best[0], strict=True) if math.isnan(loss)]
        unread, doubtful = (
            [names[k] for k, counts in zip(places, which, strict=True) if counts and names[k] not in constant]
            for which in (~is_read, is_read & ~is_sure)
        )
        table = torch.full((len(tasks), len(self.hidden)), math.nan, dtype=torch.float64)
        table[places] = losses
        return Score(
            metric=type(self).__name__,
            value=value.value,
            interval=value.interval,
            parts={"informativeness": Value.from_standard_error(kept, spread(spreads), (0.0, 1.0))},
            per_factor=dict.fromkeys(names, math.nan) | {names[k]: float(e) for k, e in zip(places, each, strict=True)},
            tables={"loss": table, "log_parameters": sizes.double().log()},
            notes=tuple(
                note.format(", ".join(factors))
                for note, factors in ((_CONSTANT, constant), (_UNREAD, unread), (_DOUBTFUL, doubtful))
                if factors
            ),
            settings=self.settings,
        )

    def _resamples(self, task: PredictionTask) -> Float64[Tensor, "resample test"]:
        """Returns the share of each test row in resamples of the test images."""
        return resampled_weights(len(task.test_labels), self.seed, images=task.test_images)


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
    return float((task.test_labels != task.train_labels.mode().values).double().mean())
