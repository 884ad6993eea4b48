"""Calculation: numbers that need no training, case by case."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from unbraid.data.dataset import FactorDataset
from unbraid.display import shown
from unbraid.errors import SpecError, UnbraidError
from unbraid.events import Event, part_of, tell
from unbraid.papers.work import Progress, claims_to_json, digest_of
from unbraid.runs.run import Run
from unbraid.studies.circumstances import Circumstances
from unbraid.studies.claims import Claim
from unbraid.studies.evidence import Evidence
from unbraid.studies.execute import StudyOptions
from unbraid.studies.study import Keep, Study, check_labels
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores

_FOLDER = "calculations"


@final
@dataclass(frozen=True)
class Calculation:
    """Cases, each with seeds of its own, and a function that returns the numbers of one: by the name of the metric, or
    by "metric:of" for a part of it. A case and a seed is what a run is in a study, and its numbers are kept alike.

    `version` counts up when the function computes something else, so that earlier evidence is refused. `size` says at
    which scale it is, where the function computes something else at another: numbers of one are never taken for those
    of the other.
    """

    name: str
    cases: Mapping[str, tuple[int, ...]]
    """The seeds by the label of the case."""
    metrics: Mapping[str, bool | None]
    """Whether higher is better, by metric."""
    compute: Callable[[str, int], Mapping[str, float]]
    claims: tuple[Claim, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)
    version: int = 1
    size: str = ""
    reads: tuple[FactorDataset, ...] = ()
    """The data sets that it opens and that only the user can have."""

    def __post_init__(self) -> None:
        for claim in self.claims:
            claim.check(list(self.cases), list(self.metrics))

    @property
    def num_runs(self) -> int:
        return sum(map(len, self.cases.values()))

    def definition(self) -> Any:
        return {
            "cases": [[label, list(seeds)] for label, seeds in self.cases.items()],
            "metrics": dict(self.metrics),
            "version": self.version,
            "claims": claims_to_json(self.claims),
            **({"size": self.size} if self.size else {}),
        }

    def run(self, folder: Path, options: StudyOptions) -> Progress:
        scores, failures, num_done = self.scores(folder), dict[str, str](), 0
        done = {(run.setting, run.seed) for run in scores.runs}
        check_labels(options.settings, self.cases, self.name)
        asked = {label: seeds for label, seeds in self.cases.items() if label in (options.settings or self.cases)}
        waiting = [(label, seed) for label, seeds in asked.items() for seed in seeds if (label, seed) not in done]
        began = time.monotonic()
        with shown(options.progress), part_of(Event(self.name, 0, 1)):
            for place, (label, seed) in enumerate(waiting):
                tell(Event(self.name, place, len(waiting), "cases"))
                if options.budget is not None and time.monotonic() - began > options.budget:
                    return Progress(0, num_done, failures, len(waiting) - place)
                try:
                    scores = self._with(scores, label, seed)
                except UnbraidError as error:
                    if options.fail_fast:
                        raise
                    failures[f"{label}-{seed}"] = str(error)
                    continue
                self._path(folder).parent.mkdir(parents=True, exist_ok=True)
                Evidence(digest_of(self), scores, Circumstances.now().to_json()).save(self._path(folder))
                num_done += 1
        return Progress(0, num_done, failures)

    def scores(self, folder: Path) -> StudyScores:
        path = self._path(folder)
        if not path.exists():
            return self.empty()
        found = Evidence.load(path)
        return found.scores if found.study == digest_of(self) else self.empty()

    def empty(self) -> StudyScores:
        return StudyScores(
            settings=tuple(self.cases),
            families={label: self.families.get(label, label) for label in self.cases},
            metrics=tuple(self.metrics),
            higher_is_better=dict(self.metrics),
            runs=(),
            numbers=(),
        )

    def runs(self, folder: Path) -> list[Run]:
        """Returns no runs: nothing is trained."""
        return []

    @property
    def studies(self) -> tuple[Study, ...]:
        return ()

    def datasets(self) -> Sequence[FactorDataset]:
        return self.reads

    def keeping(self, keep: Keep) -> "Calculation":
        """Returns itself: a case leaves nothing but its numbers."""
        return self

    def _path(self, folder: Path) -> Path:
        return folder / _FOLDER / f"{'-'.join(filter(None, (self.name, self.size)))}.json"

    def _with(self, scores: StudyScores, label: str, seed: int) -> StudyScores:
        """Returns the scores and those of one case more."""
        began, run = time.monotonic(), f"{label}-{seed}"
        found = self.compute(label, seed)
        numbers = []
        for name, value in found.items():
            metric, _, of = name.partition(":")
            if metric not in self.metrics:
                raise SpecError(f"{self.name} computed {metric!r}, which is none of {', '.join(self.metrics)}.")
            nan = float("nan")
            numbers.append(Number(label, seed, metric, "", "part" if of else "value", of, float(value), nan, nan, run))
        ran = ScoredRun(label, seed, run, "finished", time.monotonic() - began)
        return StudyScores(
            scores.settings,
            scores.families,
            scores.metrics,
            scores.higher_is_better,
            (*scores.runs, ran),
            (*scores.numbers, *numbers),
        )
