"""Work: what an item trains or computes, in pieces that can be interrupted, and the claims that its scores decide."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, final

from unbraid import files
from unbraid.data.dataset import FactorDataset
from unbraid.errors import SpecError
from unbraid.recipes import to_json
from unbraid.runs.run import Run
from unbraid.studies.claims import Claim
from unbraid.studies.collect import collect
from unbraid.studies.execute import Outcome, StudyOptions, run_study
from unbraid.studies.statistics import median
from unbraid.studies.study import Keep, Setting, Study
from unbraid.studies.study_scores import StudyScores


@final
@dataclass(frozen=True)
class Progress:
    """What a call of `Work.run` did. `failures` says by run why it has no scores, or not all; `num_left` runs were not
    begun, because the budget was too short.
    """

    num_trained: int = 0
    num_scored: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)
    num_left: int = 0

    @classmethod
    def of(cls, outcome: Outcome) -> "Progress":
        """Returns what was done for a study."""
        left = sum(len(fleet.runs) for fleet in outcome.not_begun)
        return cls(outcome.num_trained, outcome.num_scored, outcome.failures, left)

    def and_then(self, later: "Progress") -> "Progress":
        """Returns what was done by both calls."""
        return Progress(
            self.num_trained + later.num_trained,
            self.num_scored + later.num_scored,
            {**self.failures, **later.failures},
            later.num_left,
        )


class Work(Protocol):
    """Something that can be run, again and again until it is finished, and that then has scores."""

    @property
    def name(self) -> str:
        """Returns its name, which names files."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Returns the claims that its scores decide."""

    @property
    def num_runs(self) -> int:
        """Returns how many runs there are in all."""

    def definition(self) -> Any:
        """Returns what makes the work what it is, as JSON: settings, seeds, metrics and claims."""

    def run(self, folder: Path, options: StudyOptions) -> Progress:
        """Does what is missing, within the options, and returns what was done."""

    def scores(self, folder: Path) -> StudyScores:
        """Returns the scores that are there so far."""

    def empty(self) -> StudyScores:
        """Returns the scores of no run: the settings and the metrics that there will be."""

    def runs(self, folder: Path) -> list[Run]:
        """Returns the runs under the folder that it may train, made or not."""

    @property
    def studies(self) -> tuple[Study, ...]:
        """Returns the studies that ask for these runs, as far as they are known before any is trained."""

    def datasets(self) -> Sequence[FactorDataset]:
        """Returns the data sets that it reads, each once."""

    def keeping(self, keep: Keep) -> "Work":
        """Returns this work, which leaves no more of a run than this once it is scored."""


def digest_of(work: Work) -> str:
    """Returns the digest of the definition of the work. Scores belong to one definition only."""
    return files.seal(work.definition())


def measured_by(work: Work) -> str:
    """Returns the digest of what is measured: the definition of the work without its claims."""
    return files.seal({name: part for name, part in work.definition().items() if name != "claims"})


def claims_to_json(claims: Sequence[Claim]) -> list[Any]:
    """Returns the claims without their sentences, which may be worded better later. A control says that it is one."""
    return [
        {name: value for name, value in to_json(claim).items() if name != "is_control" or value} | {"sentence": ""}
        for claim in claims
    ]


@final
@dataclass(frozen=True)
class StudyWork:
    """A study whose runs are trained and scored."""

    study: Study

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.study.claims

    @property
    def num_runs(self) -> int:
        return self.study.num_runs

    def definition(self) -> Any:
        return {
            "settings": [_setting_to_json(setting) for setting in self.study.settings],
            "metrics": [m if isinstance(m, str) else to_json(m) for m in self.study.metrics],
            "scorings": [scoring.changes() for scoring in self.study.scorings],
            "claims": claims_to_json(self.study.claims),
        }

    def run(self, folder: Path, options: StudyOptions) -> Progress:
        return Progress.of(run_study(self.study, folder, options))

    def scores(self, folder: Path) -> StudyScores:
        return collect(self.study, folder)

    def empty(self) -> StudyScores:
        return _empty(self.study)

    def runs(self, folder: Path) -> list[Run]:
        return [each.run for each in self.study.runs(folder)]

    @property
    def studies(self) -> tuple[Study, ...]:
        return (self.study,)

    def datasets(self) -> Sequence[FactorDataset]:
        return _datasets(self.study.settings)

    def keeping(self, keep: Keep) -> "StudyWork":
        return replace(self, study=replace(self.study, keep=keep))


@final
@dataclass(frozen=True)
class TunedWork:
    """A study with one more setting, which is first chosen: the candidate with the best median of a metric on seeds of
    its own. Its runs in the study have other seeds, so that the choice is not tested on what it was made by.
    """

    study: Study
    """The study without the chosen setting."""
    chosen: str
    """The label of the chosen setting."""
    candidates: tuple[Setting, ...]
    seeds: tuple[int, ...]
    """The seeds of the chosen setting."""
    metric: str
    claims: tuple[Claim, ...]

    def __post_init__(self) -> None:
        for candidate in self.candidates:
            if shared := set(candidate.seeds) & set(self.seeds):
                raise SpecError(
                    f"{candidate.label} is tuned on the seed {min(shared)}, on which the chosen setting is then tested."
                )
        labels = [setting.label for setting in self.study.settings] + [self.chosen]
        for claim in self.claims:
            claim.check(labels, self.study.asked)

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def tuning(self) -> Study:
        """Returns the study that tunes: the candidates alone, of which scores are kept and nothing else."""
        return replace(self.study, name=f"{self.name}-tuning", settings=self.candidates, claims=(), keep="scores")

    @property
    def num_runs(self) -> int:
        return self.tuning.num_runs + self.study.num_runs + len(self.seeds)

    def definition(self) -> Any:
        return {
            **StudyWork(self.study).definition(),
            "candidates": [_setting_to_json(setting) for setting in self.candidates],
            "chosen": [self.chosen, list(self.seeds), self.metric],
            "claims": claims_to_json(self.claims),
        }

    def run(self, folder: Path, options: StudyOptions) -> Progress:
        if options.settings:
            both = replace(self.study, settings=(*self.study.settings, *self.candidates), claims=())
            return Progress.of(run_study(both, folder, options))
        began = time.monotonic()
        first = Progress.of(run_study(self.tuning, folder, options))
        tuning = collect(self.tuning, folder)
        if not self._is_tuned(tuning):
            return replace(first, num_left=first.num_left + self.study.num_runs + len(self.seeds))
        left = None if options.budget is None else options.budget - (time.monotonic() - began)
        then = run_study(self._settled(tuning), folder, replace(options, budget=left))
        return first.and_then(Progress.of(then))

    def scores(self, folder: Path) -> StudyScores:
        tuning = collect(self.tuning, folder)
        if self._is_tuned(tuning):
            then = collect(self._settled(tuning), folder)
        else:
            then = self._without_choice(collect(self.study, folder))
        return replace(
            then,
            settings=(*then.settings, *tuning.settings),
            families={**then.families, **tuning.families},
            runs=(*then.runs, *tuning.runs),
            numbers=(*then.numbers, *tuning.numbers),
        )

    def empty(self) -> StudyScores:
        found = _empty(replace(self.study, settings=(*self.study.settings, *self.candidates)))
        return self._without_choice(found)

    def runs(self, folder: Path) -> list[Run]:
        settled = tuple(replace(candidate, seeds=self.seeds) for candidate in self.candidates)
        studies = (self.study, self.tuning, replace(self.tuning, settings=settled))
        return [each.run for study in studies for each in study.runs(folder)]

    @property
    def studies(self) -> tuple[Study, ...]:
        return (self.study, self.tuning)

    def datasets(self) -> Sequence[FactorDataset]:
        return _datasets((*self.study.settings, *self.candidates))

    def keeping(self, keep: Keep) -> "TunedWork":
        return replace(self, study=replace(self.study, keep=keep))

    def _is_tuned(self, tuning: StudyScores) -> bool:
        """Returns whether every candidate has a score to be chosen by."""
        return all(tuning.values(candidate.label, self.metric) for candidate in self.candidates)

    def _without_choice(self, scores: StudyScores) -> StudyScores:
        """Returns scores with the chosen setting, of which there are none yet."""
        families = {**scores.families, self.chosen: self.candidates[0].family}
        return replace(scores, settings=(*scores.settings, self.chosen), families=families)

    def _settled(self, tuning: StudyScores) -> Study:
        """Returns the study with the chosen setting, by the scores of the candidates."""
        sign = -1.0 if self.study.asked[self.metric].higher_is_better is False else 1.0

        def quality(setting: Setting) -> float:
            return sign * median(list(tuning.values(setting.label, self.metric).values())).value

        best = max(self.candidates, key=quality)
        setting = Setting(self.chosen, best.spec, self.seeds, best.family)
        return replace(self.study, settings=(*self.study.settings, setting), claims=self.claims)


def _datasets(settings: Sequence[Setting]) -> list[FactorDataset]:
    return list(dict.fromkeys(setting.spec.dataset for setting in settings))


def _setting_to_json(setting: Setting) -> Any:
    return [setting.label, setting.spec.digest, list(setting.seeds), setting.family]


def _empty(study: Study) -> StudyScores:
    higher: Mapping[str, bool | None] = {name: metric.higher_is_better for name, metric in study.asked.items()}
    return StudyScores(
        settings=tuple(setting.label for setting in study.settings),
        families={setting.label: setting.family for setting in study.settings},
        metrics=tuple(higher),
        higher_is_better=higher,
        runs=(),
        numbers=(),
    )
