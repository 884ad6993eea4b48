"""Examination: what the trained models of a study are asked beyond scores of their codes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import torch

from unbraid.data.dataset import FactorDataset
from unbraid.display import shown
from unbraid.errors import SpecError, UnbraidError
from unbraid.events import Event, part_of, tell
from unbraid.papers.work import Progress, StudyWork, claims_to_json, digest_of
from unbraid.runs.history import is_latent_column
from unbraid.runs.run import Run
from unbraid.runs.run_writer import RunWriter
from unbraid.studies.circumstances import Circumstances
from unbraid.studies.claims import Claim
from unbraid.studies.evidence import Evidence
from unbraid.studies.execute import StudyOptions, run_study
from unbraid.studies.study import Keep, Setting, Study, StudyRun
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores

_FOLDER = "examinations"

Numbers = Mapping[str, float]
Examine = Callable[[Mapping[int, Run], torch.device], Mapping[int, Numbers]]


@final
@dataclass(frozen=True)
class ExaminedWork:
    """A study whose trained models are then examined: `examine` is given the finished runs of a setting by seed, and
    the device that the work runs on; it returns the numbers of each run, by the name of the metric or by "metric:of"
    for a part of it. It may decode, read histories or compare runs, which no metric of codes does.

    Weights and codes stay until all settings are examined, then what the study keeps of them. `version` counts up when
    the function computes something else, so that earlier evidence is refused.
    """

    study: Study
    metrics: Mapping[str, bool | None]
    """Whether higher is better, by metric that is examined."""
    examine: Examine
    claims: tuple[Claim, ...] = ()
    version: int = 1
    latent_information_every: int | None = None
    """After how many steps the history has the information of each latent; None where it is not read."""

    def __post_init__(self) -> None:
        labels = [setting.label for setting in self.study.settings]
        for claim in self.claims:
            claim.check(labels, [*self.study.asked, *self.metrics])

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def num_runs(self) -> int:
        return self.study.num_runs

    def definition(self) -> Any:
        return {
            **StudyWork(self.study).definition(),
            "examined": [dict(self.metrics), self.version, self.latent_information_every],
            "claims": claims_to_json(self.claims),
        }

    def run(self, folder: Path, options: StudyOptions) -> Progress:
        known, study = self._examined(folder), self.study.only(options.settings)
        for each in study.runs(folder):
            if each.name not in known and not self._can_be_examined(each.run):
                RunWriter(each.run).put_aside()
        options = replace(options, latent_information_every=self.latent_information_every)
        trained = Progress.of(run_study(replace(self.study, keep="all"), folder, options))
        failures, num_examined = dict[str, str](), 0
        with shown(options.progress), part_of(Event(self.name, 0, 1)):
            for place, setting in enumerate(study.settings):
                tell(Event(f"examining {self.name}", place, len(study.settings), "settings"))
                try:
                    num_examined += self._examine(setting, folder, options.device_here)
                except UnbraidError as error:
                    if options.fail_fast:
                        raise
                    failures[setting.label] = str(error)
        if not (trained.num_left or failures) and self.study.keep != "all":
            run_study(self.study, folder, replace(options, num_scorers=0, budget=None))  # lets go of what may go
        return trained.and_then(Progress(0, num_examined, failures, trained.num_left))

    def scores(self, folder: Path) -> StudyScores:
        found = StudyWork(self.study).scores(folder)
        numbers = tuple(number for _, of_run in self._examined(folder).values() for number in of_run)
        return self._with_metrics(replace(found, numbers=(*found.numbers, *numbers)))

    def empty(self) -> StudyScores:
        return self._with_metrics(StudyWork(self.study).empty())

    def runs(self, folder: Path) -> list[Run]:
        return StudyWork(self.study).runs(folder)

    @property
    def studies(self) -> tuple[Study, ...]:
        return (self.study,)

    def datasets(self) -> Sequence[FactorDataset]:
        return StudyWork(self.study).datasets()

    def keeping(self, keep: Keep) -> "ExaminedWork":
        return replace(self, study=replace(self.study, keep=keep))

    def _with_metrics(self, scores: StudyScores) -> StudyScores:
        return replace(
            scores,
            metrics=(*scores.metrics, *self.metrics),
            higher_is_better={**scores.higher_is_better, **self.metrics},
        )

    def _can_be_examined(self, run: Run) -> bool:
        """Returns whether a run is still to be trained, or has all that is read of it."""
        if run.status != "finished":
            return True
        lacks_history = self.latent_information_every and not any(map(is_latent_column, run.history.columns))
        return not (run.let_go or lacks_history)

    def _examine(self, setting: Setting, folder: Path, device: torch.device) -> int:
        """Examines a setting whose runs are all at their end, unless it is done, and returns how many runs it has."""
        placed = [each for each in self.study.runs(folder) if each.setting.label == setting.label]
        finished = {each.seed: each for each in placed if each.run.status == "finished"}
        known = self._examined(folder)
        if all(each.name in known for each in finished.values()) or any(
            each.run.status not in ("finished", "failed") for each in placed
        ):
            return 0
        found = self.examine({seed: each.run for seed, each in finished.items()}, device)
        known |= {each.name: self._numbers(each, found[seed]) for seed, each in finished.items()}
        scores = replace(
            self.empty(),
            runs=tuple(run for run, _ in known.values()),
            numbers=tuple(number for _, numbers in known.values() for number in numbers),
        )
        self._path(folder).parent.mkdir(parents=True, exist_ok=True)
        Evidence(digest_of(self), scores, Circumstances.now().to_json()).save(self._path(folder))
        return len(finished)

    def _numbers(self, of: StudyRun, found: Numbers) -> tuple[ScoredRun, list[Number]]:
        label, numbers = of.setting.label, []
        for name, value in found.items():
            metric, _, part = name.partition(":")
            if metric not in self.metrics:
                raise SpecError(f"{self.name} examined {metric!r}, which is none of {', '.join(self.metrics)}.")
            ends = (math.nan, math.nan, of.name)
            numbers.append(Number(label, of.seed, metric, "", "part" if part else "value", part, float(value), *ends))
        return ScoredRun(label, of.seed, of.name, "finished"), numbers

    def _examined(self, folder: Path) -> dict[str, tuple[ScoredRun, list[Number]]]:
        """Returns what is known of each run that was examined, by its name."""
        path = self._path(folder)
        if not path.exists() or (evidence := Evidence.load(path)).study != digest_of(self):
            return {}
        found: dict[str, tuple[ScoredRun, list[Number]]] = {run.run: (run, []) for run in evidence.scores.runs}
        for number in evidence.scores.numbers:
            found[number.run][1].append(number)
        return found

    def _path(self, folder: Path) -> Path:
        return folder / _FOLDER / f"{self.name}.json"


def of_all(examine: Callable[[Mapping[int, Run]], Mapping[int, Numbers]]) -> Examine:
    """Returns what examines the runs of a setting together."""
    return lambda runs, device: examine(runs)


def of_each(examine: Callable[[Run], Numbers]) -> Examine:
    """Returns what examines run after run, each by itself."""
    return lambda runs, device: {seed: examine(run) for seed, run in runs.items()}


def of_each_on_device(examine: Callable[[Run, torch.device], Numbers]) -> Examine:
    """Returns what examines run after run, each by itself, on the device that the work runs on."""
    return lambda runs, device: {seed: examine(run, device) for seed, run in runs.items()}
