"""What a study still has to do: which runs are trained in which fleets, which are scored, and what that takes."""

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import torch

from unbraid.memory import no_garbage_collection
from unbraid.runs.spec import RunSpec
from unbraid.studies.index import Index
from unbraid.studies.questions import Questions
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Setting, Study, StudyRun
from unbraid.training.state import fleet_key

Need = Literal["training", "scoring", "nothing", "failed"]
"""What a run needs: "training" also if a score is asked of it whose codes were let go."""

_BYTES_OF_RECORDS = 200_000  # history, scores with their tables, spec, log


@final
@dataclass(frozen=True)
class StudyFleet:
    """Runs that are trained side by side, from the first step to the last. `kind` is the same for fleets whose steps
    take equally long per model.
    """

    runs: tuple[StudyRun, ...]
    kind: str

    @property
    def spec(self) -> RunSpec:
        return self.runs[0].setting.spec

    @property
    def num_steps(self) -> int:
        return self.spec.num_steps


@final
@dataclass(frozen=True)
class StudyPlan:
    """Every fleet of a study, and what each run needs, by its name."""

    fleets: tuple[StudyFleet, ...]
    records: Mapping[str, RunRecord]
    needs: Mapping[str, Need]
    damaged: Mapping[str, str]

    def those_that_need(self, *needs: Need) -> list[StudyRun]:
        return [each for fleet in self.fleets for each in fleet.runs if self.needs[each.name] in needs]

    def runs_of(self, setting: Setting) -> list[StudyRun]:
        """Returns the runs of a setting."""
        return self._by_setting[setting.label]

    @functools.cached_property
    def _by_setting(self) -> dict[str, list[StudyRun]]:
        found: dict[str, list[StudyRun]] = defaultdict(list)
        for fleet in self.fleets:
            for each in fleet.runs:
                found[each.setting.label].append(each)
        return found

    @property
    def to_train(self) -> list[StudyFleet]:
        """Returns the fleets of which at least one run is to be trained."""
        return [fleet for fleet in self.fleets if any(self.needs[each.name] == "training" for each in fleet.runs)]

    @property
    def model_steps(self) -> int:
        """Returns the steps of all models that are to be trained."""
        return sum(each.setting.spec.num_steps for each in self.those_that_need("training"))


def plan_study(study: Study, folder: Path) -> StudyPlan:
    """Returns what is left to do of the study, by what its runs under the folder say."""
    with no_garbage_collection():
        placed, questions = study.runs(folder), Questions(study)
        with Index(folder) as index:
            records = index.records([each.name for each in placed], "questions")
        needs = {each.name: need_of(each, records[each.name], questions) for each in placed}
        return StudyPlan(tuple(fleets_of(study, placed)), records, needs, index.damaged)


def need_of(of: StudyRun, record: RunRecord, questions: Questions) -> Need:
    """Returns what a run needs before all questions have an answer."""
    if record.state == "failed":
        return "failed"
    if record.state != "finished":
        return "training"
    if not questions.missing(of.setting.spec, record):
        return "nothing"
    return "scoring" if record.has_arrays else "training"


def fleets_of(study: Study, placed: Sequence[StudyRun]) -> list[StudyFleet]:
    """Returns all runs of the study in its fleets, finished or not, so that the same study always has the same ones.
    The first seeds of all settings come first: whenever it is stopped, settings have about equally many.
    """
    keys = {setting.label: fleet_key(setting.spec) for setting in study.settings}
    kinds: dict[str, list[StudyRun]] = defaultdict(list)
    for each in placed:
        kinds[keys[each.setting.label]].append(each)
    most = study.members_per_fleet
    fleets = [
        (start, StudyFleet(tuple(runs[start : start + most]), kind))
        for kind, runs in kinds.items()
        for start in range(0, len(runs), most)
    ]
    return [fleet for _, fleet in sorted(fleets, key=lambda pair: pair[0])]


def bytes_of(spec: RunSpec) -> int:
    """Returns about what weights, codes and records of one finished run take on disk."""
    with torch.device("meta"):
        model = spec.model.build(spec.dataset.image_shape, 0)
    weights = sum(parameter.numel() for parameter in model.parameters()) * spec.dtype.itemsize
    columns = 2 * spec.model.latents.num_columns * spec.dtype.itemsize + 8 * len(spec.dataset.factors)
    return weights + columns * spec.dataset.num_images + _BYTES_OF_RECORDS


def bytes_to_come(study: Study, plan: StudyPlan) -> tuple[int, int]:
    """Returns how many bytes the runs that are to be trained take at most at one time, and at the end."""
    sizes = {setting.label: bytes_of(setting.spec) for setting in study.settings}
    by_setting: dict[str, int] = defaultdict(int)
    for each in plan.those_that_need("training"):
        by_setting[each.setting.label] += 1
    everything = sum(sizes[label] * count for label, count in by_setting.items())
    if study.keep == "all":
        return everything, everything
    records = sum(by_setting.values()) * _BYTES_OF_RECORDS
    if study.keep == "best":
        return everything, records + sum(sizes[label] for label in by_setting)
    most = max((sum(sizes[each.setting.label] for each in fleet.runs) for fleet in plan.to_train), default=0)
    return records + most, records
