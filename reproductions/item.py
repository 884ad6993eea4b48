"""What an item is: a table, a figure or a claim of a paper, the experiment behind it, and the claims that it decides."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from unbraid import Run, RunSpec, Scoring
from unbraid.studies import Setting, Study, StudyScores

Scale = Literal["smoke", "laptop", "quick", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Scores = dict[str, dict[str, dict[int, float]]]
"""Numbers by setting, metric and seed. A part or factor follows its metric ("rmig:scale"); " | other": second scoring."""
Numbers = Mapping[str, float]
Derived = Callable[[Scores], Scores]
Examine = Callable[[Mapping[int, Run], torch.device], Mapping[int, Numbers]]


@dataclass(frozen=True)
class Tuned:
    """A setting that is chosen first: the candidate with the best median of a metric, on seeds that are not tested."""

    label: str
    candidates: tuple[Setting, ...]
    seeds: tuple[int, ...]
    metric: str


@dataclass(frozen=True)
class Experiment:
    """What is trained or computed at one scale.

    Either settings are trained and scored, or `compute` returns the numbers of each case and seed. `examine` returns
    further numbers of the finished runs of a setting, which no metric of codes gives.
    """

    settings: tuple[Setting, ...] = ()
    study: Mapping[str, Any] = field(default_factory=dict)
    """The other fields of the study: metrics, scorings, keep, best_by."""
    tuned: Tuned | None = None
    examine: Examine | None = None
    latent_information_every: int | None = None
    compute: Callable[[str, int], Numbers] | None = None
    cases: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    reads: tuple[Any, ...] = ()
    """The datasets that a computation opens."""

    @property
    def seeds(self) -> dict[str, tuple[int, ...]]:
        """The seeds by label, those of a chosen setting and of its candidates included."""
        found = {each.label: each.seeds for each in self.settings} | dict(self.cases)
        if self.tuned is not None:
            found |= {self.tuned.label: self.tuned.seeds} | {each.label: each.seeds for each in self.tuned.candidates}
        return found

    def made_study(self, name: str) -> Study:
        """Returns the study of the settings, without the tuned one."""
        return Study(name, self.settings, **self.study)

    def measured(self) -> list[Any]:
        """What is measured, as JSON: labels, seeds, lengths and batches, not how the code spells it."""
        chosen = (*self.settings, *(self.tuned.candidates if self.tuned else ()))
        lengths = {each.label: [each.spec.num_steps, each.spec.batch_size] for each in chosen}
        return [[label, list(seeds), *lengths.get(label, [])] for label, seeds in self.seeds.items()]


def per_run(names: Mapping[str, Callable[[Numbers], float]]) -> Derived:
    """Returns what derives numbers of each run from its own scores; a run that lacks one is left out."""

    def derive(scores: Scores) -> Scores:
        found: Scores = {}
        for label, by_metric in scores.items():
            for seed in sorted({seed for values in by_metric.values() for seed in values}):
                run = {metric: values[seed] for metric, values in by_metric.items() if seed in values}
                for name, function in names.items():
                    with contextlib.suppress(KeyError, ZeroDivisionError):
                        found.setdefault(label, {}).setdefault(name, {})[seed] = function(run)
        return found

    return derive


def of_each(examine: Callable[[Run], Numbers]) -> Examine:
    """Returns what examines run after run."""
    return lambda runs, device: {seed: examine(run) for seed, run in runs.items()}


def family_and_weight(label: str) -> tuple[str, float]:
    """Returns the family of a label and the number after it: "beta-VAE 4" has 4, and "VAE" has 1."""
    name, _, number = label.rpartition(" ")
    try:
        return name, float(number)
    except ValueError:
        return label, 1.0


@dataclass(frozen=True)
class Code:
    """What of an item is code.

    An item that trains has `spec`, by default that of its paper, which returns what a label trains on a dataset at
    `quick` or `paper`; another has `compute` and its `cases`, by dataset. `derive` adds numbers to the scores.
    """

    spec: Callable[..., RunSpec] | None = None
    scorings: Callable[[str], tuple[Scoring, ...]] | None = None
    compute: Callable[[str, int], Numbers] | None = None
    cases: Mapping[str, Sequence[int]] | Callable[[str], Mapping[str, Sequence[int]]] = field(default_factory=dict)
    reads: Callable[[str], tuple[Any, ...]] = lambda data: ()
    examine: Callable[[str], Examine | None] = lambda data: None
    """What examines the runs on a dataset."""
    keeps_curves: bool = False
    """Whether runs log the information of each latent, at a hundred moments of training."""
    derive: Derived = lambda scores: {}
    draw: Callable[[StudyScores], Any] | None = None
    """What draws the figure, where no kind of `figure.py` does."""
    pictures: Callable[[Experiment, Study, Path], Mapping[str, bytes]] | None = None


@dataclass(frozen=True)
class Data:
    """A dataset of an item: its name, the files it needs from the user, how many seconds each scale takes, and what is
    trained on it. Fields that depend on the scale are tables by scale, where `quick` stands for those that are missing.
    """

    name: str
    seconds: Mapping[Scale, float]
    needs: str = ""
    notes: str = ""
    settings: tuple[str, ...] = ()
    """What the paper states and what is taken here, as "what | stated | taken"."""
    models: Any = ()
    """The labels of the settings."""
    seeds: Any = 8
    """How many seeds each setting has."""
    tuned: Mapping[str, Any] = field(default_factory=dict)
    """A setting that is chosen first: its label, its candidates, their seeds, and the metric it is chosen by."""
    scorings: tuple[Scoring, ...] = (Scoring(),)
    study: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of the study, such as `keep` and `best_by`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `spec`."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What "$NAME" stands for in models and claims."""

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The scales that it has, the smallest first."""
        return tuple(scale for scale in SCALES if scale == "smoke" or scale in self.seconds)


def at_scale(value: Any, scale: str) -> Any:
    """Returns what a table by scale has for this one, or the value itself if it is no such table."""
    return value.get(scale, value["quick"]) if isinstance(value, Mapping) and "quick" in value else value


@dataclass(frozen=True)
class Printed:
    """A number that the paper prints; `times` turns our score into its unit, such as 100 for per cent."""

    setting: str
    metric: str
    value: float
    times: float = 1.0


@dataclass(frozen=True)
class Item:
    """A table, a figure, a panel of one or a claim of a paper, as its file of the paper has it, and its code.

    `on` are its datasets by key: the first is the paper's own, the others stand in for it.
    """

    id: str
    title: str
    quote: str
    place: str
    on: Mapping[str, Data]
    code: Code
    module: Any = None
    """The module of the paper."""
    printed: tuple[Printed, ...] = ()
    expected: tuple[Printed, ...] = ()
    """What a computation has to give, up to `tolerance`, where the item has no other claims."""
    tolerance: float = 0.0
    notes: str = ""
    scores: tuple[str, ...] = ()
    """The numbers that the page shows of every setting, beyond those that claims and figure are about."""
    figure: str | Mapping[str, Sequence[str]] = "strip"
    """The kind of plot, or two scores of each run by the title of their panel (`figure.py`)."""
    changed: str = ""
    """What was changed of the claims after scores were known."""
    is_ours: bool = False
    """Whether it is an experiment of ours, and no claim of the paper."""
    claims: tuple[Mapping[str, Any], ...] = ()
    """Rows of claims (`rows.py`)."""
    version: int = 1
    """Counts up when something else is measured under the same labels: earlier evidence is refused then."""

    @property
    def paper(self) -> str:
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        return self.id.partition("/")[2]

    @property
    def original(self) -> str:
        """The key of the paper's own dataset."""
        return next(iter(self.on))

    def data(self, key: str) -> Data:
        """Returns one of its datasets. Raises if it has none of this key."""
        if key not in self.on:
            raise ValueError(f"{self.id} has no dataset {key!r}. Expected one of {', '.join(self.on)}.")
        return self.on[key]


@dataclass(frozen=True)
class Paper:
    """A paper and its items in the paper's order; `without_items` names its tables and figures that have none."""

    id: str
    authors: str
    title: str
    reference: str
    items: tuple[Item, ...]
    without_items: str = ""


def scores_by_name(scores: StudyScores) -> Scores:
    """Returns the scores of a study as plain data."""
    found: Scores = {label: {} for label in scores.settings}
    for number in scores.numbers:
        name = number.metric + (f":{number.of}" if number.of else "") + (" | other" if number.scoring else "")
        found.setdefault(number.setting, {}).setdefault(name, {})[number.seed] = number.value
    return found


def with_metrics(scores: StudyScores, names: Sequence[str]) -> StudyScores:
    """Returns the scores with these metrics among them."""
    new = [name for name in names if name not in scores.higher_is_better]
    higher = {**scores.higher_is_better, **dict.fromkeys(new)}
    return replace(scores, metrics=(*scores.metrics, *new), higher_is_better=higher)
