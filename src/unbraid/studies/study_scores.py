"""StudyScores: all scores of the runs of a study as plain data.

Tables, figures and claims read only a StudyScores, whether it was collected from runs or loaded from a file.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, final

from unbraid._internal.names import suggestion
from unbraid.errors import UnbraidError

Quantity = Literal["value", "part", "factor"]
RunState = Literal["finished", "failed", "unfinished", "new"]


@final
class Number(NamedTuple):
    """One number of one run: the value of a score, a part of the score, or the score of a factor.

    `of` is the name of the part or factor. `low` and `high` are the interval over images. `scoring` is empty for the
    first scoring of the study.
    """

    setting: str
    seed: int
    metric: str
    scoring: str
    quantity: Quantity
    of: str
    value: float
    low: float
    high: float
    run: str


@final
@dataclass(frozen=True)
class ScoredRun:
    """The state of a run, its number of informative latents (`num_used`), and reasons of undefined scores."""

    setting: str
    seed: int
    run: str
    state: RunState
    seconds: float = math.nan
    num_used: int | None = None
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_collapsed(self) -> bool:
        """Whether fewer than two latents are informative. False if the number is unknown."""
        return self.num_used is not None and self.num_used < 2


@final
@dataclass(frozen=True)
class StudyScores:
    """The scores of all runs of a study.

    Attributes:
        settings: The labels of all settings, in order.
        families: The family of each setting.
        metrics: The names of all metrics.
        higher_is_better: Whether higher values of each metric are better; None for metrics without a better direction.
        runs: All runs, with or without scores.
        numbers: The numbers of all runs.
        over: The factors that each metric covers in the first scoring. If None, they are taken from `numbers`.
        swept: The value of the numeric field that varies within a family, such as beta, by setting.
    """

    settings: tuple[str, ...]
    families: Mapping[str, str]
    metrics: tuple[str, ...]
    higher_is_better: Mapping[str, bool | None]
    runs: tuple[ScoredRun, ...]
    numbers: tuple[Number, ...]
    over: Mapping[str, Sequence[str]] | None = None
    swept: Mapping[str, float] = field(default_factory=dict)

    def values(self, setting: str, metric: str, of: str = "", scoring: str = "") -> dict[int, float]:
        """Returns the scores of a setting by seed, without NaN.

        `of` is the name of a part or factor. It can also follow the name of the metric: "rmig:scale".
        """
        self.check([setting], [metric])
        metric, after = metric_and_part(metric, self.higher_is_better)
        of = of or after
        found = self._by_question.get((setting, metric, of, scoring), {})
        return {seed: value for seed, value in found.items() if not math.isnan(value)}

    def of_seeds(self, setting: str, metric: str, of: str = "") -> list[float]:
        """Returns the scores of all seeds of a setting as a list (see `values`)."""
        return list(self.values(setting, metric, of).values())

    def under(self, scoring: str) -> "StudyScores":
        """Returns only the scores of this scoring, as the first scoring."""
        numbers = tuple(number._replace(scoring="") for number in self.numbers if number.scoring == scoring)
        return replace(self, numbers=numbers, over=None)

    def runs_of(self, setting: str) -> list[ScoredRun]:
        """Returns the runs of a setting, sorted by seed."""
        return self._runs_by_setting.get(setting, [])

    def check(self, settings: Sequence[str] = (), metrics: Sequence[str] = ()) -> None:
        """Raises UnbraidError if the study does not have one of these settings or metrics."""
        for label in settings:
            if label not in self.families:
                raise UnbraidError(f"The study has no setting {label!r}. {suggestion(label, self.settings)}")
        for metric in metrics:
            if metric_and_part(metric, self.higher_is_better)[0] not in self.higher_is_better:
                raise UnbraidError(f"The study has no metric {metric!r}. {suggestion(metric, self.metrics)}")

    def with_any_score(self, metric: str) -> list[str]:
        """Returns the settings with at least one scored seed, in study order."""
        return [label for label in self.settings if self.values(label, metric)]

    @functools.cached_property
    def factors(self) -> dict[str, list[str]]:
        """The factors of each metric in the first scoring: all factors with a number in at least one run."""
        if self.over is not None:
            return {metric: list(names) for metric, names in self.over.items()}
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for number in self.numbers:
            if number.quantity == "factor" and not number.scoring and not math.isnan(number.value):
                found[number.metric][number.of] = None
        return {metric: list(names) for metric, names in found.items()}

    @functools.cached_property
    def _by_question(self) -> dict[tuple[str, str, str, str], dict[int, float]]:
        found: dict[tuple[str, str, str, str], dict[int, float]] = defaultdict(dict)
        for number in self.numbers:
            found[number.setting, number.metric, number.of, number.scoring][number.seed] = number.value
        return found

    @functools.cached_property
    def _runs_by_setting(self) -> dict[str, list[ScoredRun]]:
        found: dict[str, list[ScoredRun]] = defaultdict(list)
        for run in sorted(self.runs, key=lambda run: run.seed):
            found[run.setting].append(run)
        return found


def metric_and_part(name: str, metrics: Collection[str]) -> tuple[str, str]:
    """Splits a name such as "zdiff:svm:scale" into a metric and its part or factor: ("zdiff:svm", "scale")."""
    if name in metrics:
        return name, ""
    metric, _, of = name.rpartition(":")
    return (metric, of) if metric in metrics else (name, "")
