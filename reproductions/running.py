"""Runs items: trains and scores what is missing, computes the rest, and keeps evidence."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import torch

from reproductions.evidence import Found, digest, find, keep
from reproductions.item import Experiment, Item, Numbers, Scale, with_metrics
from unbraid.errors import DataError, UnbraidError
from unbraid.studies import Evidence, Number, ScoredRun, Setting, Study, StudyOptions, StudyScores, collect, run_study

_NAN = float("nan")


@dataclass(frozen=True)
class Ran:
    """What a call did: the scores, why runs failed, how many were not begun, and where evidence was written."""

    found: Found
    failures: Mapping[str, str] = field(default_factory=dict)
    num_left: int = 0
    evidence: Path | None = None


def run_item(
    item: Item,
    data: str,
    scale: Scale,
    folder: Path,
    options: StudyOptions | None = None,
    *,
    evidence: Path | None = None,
    beside: Sequence[tuple[Item, str]] = (),
) -> Ran:
    """Trains and scores what is missing of an item. The same call continues after an interruption, and what items
    `beside` this one ask of shared runs is scored in the same pass.
    """
    options, began = options or StudyOptions(), time.monotonic()
    experiment = item.code.experiment(data, scale)
    _check_files(item, data, experiment)
    name = f"{item.id}-{data}-{scale}".replace("/", "-").lower()
    others = [
        other.code.experiment(key, scale).made_study(f"{other.id}-{key}-{scale}".replace("/", "-").lower())
        for other, key in beside
        if scale in other.data(key).scales and other.code.experiment(key, scale).settings
    ]
    run = _Run(experiment, name, folder, replace(options, beside=others))
    try:
        run.go()
    finally:
        written = _keep(item, data, scale, run, evidence, began)
    united = None if written is None else find(item, data, scale, evidence or folder / "evidence")
    return Ran(united or Found(item, data, scale, run.scores()), run.failures, run.num_left, written)


class _Run:
    """One call of `run_item`."""

    def __init__(self, experiment: Experiment, name: str, folder: Path, options: StudyOptions) -> None:
        self.experiment, self.name, self.folder, self.options = experiment, name, folder, options
        self.failures: dict[str, str] = {}
        self.num_left = 0
        self.study: Study | None = None

    def go(self) -> None:
        if self.experiment.compute is not None:
            self._compute()
        else:
            self._train()

    def scores(self) -> StudyScores:
        """Returns the scores that are there so far."""
        if self.experiment.compute is not None:
            return self._kept("computed") or _empty(self.experiment.cases)
        study = self.study or self.experiment.made_study(self.name)
        found = collect(study, self.folder)
        for other in (collect(self._tuning(), self.folder) if self.experiment.tuned else None, self._kept("examined")):
            if other is not None:
                found = _joined(with_metrics(found, other.metrics), other)
        return found

    def _compute(self) -> None:
        scores, began = self.scores(), time.monotonic()
        done = {(run.setting, run.seed) for run in scores.runs}
        asked = [(label, seed) for label, seeds in self.experiment.cases.items() for seed in seeds]
        waiting = [each for each in asked if each not in done and each[0] in (self.options.settings or [each[0]])]
        for place, (label, seed) in enumerate(waiting):
            if self.options.budget is not None and time.monotonic() - began > self.options.budget:
                self.num_left = len(waiting) - place
                return
            start = time.monotonic()
            try:
                assert self.experiment.compute is not None
                found = self.experiment.compute(label, seed)
            except UnbraidError as error:
                self.failures[f"{label}-{seed}"] = str(error)
                continue
            run = ScoredRun(label, seed, f"{label}-{seed}", "finished", time.monotonic() - start)
            scores = _with_numbers(scores, run, found)
            self._save("computed", scores)

    def _train(self) -> None:
        tuned, began = self.experiment.tuned, time.monotonic()
        options = replace(self.options, latent_information_every=self.experiment.latent_information_every)
        self.study = self.experiment.made_study(self.name)
        if tuned is not None and not options.settings:
            tuning = self._tuning()
            self._run(tuning, options)
            found = collect(tuning, self.folder)
            values = {each.label: found.of_seeds(each.label, tuned.metric) for each in tuned.candidates}
            if not all(values.values()):
                self.num_left += len(tuned.seeds) + self.study.num_runs
                return
            sign = -1.0 if found.higher_is_better[tuned.metric] is False else 1.0
            best = max(tuned.candidates, key=lambda each: sign * median(values[each.label]))
            chosen = Setting(tuned.label, best.spec, tuned.seeds, best.family)
            self.study = replace(self.study, settings=(*self.study.settings, chosen))
            if options.budget is not None:
                options = replace(options, budget=options.budget - (time.monotonic() - began))
        if self.experiment.examine is None:
            self._run(self.study, options)
            return
        known = {run.run for run in (self._kept("examined") or _empty(())).runs}
        self._archive_runs_without_codes(self.study, known)
        self._run(replace(self.study, keep="all"), options)
        for setting in self.study.only(options.settings).settings:
            try:
                self._examine(setting, known)
            except UnbraidError as error:
                self.failures[setting.label] = str(error)
        if not (self.num_left or self.failures) and self.study.keep != "all":
            run_study(self.study, self.folder, replace(options, num_scorers=0, budget=None))  # removes what may go

    def _run(self, study: Study, options: StudyOptions) -> None:
        outcome = run_study(study, self.folder, options)
        self.failures |= outcome.failures
        self.num_left += sum(len(fleet.runs) for fleet in outcome.not_begun)

    def _tuning(self) -> Study:
        assert self.experiment.tuned is not None
        study = self.experiment.made_study(self.name)
        return replace(study, name=f"{self.name}-tuning", settings=self.experiment.tuned.candidates, keep="scores")

    def _examine(self, setting: Setting, known: set[str]) -> None:
        """Examines a setting whose runs have all ended, unless it is done."""
        assert self.study is not None
        assert self.experiment.examine is not None
        placed = [each for each in self.study.runs(self.folder) if each.setting.label == setting.label]
        finished = {each.seed: each for each in placed if each.run.status == "finished"}
        is_over = all(each.run.status in ("finished", "failed") for each in placed)
        if not is_over or all(each.name in known for each in finished.values()):
            return
        found = self.experiment.examine({seed: each.run for seed, each in finished.items()}, _device(self.options))
        scores = self._kept("examined") or _empty([each.label for each in self.study.settings])
        for seed, each in finished.items():
            scores = _with_numbers(scores, ScoredRun(setting.label, seed, each.name, "finished"), found[seed])
        self._save("examined", scores)

    def _archive_runs_without_codes(self, study: Study, known: set[str]) -> None:
        """Puts finished runs aside whose codes an earlier study has removed: they are trained again."""
        for each in study.runs(self.folder):
            if each.name in known or each.run.status != "finished":
                continue
            try:
                each.run.codes()
            except UnbraidError:
                archive = self.folder / "archived"
                archive.mkdir(exist_ok=True)
                each.run.folder.rename(archive / f"{each.name}-{time.time_ns()}")

    def _place(self, kind: str) -> Path:
        return self.folder / kind / f"{self.name}.json"

    def _kept(self, kind: str) -> StudyScores | None:
        if not self._place(kind).exists():
            return None
        found = Evidence.load(self._place(kind))
        return found.scores if found.made_by.get("measured") == digest(self.experiment.measured()) else None

    def _save(self, kind: str, scores: StudyScores) -> None:
        self._place(kind).parent.mkdir(parents=True, exist_ok=True)
        Evidence(self.name, scores, {"measured": digest(self.experiment.measured())}).save(self._place(kind))


def _device(options: StudyOptions) -> torch.device:
    """Returns what examinations compute on."""
    is_auto = str(options.device) == "auto"
    return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if is_auto else options.device)


def _keep(item: Item, data: str, scale: Scale, run: _Run, evidence: Path | None, began: float) -> Path | None:
    scores = run.scores()
    if scale == "smoke" or not scores.numbers:
        return None
    pictures = None
    if item.code.pictures is not None and run.study is not None and not (run.num_left or run.failures or run.options.settings):
        pictures = item.code.pictures(run.experiment, run.study, run.folder)
    arguments = [word for label in run.options.settings for word in ("--setting", label)]
    place, seconds = evidence or run.folder / "evidence", time.monotonic() - began
    return keep(item, data, scale, scores, place, seconds=seconds, arguments=arguments, pictures=pictures)


def _with_numbers(scores: StudyScores, run: ScoredRun, found: Numbers) -> StudyScores:
    """Returns the scores and the numbers of one run more; a part of a metric follows its name."""
    numbers = []
    for name, value in found.items():
        metric, _, of = name.partition(":")
        kind = "part" if of else "value"
        numbers.append(Number(run.setting, run.seed, metric, "", kind, of, float(value), _NAN, _NAN, run.run))
    kept = with_metrics(scores, list(dict.fromkeys(number.metric for number in numbers)))
    runs = (*(each for each in kept.runs if each.run != run.run), run)
    return replace(kept, runs=runs, numbers=(*(n for n in kept.numbers if n.run != run.run), *numbers))


def _joined(scores: StudyScores, other: StudyScores) -> StudyScores:
    """Returns the scores with the numbers, and the runs and settings, that only the other has."""
    known = {run.run for run in scores.runs}
    families = {**other.families, **scores.families}
    return replace(
        scores,
        settings=tuple(dict.fromkeys((*scores.settings, *other.settings))),
        families=families,
        runs=(*scores.runs, *(run for run in other.runs if run.run not in known)),
        numbers=(*scores.numbers, *other.numbers),
    )


def _empty(labels: Sequence[str] | Mapping[str, object]) -> StudyScores:
    return StudyScores(tuple(labels), {label: label for label in labels}, (), {}, (), ())


def _check_files(item: Item, data: str, experiment: Experiment) -> None:
    """Raises if data are missing that only the user can have, and names the stand-ins."""
    needs = item.data(data).needs
    if not needs:
        return
    try:
        for dataset in dict.fromkeys((*(each.spec.dataset for each in experiment.settings), *experiment.reads)):
            dataset.open()
    except DataError as error:
        others = [key for key in item.on if not item.on[key].needs]
        offer = f"\nWithout them there is a stand-in: --data {others[0]}." if others else ""
        raise DataError(f"{item.id} needs {needs}: {error}{offer}") from None
