"""`unbraid study` and its commands that plan and run a study."""

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbraid._internal.amounts import duration, size_text
from unbraid._internal.progress import Event, emit
from unbraid.cli.console import note, say
from unbraid.cli.options import (
    Device,
    OutFolder,
    Packages,
    Snapshots,
    StudyFile,
    parse_packages,
    parse_seconds,
    parse_steps,
)
from unbraid.cli.progress import training_display
from unbraid.errors import RunError, SpecError, TrainingError

if TYPE_CHECKING:
    from unbraid.studies.plan import StudyPlan
    from unbraid.studies.study import Study

_MOST_NAMED = 5


def study() -> None:
    """Plan, run and show a study.

    A study compares settings over seeds. Python writes it to a JSON file: `Study(...).save("study.json")`. The same
    command continues where it was stopped, and studies in one folder share their runs.

    Examples:
      unbraid study plan study.json
      unbraid study run study.json --budget 20m
      unbraid study report study.json
    """


def study_plan(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    *,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Time some steps of each kind of fleet.")
    ] = True,
    packages: Packages = None,
) -> None:
    """Show what a study would train, and how long it takes.

    Nothing is trained: it counts models, fleets, steps and bytes, and estimates the time from a short measurement.

    Examples:
      unbraid study plan study.json
      unbraid study plan study.json --no-measure
    """
    from unbraid._internal.memory import no_garbage_collection
    from unbraid.cli.tables import print_rows
    from unbraid.studies.plan import undecidable

    study = read_study(file, parse_packages(packages), out)
    with no_garbage_collection():
        plan, rows = _read_plan(study, out), []
        for setting in study.settings:
            needs = Counter(plan.needs[each.name] for each in plan.runs_of(setting))
            counts = [needs[word] for word in ("training", "scoring", "nothing", "failed")]
            rows.append([setting.label, str(len(setting.seeds)), f"{setting.spec.num_steps:,}", *map(str, counts)])
        print_rows(("setting", "seeds", "steps", "to train", "to score", "done", "failed"), rows)
        training = plan.runs_that_need("training")
        steps = sum(each.setting.spec.num_steps for each in training)
        say(
            f"{study.num_runs} runs: {len(training)} to train in {len(plan.to_train)} fleets ({steps:,} "
            f"steps of models), {len(plan.runs_that_need('scoring'))} only to score, "
            f"{len(plan.runs_that_need('nothing'))} done, {len(plan.runs_that_need('failed'))} failed."
        )
        if again := sum(plan.records[each.name].state == "finished" for each in training):
            note(
                f"{again} finished runs are trained again, because a score is missing and their codes were deleted. "
                "Their old folders are kept, in .archived."
            )
        for each in undecidable(study.claims, study.num_seeds):
            advice = (
                f"Give each of its settings {each.seeds_needed} seeds" if each.seeds_needed else "Make fewer claims"
            )
            note(
                f"The claim {each.claim.sentence!r} cannot be supported: its smallest possible p-value is "
                f"{each.smallest_p:.2g}, and {each.level:.2g} is needed. {advice}."
            )
        if training:
            _say_bytes(study, plan, out)
        if training and measure:
            _say_time(plan, device)


def _say_bytes(study: "Study", plan: "StudyPlan", out: Path) -> None:
    from unbraid.studies.plan import bytes_to_come

    most, left = bytes_to_come(study, plan)
    place = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    end = "" if most == left else f", of which {size_text(left)} stay (keep={study.keep!r})"
    say(f"They take about {size_text(most)} on disk{end}; {size_text(free)} are free.")
    if most > free:
        note("The disk is too small for it. Use keep='scores' or 'best', or another --out.")


def _say_time(plan: "StudyPlan", device: str) -> None:
    from unbraid._internal.device import resolve_device
    from unbraid.studies.plan import Speed

    place = resolve_device(device)
    speed, seconds = Speed(place), 0.0
    say(f"Timing some steps of each kind of fleet on {place} ...")
    for done, fleet in enumerate(plan.to_train):
        emit(Event("timing fleets", done, len(plan.to_train), "fleets"))
        seconds += speed.seconds(fleet, sum(plan.needs[each.name] == "training" for each in fleet.runs))
    say(f"Training takes about {duration(seconds)} on {place}, without compiling and scoring.")


def study_run(
    file: StudyFile,
    out: OutFolder = Path("runs"),
    device: Device = "auto",
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start no fleet that cannot finish within this time: 90s, 20m, 1h30m."),
    ] = None,
    *,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast/--keep-going", help="Stop at the first failure, or continue with other runs.")
    ] = False,
    scorers: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=1, help="Processes that compute scores. By default one per core."),
    ] = None,
    on: Annotated[
        Literal["local", "ray"], typer.Option("--on", help="Train on this machine, or on a Ray cluster.")
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Fleets at a time on this machine, each in its own process. By default one per GPU.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="The Ray cluster. By default RAY_ADDRESS, or a cluster on this machine only."
        ),
    ] = None,
    autoscaling: Annotated[
        bool, typer.Option("--autoscaling", help="Wait for Ray nodes that do not exist yet.")
    ] = False,
    snapshots: Snapshots = None,
    packages: Packages = None,
) -> None:
    """Train and score the missing runs of a study.

    Whole fleets are trained, from the first step to the last, then scored, and reduced to what the study keeps. After
    Ctrl-C, a crash or a full disk the same command continues. It exits with 1 if a run failed.

    Examples:
      unbraid study run study.json --device cuda
      unbraid study run study.json --budget 20m
      unbraid study run study.json --on ray --address auto --out /shared/runs
    """
    from unbraid.studies.execute import run_study
    from unbraid.studies.study import StudyOptions

    names = parse_packages(packages)
    options = StudyOptions(
        device,
        None if budget is None else parse_seconds(budget),
        fail_fast,
        scorers,
        names,
        on=on,
        address=address,
        num_workers=workers,
        autoscaling=autoscaling,
        snapshots=parse_steps(snapshots),
    )
    study = read_study(file, names, out)
    with training_display([each.run for each in study.runs(out)]):
        outcome = run_study(study, out, options)
    say(f"{outcome.num_trained} runs were trained and {outcome.num_scored} scored.")
    if outcome.halved:
        note(
            f"Memory was short for {len(outcome.halved)} runs side by side with all of their fleet; smaller parts of "
            "it were trained, as finished.json of each run records. The last bits may differ from those of a whole "
            "fleet."
        )
    if outcome.not_begun:
        left = sum(len(fleet.runs) for fleet in outcome.not_begun)
        say(
            f"The budget did not suffice for {len(outcome.not_begun)} fleets ({left} runs); the shortest takes about "
            f"{duration(outcome.needed)}. The same command continues with them."
        )
    if outcome.failures:
        for name, reason in list(outcome.failures.items())[:_MOST_NAMED]:
            note(f"{name}: {reason}")
        raise TrainingError(
            f"{len(outcome.failures)} of {study.num_runs} runs failed. `unbraid study retry {file} --out {out}` "
            "archives those that failed in training, so that they are trained again."
        )
    say(f"Show it: unbraid study table {file} --out {out}, or study report.")


def study_status(file: StudyFile, out: OutFolder = Path("runs"), packages: Packages = None) -> None:
    """Show the progress of a study.

    It only reads the folders, also while another process runs the study.

    Examples:
      unbraid study status study.json
    """
    from unbraid._internal.memory import no_garbage_collection
    from unbraid.cli.tables import print_rows

    study = read_study(file, parse_packages(packages), out)
    with no_garbage_collection():
        plan, rows = _read_plan(study, out), []
        for setting in study.settings:
            names = [each.name for each in plan.runs_of(setting)]
            states, needs = Counter(plan.records[n].state for n in names), Counter(plan.needs[n] for n in names)
            used = [plan.records[name].num_used for name in names]
            collapsed = sum(number is not None and number < 2 for number in used)
            counts = [states["new"], states["unfinished"], needs["scoring"], needs["nothing"], states["failed"]]
            rows.append([setting.label, *map(str, [len(names), *counts, collapsed])])
        print_rows(("setting", "seeds", "new", "unfinished", "to score", "done", "failed", "collapsed"), rows)
        say(f"{len(plan.runs_that_need('nothing'))} of {study.num_runs} runs are trained and scored.")
        for each in plan.runs_that_need("failed"):
            note(f"{each.name} failed: {plan.records[each.name].reason}")
        for name, reason in plan.damaged.items():
            note(f"{name} cannot be read: {reason}")


def study_retry(file: StudyFile, out: OutFolder = Path("runs"), packages: Packages = None) -> None:
    """Archive the failed runs of a study.

    `study run` then trains them again. Their folders are kept, in .archived. A failure that repeats (a loss that is not
    finite) needs another setting, not another try.

    Examples:
      unbraid study retry study.json
      unbraid study run study.json
    """
    from unbraid.studies.execute import retry_study

    failed = retry_study(read_study(file, parse_packages(packages), out), out)
    if not failed:
        say("No run of the study has failed.")
        return
    say(f"{len(failed)} failed runs are archived in {out / '.archived'}.")
    say(f"Train them: unbraid study run {file} --out {out}")


def read_study(path: Path, packages: list[str], out: Path) -> "Study":
    """Returns the study of a file, and checks that its runs can lie in this folder."""
    from unbraid.studies.study import Study

    if path.is_dir():
        raise SpecError(f"{path} is a folder; expected the JSON file of a study. Name the file.")
    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file. Name a folder, new or not.")
    return Study.load(path, packages=packages)


def _read_plan(study: "Study", out: Path) -> "StudyPlan":
    from unbraid.studies.plan import plan_study

    say(f"Reading the runs in {out} ...")
    return plan_study(study, out)
