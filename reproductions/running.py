"""Runs items: trains and scores what is missing, computes the rest, and keeps evidence."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import torch

from reproductions.evidence import Found, find, keep
from reproductions.item import Experiment, Item, Numbers, Scale, with_metrics
from reproductions.scales import experiment_of
from unbraid.errors import DataError, UnbraidError
from unbraid.studies import Number, ScoredRun, Setting, Study, StudyOptions, StudyScores, collect, run_study

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
    experiment = experiment_of(item, data, scale)
    _check_files(item, data, experiment)
    others = [(experiment_of(other, key, scale), _name(other, key, scale)) for other, key in beside if scale in other.data(key).scales]
    options = replace(options, beside=[each.made_study(name) for each, name in others if each.settings])
    place = evidence or folder / "evidence"
    written, earlier = None, None
    with contextlib.suppress(UnbraidError):  # of another definition: `keep` renames it
        earlier = find(item, data, scale, place)
    run = _Run(experiment, _name(item, data, scale), folder, options, earlier)
    try:
        run.go()
    finally:
        scores = run.scores()
        if scale != "smoke" and scores.numbers:
            is_whole = not (run.num_left or run.failures or options.settings)
            pictures = item.code.pictures(experiment, run.study, folder) if item.code.pictures and run.study and is_whole else None
            arguments = [word for label in options.settings for word in ("--setting", label)]
            written = keep(item, data, scale, scores, place, seconds=time.monotonic() - began, arguments=arguments, pictures=pictures)
    united = find(item, data, scale, place) if written else None
    return Ran(united or Found(item, data, scale, scores), run.failures, run.num_left, written)


def tune_item(item: Item, data: str, num_seeds: int, folder: Path, options: StudyOptions) -> StudyScores:
    """Trains and scores the settings of an item at the scale `laptop` on seeds that are never tested, from 1000 on."""
    experiment, seeds = experiment_of(item, data, "laptop"), tuple(range(1000, 1000 + num_seeds))
    asked = (*experiment.settings, *(experiment.tuned.candidates if experiment.tuned else ()))
    study = replace(experiment.made_study(f"{_name(item, data, 'laptop')}-tune"), settings=tuple(replace(each, seeds=seeds) for each in asked))
    run_study(study, folder, options)
    return collect(study, folder)


def _name(item: Item, data: str, scale: Scale) -> str:
    return f"{item.id}-{data}-{scale}".replace("/", "-").lower()


class _Run:
    """One call of `run_item`. `earlier` is the evidence of an earlier one, of which nothing is computed again."""

    def __init__(self, experiment: Experiment, name: str, folder: Path, options: StudyOptions, earlier: Found | None) -> None:
        self.experiment, self.name, self.folder, self.options = experiment, name, folder, options
        self.failures: dict[str, str] = {}
        self.num_left = 0
        self.study: Study | None = experiment.made_study(name) if experiment.settings else None
        self.beside: dict[str, tuple[ScoredRun, dict[str, float]]] = {}
        """What was computed, or examined beside the scores of the study, by run."""
        of_study = self.study.metrics_by_name if self.study else {}
        for run in earlier.scores.runs if earlier else ():
            numbers = [each for each in earlier.scores.numbers if each.run == run.run and each.metric not in of_study] if earlier else []
            if numbers:
                self.beside[run.run] = (run, {n.metric + (f":{n.of}" if n.of else ""): n.value for n in numbers})

    def go(self) -> None:
        if self.experiment.compute is not None:
            self._compute()
        else:
            self._train()

    def scores(self) -> StudyScores:
        """Returns the scores that are there so far."""
        scores = _empty(self.experiment.cases)
        if self.study is not None:
            scores = collect(self.study, self.folder)
            if self.experiment.tuned is not None:
                scores = _joined(scores, collect(self._tuning(), self.folder))
        for run, numbers in self.beside.values():
            scores = _with_numbers(scores, run, numbers)
        return scores

    def _compute(self) -> None:
        assert self.experiment.compute is not None
        began = time.monotonic()
        asked = [(label, seed) for label, seeds in self.experiment.cases.items() for seed in seeds]
        waiting = [(label, seed) for label, seed in asked if f"{label}-{seed}" not in self.beside and label in (self.options.settings or [label])]
        for place, (label, seed) in enumerate(waiting):
            if self.options.budget is not None and time.monotonic() - began > self.options.budget:
                self.num_left = len(waiting) - place
                return
            start, name = time.monotonic(), f"{label}-{seed}"
            try:
                found = self.experiment.compute(label, seed)
            except UnbraidError as error:
                self.failures[name] = str(error)
                continue
            self.beside[name] = (ScoredRun(label, seed, name, "finished", time.monotonic() - start), dict(found))

    def _train(self) -> None:
        assert self.study is not None
        tuned, began = self.experiment.tuned, time.monotonic()
        options = replace(self.options, latent_information_every=self.experiment.latent_information_every)
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
        self._archive_runs_without_codes(self.study)
        self._run(replace(self.study, keep="all"), options)
        for setting in self.study.only(options.settings).settings:
            try:
                self._examine(self.study, setting)
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
        study = replace(self.experiment.made_study(self.name), name=f"{self.name}-tuning", settings=self.experiment.tuned.candidates)
        return study if study.keep == "all" else replace(study, keep="scores")

    def _examine(self, study: Study, setting: Setting) -> None:
        """Examines a setting whose runs have all ended, unless it is done."""
        assert self.experiment.examine is not None
        placed = [each for each in study.runs(self.folder) if each.setting.label == setting.label]
        finished = {each.seed: each for each in placed if each.run.status == "finished"}
        is_over = all(each.run.status in ("finished", "failed") for each in placed)
        if is_over and any(each.name not in self.beside for each in finished.values()):
            found = self.experiment.examine({seed: each.run for seed, each in finished.items()}, _device(self.options))
            for seed, each in finished.items():
                self.beside[each.name] = (ScoredRun(setting.label, seed, each.name, "finished"), dict(found[seed]))

    def _archive_runs_without_codes(self, study: Study) -> None:
        """Puts finished runs aside whose codes an earlier study has removed: they are trained again."""
        for each in study.runs(self.folder):
            if each.name in self.beside or each.run.status != "finished":
                continue
            try:
                each.run.codes()
            except UnbraidError:
                archive = self.folder / "archived"
                archive.mkdir(exist_ok=True)
                each.run.folder.rename(archive / f"{each.name}-{time.time_ns()}")


def _device(options: StudyOptions) -> torch.device:
    """Returns what examinations compute on."""
    is_auto = str(options.device) == "auto"
    return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if is_auto else options.device)


def _with_numbers(scores: StudyScores, run: ScoredRun, found: Numbers) -> StudyScores:
    """Returns the scores and more numbers of one run; a part of a metric follows its name."""
    numbers = []
    for name, value in found.items():
        metric, _, of = name.partition(":")
        kind = "part" if of else "value"
        numbers.append(Number(run.setting, run.seed, metric, "", kind, of, float(value), _NAN, _NAN, run.run))
    kept = with_metrics(scores, list(dict.fromkeys(number.metric for number in numbers)))
    runs = kept.runs if any(each.run == run.run for each in kept.runs) else (*kept.runs, run)
    return replace(kept, runs=runs, numbers=(*kept.numbers, *numbers))


def _joined(scores: StudyScores, other: StudyScores) -> StudyScores:
    """Returns the scores with the runs and settings that only the other has, and its numbers."""
    known, scores = {run.run for run in scores.runs}, with_metrics(scores, other.metrics)
    return replace(
        scores,
        settings=tuple(dict.fromkeys((*scores.settings, *other.settings))),
        families={**other.families, **scores.families},
        runs=(*scores.runs, *(run for run in other.runs if run.run not in known)),
        numbers=(*scores.numbers, *other.numbers),
    )


def _empty(labels: Mapping[str, object]) -> StudyScores:
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
