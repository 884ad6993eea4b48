"""SNC and NK: what one latent alone names of a factor, and what is lost without it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import scipy
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import entropy
from unbraid.metrics.intervals import by_image, error_of_factor_mean
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, check_classes, prediction_tasks
from unbraid.metrics.predicting.probes import Probe, ProbeTraining, trained_probes
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class SNC(Metric):
    """Single-neuron classification: the mean over factors of the share of test rows whose value one latent names, cut
    into as many bins of equal mass as the factor has values. Higher is better.

    Mahon, Sha & Lukasiewicz, arXiv:2304.02335v4. Each factor has a latent of its own, chosen so that the information
    between bins and values is largest in sum; each bin stands for one value, chosen so that most training rows are
    right. Neuron knock-out: "all_latents" is the accuracy of a net with one hidden layer on all latents, "without" that
    of one that does not see the factor's latent, and "knock_out" their difference. A factor for which no latent is left
    is named by its most frequent value, and nothing is knocked out.
    """

    hidden: int = 256
    """How many hidden units the nets have."""
    num_steps: int = 300
    """How many steps they are trained."""
    batch_size: int = 256
    """How many rows a step sees."""
    learning_rate: float = 0.01
    """Learning rate of Adam at first; it falls to zero."""
    num_train: int = 10_000
    """How many rows are fitted on."""
    num_test: int = 5_000
    """How many other rows are tested on."""
    seed: int = 0
    """Where all that is random in it starts."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    quantity: ClassVar[str] = "single-neuron accuracy"
    fits_predictor: ClassVar[bool] = True
    reported_parts: ClassVar[Mapping[str, bool]] = MappingProxyType({"knock_out": True})
    by_name_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (1 <= self.hidden <= 100_000 and 1 <= self.num_steps <= 10**7 and 0 < self.learning_rate < math.inf):
            raise SpecError(
                f"SNC: hidden is {self.hidden}, num_steps {self.num_steps} and learning_rate {self.learning_rate}; "
                "expected 1 to 100,000, 1 to 10,000,000, and more than 0 (256, 300 and 0.01 are usual)."
            )

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_MEANS

    def measure(self, statistics: Statistics) -> Score:
        tasks = prediction_tasks(statistics, self.num_train, self.num_test, self.seed)
        found = {k: task for k, task in enumerate(tasks) if task is not None}
        for task in found.values():
            check_classes("SNC", task)
        known = list(found.values())
        paired = matched_latents(known)
        right = {"alone": [named_by(task, j) for task, j in zip(known, paired, strict=True)]}
        right |= self._knocked_out(known, paired, statistics.codes.mean.device)
        right["knock_out"] = [a - b for a, b in zip(right["all_latents"], right["without"], strict=True)]
        values = {
            name: Value.from_standard_error(
                torch.stack([each.mean() for each in rows]).mean(),
                error_of_factor_mean(
                    [by_image(each - each.mean(), task.test_images) for each, task in zip(rows, known, strict=True)]
                ),
                (-1.0, 1.0) if name == "knock_out" else self.bounds,
            )
            for name, rows in right.items()
        }
        tables = {name: torch.full((len(tasks),), math.nan, dtype=torch.float64) for name in (*right, "matched_latent")}
        for name, rows in right.items():
            tables[name][list(found)] = torch.stack([each.mean() for each in rows])
        numbers = [math.nan if j is None else float(j) for j in paired]
        tables["matched_latent"][list(found)] = torch.tensor(numbers, dtype=torch.float64)
        alone = values.pop("alone")
        return Score(
            metric=type(self).__name__,
            value=alone.value,
            interval=alone.interval,
            parts=values,
            per_factor=dict(zip(statistics.codes.factor_names, tables["alone"].tolist(), strict=True)),
            tables=tables,
            notes=_notes(known, paired),
            settings=self.settings,
        )

    def _knocked_out(
        self, tasks: list[PredictionTask], paired: list[int | None], device: torch.device
    ) -> dict[str, list[Tensor]]:
        """Returns which test rows nets name with all latents, and without that of the factor."""
        whole = [Probe(task, self.hidden, classifies=True) for task in tasks]
        hides = [() if j is None else (j,) for j in paired]
        without = [
            Probe(task, self.hidden, classifies=True, hides=hidden) for task, hidden in zip(tasks, hides, strict=True)
        ]
        training = ProbeTraining(self.num_steps, self.batch_size, self.learning_rate, self.seed)
        right = [1 - losses.losses for losses in trained_probes([*whole, *without], training, device)]
        return {"all_latents": right[: len(tasks)], "without": right[len(tasks) :]}


def matched_latents(tasks: list[PredictionTask]) -> list[int | None]:
    """Returns a latent for each factor, none twice, so that the information of bins on values is largest in sum; None
    where there are fewer latents than factors.
    """
    table = torch.stack([_information(task) for task in tasks])
    rows, columns = scipy.optimize.linear_sum_assignment(table.numpy(), maximize=True)
    found = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    return [found.get(k) for k in range(len(tasks))]


def named_by(task: PredictionTask, latent: int | None) -> Float64[Tensor, " test"]:
    """Returns 1 for each test row whose value the bin of this latent stands for, else 0; without a latent, for each row
    of the most frequent value.
    """
    if latent is None:
        return (task.test_labels == task.train_labels.mode().values).double()
    _, stands_for = scipy.optimize.linear_sum_assignment(_counts(task, latent).numpy(), maximize=True)
    named = task.train_labels.unique()[torch.from_numpy(stands_for)]
    return (named[_bins(task, latent, task.test_codes)] == task.test_labels).double()


def _bins(task: PredictionTask, latent: int, codes: Float64[Tensor, "row latent"]) -> Int64[Tensor, " row"]:
    """Returns the bin of each row: as many of equal mass among the training rows as the factor has values."""
    ranked, first = _ranked(task, latent)
    return torch.searchsorted(ranked[first], codes[:, latent].contiguous(), right=True)


def _ranked(task: PredictionTask, latent: int) -> tuple[Float64[Tensor, " train"], Int64[Tensor, " cut"]]:
    """Returns the means of a latent in the training rows in order, and where each bin but the first begins."""
    num_bins, ranked = len(task.train_labels.unique()), task.train_codes[:, latent].sort().values
    return ranked, torch.arange(1, num_bins) * len(ranked) // num_bins


def _notes(tasks: list[PredictionTask], paired: list[int | None]) -> tuple[str, ...]:
    """Returns a note that names the factors whose latent has equal means on both sides of a cut."""
    cut = []
    for task, latent in zip(tasks, paired, strict=True):
        if latent is not None:
            ranked, first = _ranked(task, latent)
            cut += [task.name] if bool((ranked[first - 1] == ranked[first]).any()) else []
    told = (
        f"Bins of equal mass cut through means that are equal ({', '.join(cut)}), as those of quantized codes are: two "
        "values may share a bin, so that a perfect latent names one of them wrongly. InfoMEC(Levels()) counts "
        "levels as they are."
    )
    return (told,) if cut else ()


def _counts(task: PredictionTask, latent: int) -> Float64[Tensor, "bin value"]:
    """Returns how many training rows of each value are in each bin."""
    values, places = task.train_labels.unique(return_inverse=True)
    cells = _bins(task, latent, task.train_codes) * len(values) + places
    return torch.bincount(cells, minlength=len(values) ** 2).double().reshape(len(values), len(values))


def _information(task: PredictionTask) -> Float64[Tensor, " latent"]:
    """Returns the mutual information between the bins of each latent and the values, over the training rows."""
    tables = torch.stack([_counts(task, latent) for latent in range(task.train_codes.shape[1])])
    return entropy(tables.sum(dim=2)) + entropy(tables.sum(dim=1)) - entropy(tables.flatten(1))
