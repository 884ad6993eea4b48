"""The commands of `unbraid study` that plan and run a study."""

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbraid._internal.amounts import duration, size_text
from unbraid._internal.progress import Event, emit
from unbraid.cli.console import echo, note
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

    A study compares settings over seeds. Save it in Python as a JSON file: `Study(...).save("study.json")`. To continue
    after an interruption, run the same command again. Studies in one folder share their runs.

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
        bool, typer.Option("--measure/--no-measure", help="Measure the time of some steps of each fleet.")
    ] = True,
    packages: Packages = None,
) -> None:
    """Show what a study would train, and how long it takes.

    The command counts models, fleets, steps and bytes, and estimates the time from a short measurement. It trains
    nothing.

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
        echo(
            f"{study.num_runs} runs: {len(training)} to train in {len(plan.to_train)} fleets ({steps:,} "
            f"steps of models), {len(plan.runs_that_need('scoring'))} only to score, "
            f"{len(plan.runs_that_need('nothing'))} done, {len(plan.runs_that_need('failed'))} failed."
        )
        if again := sum(plan.records[each.name].state == "finished" for each in training):
            note(
                f"{again} finished runs will be trained again, because a score is missing and their codes were "
                "deleted. Their old folders are kept in .archived."
            )
        for each in undecidable(study.claims, study.num_seeds):
            advice = f"Use {each.seeds_needed} seeds per setting" if each.seeds_needed else "Make fewer claims"
            note(
                f"The claim {each.claim.sentence!r} cannot be supported: its smallest possible p-value is "
                f"{each.smallest_p:.2g}, and {each.level:.2g} is needed. {advice}."
            )
        if training:
            _print_size(study, plan, out)
        if training and measure:
            _print_time(plan, device)


def _print_size(study: "Study", plan: "StudyPlan", out: Path) -> None:
    from unbraid.studies.plan import bytes_to_come

    most, left = bytes_to_come(study, plan)
    place = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    end = "" if most == left else f", of which {size_text(left)} stay (keep={study.keep!r})"
    echo(f"The runs take about {size_text(most)} on disk{end}; {size_text(free)} are free.")
    if most > free:
        note("The free disk space is too small. Use keep='scores' or 'best', or name another folder with --out.")


def _print_time(plan: "StudyPlan", device: str) -> None:
    from unbraid._internal.device import resolve_device
    from unbraid.studies.plan import Speed

    place = resolve_device(device)
    speed, seconds = Speed(place), 0.0
    echo(f"Timing some steps of each kind of fleet on {place} ...")
    for done, fleet in enumerate(plan.to_train):
        emit(Event("timing fleets", done, len(plan.to_train), "fleets"))
        seconds += speed.seconds(fleet, sum(plan.needs[each.name] == "training" for each in fleet.runs))
    echo(f"Training takes about {duration(seconds)} on {place}, without compiling and scoring.")


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
        typer.Option(metavar="NUMBER", min=1, help="Number of processes that compute scores. Default: one per core."),
    ] = None,
    on: Annotated[
        Literal["local", "ray"], typer.Option("--on", help="Train on this machine, or on a Ray cluster.")
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Number of processes on this machine, each with one fleet at a time. Default: one per GPU.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="The Ray cluster. Default: RAY_ADDRESS, or a new cluster on this machine."
        ),
    ] = None,
    autoscaling: Annotated[
        bool, typer.Option("--autoscaling", help="Wait for Ray nodes that do not exist yet.")
    ] = False,
    snapshots: Snapshots = None,
    packages: Packages = None,
) -> None:
    """Train and score the missing runs of a study.

    Each fleet is trained and scored, and files that the study does not keep are deleted. To continue after Ctrl-C, a
    crash or a full disk, run the same command again. The exit code is 1 if a run failed.

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
    echo(f"{outcome.num_trained} runs were trained and {outcome.num_scored} scored.")
    if outcome.halved:
        note(
            f"The fleets of {len(outcome.halved)} runs did not fit into memory and were trained in smaller parts, as "
            "recorded in finished.json of each run. The last bits of the weights may differ from a whole fleet."
        )
    if outcome.not_begun:
        left = sum(len(fleet.runs) for fleet in outcome.not_begun)
        echo(
            f"The budget did not suffice for {len(outcome.not_begun)} fleets ({left} runs); the shortest takes about "
            f"{duration(outcome.needed)}. To train them, run the same command again."
        )
    if outcome.failures:
        for name, reason in list(outcome.failures.items())[:_MOST_NAMED]:
            note(f"{name}: {reason}")
        raise TrainingError(
            f"{len(outcome.failures)} of {study.num_runs} runs failed. To train failed runs again, archive them first: "
            f"unbraid study retry {file} --out {out}"
        )
    echo(f"Show the scores: unbraid study table {file} --out {out}, or unbraid study report.")


def study_status(file: StudyFile, out: OutFolder = Path("runs"), packages: Packages = None) -> None:
    """Show the progress of a study.

    The command only reads files. It can run while another process trains the study.

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
        echo(f"{len(plan.runs_that_need('nothing'))} of {study.num_runs} runs are trained and scored.")
        for each in plan.runs_that_need("failed"):
            note(f"{each.name} failed: {plan.records[each.name].reason}")
        for name, reason in plan.damaged.items():
            note(f"{name} cannot be read: {reason}")


def study_retry(file: StudyFile, out: OutFolder = Path("runs"), packages: Packages = None) -> None:
    """Archive the failed runs of a study.

    The folders of failed runs are moved to .archived, so that `unbraid study run` trains these runs again. A failure
    that repeats, such as a loss that is not finite, needs other settings.

    Examples:
      unbraid study retry study.json
      unbraid study run study.json
    """
    from unbraid.studies.execute import retry_study

    failed = retry_study(read_study(file, parse_packages(packages), out), out)
    if not failed:
        echo("No run of the study has failed.")
        return
    echo(f"{len(failed)} failed runs are archived in {out / '.archived'}.")
    echo(f"Train them: unbraid study run {file} --out {out}")


def read_study(path: Path, packages: list[str], out: Path) -> "Study":
    """Loads the study of a file, and raises RunError if `out` is not a folder."""
    from unbraid.studies.study import Study

    if path.is_dir():
        raise SpecError(f"Expected the JSON file of a study, got the folder {path}. Name the file.")
    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file; expected a folder. Name a new or existing folder.")
    return Study.load(path, packages=packages)


def _read_plan(study: "Study", out: Path) -> "StudyPlan":
    from unbraid.studies.plan import plan_study

    echo(f"Reading the runs in {out} ...")
    return plan_study(study, out)
