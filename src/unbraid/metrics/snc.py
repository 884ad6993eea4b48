"""SNC and NK: the accuracy of predicting a factor from one latent, and of predicting it without this latent."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import scipy
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.information.latent_information import entropy
from unbraid.metrics.metric import OF_MEANS, Feature, Interval, Metric, Score
from unbraid.metrics.predicting.prediction_tasks import (
    PredictionTask,
    check_classes,
    mean_accuracy,
    prediction_tasks,
)
from unbraid.metrics.predicting.probes import PROBE_RANGES, Probe, ProbeTraining, trained_probes
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class SNC(Metric):
    """Single-neuron classification (Mahon, Sha & Lukasiewicz, arXiv:2304.02335v4).

    SNC is the mean over factors of the test accuracy of predicting a factor from one latent. Higher is better. A latent
    is binned into bins of equal mass, one for each value of the factor. Factors are matched one-to-one to latents to
    maximize the total information of bins and values. Bins are matched one-to-one to values to maximize the training
    accuracy.

    Neuron knock-out: the part "all_latents" is the accuracy of a net with one hidden layer on all latents, "without" is
    the accuracy without the latent of the factor, and "knock_out" is the difference. For a factor without a latent, the
    most frequent value is predicted, and the knock-out is 0.
    """

    hidden: int = 256
    """Number of hidden units of the nets."""
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

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS
    quantity: ClassVar[str] = "single-neuron accuracy"
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"knock_out": True})
    by_name_only: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType(PROBE_RANGES | {"hidden": (1, 100_000)})

    def measure(self, statistics: Statistics) -> Score:
        names = statistics.codes.factor_names
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        known = list(tasks.values())
        check_classes("SNC", known)
        paired = matched_latents(known)
        right = {"alone": [named_by(task, j) for task, j in zip(known, paired, strict=True)]}
        right |= self._knocked_out(known, paired, statistics.codes.mean.device)
        right["knock_out"] = [a - b for a, b in zip(right["all_latents"], right["without"], strict=True)]
        bounds = {"knock_out": (-1.0, 1.0)}
        values = {name: mean_accuracy(rows, known, bounds.get(name, self.bounds)) for name, rows in right.items()}
        numbers = {name: torch.stack([each.mean() for each in rows]) for name, rows in right.items()}
        numbers["matched_latent"] = torch.tensor([math.nan if j is None else j for j in paired], dtype=torch.float64)
        tables = {name: among_factors(each, tasks, len(names)) for name, each in numbers.items()}
        return self.score(
            values.pop("alone"),
            names,
            parts=values,
            per_factor=tables["alone"],
            tables=tables,
            notes=_notes(known, paired),
        )

    def _knocked_out(
        self, tasks: list[PredictionTask], paired: list[int | None], device: torch.device
    ) -> dict[str, list[Tensor]]:
        """Returns the correctly classified test rows, with all latents and without the latent of the factor."""
        whole = [Probe(task, self.hidden, classifies=True) for task in tasks]
        hides = [() if j is None else (j,) for j in paired]
        without = [
            Probe(task, self.hidden, classifies=True, hides=hidden) for task, hidden in zip(tasks, hides, strict=True)
        ]
        training = ProbeTraining(self.num_steps, self.batch_size, self.learning_rate, self.seed)
        right = [1 - losses.losses for losses in trained_probes([*whole, *without], training, device)]
        return {"all_latents": right[: len(tasks)], "without": right[len(tasks) :]}


def matched_latents(tasks: list[PredictionTask]) -> list[int | None]:
    """Matches factors one-to-one to latents to maximize the total information of bins and values.

    The result is None for a factor without a latent, which occurs if there are fewer latents than factors.
    """
    table = torch.stack([_information(task) for task in tasks])
    rows, columns = scipy.optimize.linear_sum_assignment(table.numpy(), maximize=True)
    found = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    return [found.get(k) for k in range(len(tasks))]


def named_by(task: PredictionTask, latent: int | None) -> Float64[Tensor, " test"]:
    """Returns 1 for each test row whose value is predicted by its bin of the latent, and 0 for other rows.

    Without a latent, the prediction is the most frequent value.
    """
    if latent is None:
        return task.majority()
    _, stands_for = scipy.optimize.linear_sum_assignment(_counts(task, latent).numpy(), maximize=True)
    named = task.train_labels.unique()[torch.from_numpy(stands_for)]
    return (named[_bins(task, latent, task.test_codes)] == task.test_labels).double()


def _bins(task: PredictionTask, latent: int, codes: Float64[Tensor, "row latent"]) -> Int64[Tensor, " row"]:
    """Returns the bin index of each row. There is one bin per value, and bins have equal mass in the training rows."""
    ranked, first = _ranked(task, latent)
    return torch.searchsorted(ranked[first], codes[:, latent].contiguous(), right=True)


def _ranked(task: PredictionTask, latent: int) -> tuple[Float64[Tensor, " train"], Int64[Tensor, " cut"]]:
    """Returns the sorted training means of a latent, and the first position of each bin except the first bin."""
    num_bins, ranked = len(task.train_labels.unique()), task.train_codes[:, latent].sort().values
    return ranked, torch.arange(1, num_bins) * len(ranked) // num_bins


def _notes(tasks: list[PredictionTask], paired: list[int | None]) -> tuple[str, ...]:
    """Returns a note on factors with equal latent means on both sides of a bin edge."""
    cut = []
    for task, latent in zip(tasks, paired, strict=True):
        if latent is not None:
            ranked, first = _ranked(task, latent)
            cut += [task.name] if bool((ranked[first - 1] == ranked[first]).any()) else []
    note = (
        f"Bins of equal mass separate equal means ({', '.join(cut)}), e.g. of quantized codes. Two values may then be "
        "in one bin, and the score of a perfect latent is below 1. Use InfoMEC(Levels()) for quantized codes."
    )
    return (note,) if cut else ()


def _counts(task: PredictionTask, latent: int) -> Float64[Tensor, "bin value"]:
    """Returns the number of training rows with each value in each bin."""
    values, places = task.train_labels.unique(return_inverse=True)
    cells = _bins(task, latent, task.train_codes) * len(values) + places
    return torch.bincount(cells, minlength=len(values) ** 2).double().reshape(len(values), len(values))


def _information(task: PredictionTask) -> Float64[Tensor, " latent"]:
    """Returns the mutual information of the bins of each latent and the values, over the training rows."""
    tables = torch.stack([_counts(task, latent) for latent in range(task.train_codes.shape[1])])
    return entropy(tables.sum(dim=2)) + entropy(tables.sum(dim=1)) - entropy(tables.flatten(1))
