"""The plan of a study: the fleets to train, the runs to score, and their estimated time and disk space."""

import functools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, final

import torch

from unbraid._internal.memory import no_garbage_collection
from unbraid.studies.claims.claim import Claim
from unbraid.studies.claims.judgment import LEVEL
from unbraid.studies.claims.quantities import MIN_SEEDS, computed
from unbraid.studies.index import read_records
from unbraid.studies.requirements import Questions
from unbraid.studies.run_records import RunRecord
from unbraid.studies.study import Setting, Study, StudyRun
from unbraid.training.batches import load_or_stream
from unbraid.training.budgets import seconds_per_step
from unbraid.training.runs.spec import RunSpec
from unbraid.training.state import Member, fleet_key

Need = Literal["training", "scoring", "nothing", "failed"]
"""The remaining work of a run. A run with a missing score and removed codes needs "training" again."""

_BYTES_OF_RECORDS = 200_000  # history, scores with tables, spec, log


@final
@dataclass(frozen=True)
class StudyFleet:
    """Runs of a study that are trained side by side. Fleets with the same `kind` take the same time per model."""

    runs: tuple[StudyRun, ...]
    kind: str

    @property
    def spec(self) -> RunSpec:
        return self.runs[0].setting.spec


@final
@dataclass(frozen=True)
class StudyPlan:
    """All fleets of a study. By run name: the record, the remaining work, and the error of a damaged record."""

    fleets: tuple[StudyFleet, ...]
    records: Mapping[str, RunRecord]
    needs: Mapping[str, Need]
    damaged: Mapping[str, str]

    def runs_that_need(self, *needs: Need) -> list[StudyRun]:
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
        """The fleets with at least one run to train."""
        return [fleet for fleet in self.fleets if any(self.needs[each.name] == "training" for each in fleet.runs)]


def plan_study(study: Study, folder: Path) -> StudyPlan:
    """Returns the remaining work of a study, according to the records of its runs in the folder."""
    with no_garbage_collection():
        placed, questions = study.runs(folder), Questions(study)
        records, damaged = read_records(folder, [each.name for each in placed], "questions")
        needs: dict[str, Need] = {}
        for each in placed:
            record = records[each.name]
            if record.state == "failed":
                needs[each.name] = "failed"
            elif record.state == "finished" and not questions.missing(each.setting.spec, record):
                needs[each.name] = "nothing"
            else:
                needs[each.name] = "scoring" if record.state == "finished" and record.has_arrays else "training"
        return StudyPlan(tuple(_fleets_of(study, placed)), records, needs, damaged)


def _fleets_of(study: Study, placed: Sequence[StudyRun]) -> list[StudyFleet]:
    """Groups all runs of the study into fleets. Finished runs are included, so that the fleets never change.

    The fleets with the first seeds come first, so that an interrupted study has similar numbers of runs per setting.
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


def bytes_to_come(study: Study, plan: StudyPlan) -> tuple[int, int]:
    """Estimates the disk space of the runs to train, in bytes: the peak, and the space after removal of arrays."""
    sizes: dict[str, int] = {}
    for setting in study.settings:
        spec = setting.spec
        with torch.device("meta"):
            model = spec.model.build(spec.dataset.image_shape, 0)
        weights = sum(parameter.numel() for parameter in model.parameters()) * spec.dtype.itemsize
        columns = 2 * spec.model.latents.num_columns * spec.dtype.itemsize + 8 * len(spec.dataset.factors)
        sizes[setting.label] = weights + columns * spec.dataset.num_images + _BYTES_OF_RECORDS
    by_setting = Counter(each.setting.label for each in plan.runs_that_need("training"))
    everything = sum(sizes[label] * count for label, count in by_setting.items())
    if study.keep == "all":
        return everything, everything
    records = sum(by_setting.values()) * _BYTES_OF_RECORDS
    if study.keep == "best":
        return everything, records + sum(sizes[label] for label in by_setting)
    most = max((sum(sizes[each.setting.label] for each in fleet.runs) for fleet in plan.to_train), default=0)
    return records + most, records


@final
class Speed:
    """Estimator of training time, from previous fleets of the same kind or from a few timed steps."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._per_model_step: dict[str, float] = {}

    def learn(self, fleet: StudyFleet, seconds: float) -> None:
        """Records the training time of a whole fleet, for estimates of fleets of the same kind."""
        self._per_model_step[fleet.kind] = seconds / (fleet.spec.num_steps * len(fleet.runs))

    def seconds(self, fleet: StudyFleet, num_models: int) -> float:
        """Estimates the seconds to train `num_models` models of a fleet. Times a few steps if its kind is new."""
        if fleet.kind not in self._per_model_step:
            self._per_model_step[fleet.kind] = self._measured(fleet)
        return self._per_model_step[fleet.kind] * fleet.spec.num_steps * num_models

    def _measured(self, fleet: StudyFleet) -> float:
        """Times a few compiled training steps of a fleet. Returns the seconds per model and step."""
        members = [Member(each.setting.spec, each.seed) for each in fleet.runs]
        return seconds_per_step(members, load_or_stream(fleet.spec, self._device)) / len(members)


@final
class Undecidable(NamedTuple):
    """A claim that the planned seeds cannot support, because its smallest possible p-value exceeds `level`.

    `seeds_needed` is the sufficient number of seeds per setting, or None if fewer than 200 seeds do not suffice.
    """

    claim: Claim
    smallest_p: float
    level: float
    seeds_needed: int | None


def undecidable(claims: Sequence[Claim], num_seeds: Mapping[str, int]) -> list[Undecidable]:
    """Returns the claims that cannot be supported with these numbers of seeds per setting, whatever the scores."""
    tested = [claim for claim in claims if not isinstance(claim.quantity, computed)]
    level = LEVEL / max(1, len(tested))
    found = []
    for claim in tested:
        if (smallest := claim.smallest_p(num_seeds)) > level:
            labels = claim.quantity.settings_used
            enough = (n for n in range(MIN_SEEDS, 200) if claim.smallest_p(dict.fromkeys(labels, n)) <= level)
            found.append(Undecidable(claim, smallest, level, next(enough, None)))
    return found
