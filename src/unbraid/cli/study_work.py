"""What the commands of a study do and print. The commands themselves are loaded without torch, for their help."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid._internal import files
from unbraid._internal.amounts import duration, size_text
from unbraid._internal.device import resolve_device
from unbraid._internal.memory import no_garbage_collection
from unbraid._internal.progress import Event, emit
from unbraid.cli.console import note, output, say, stage
from unbraid.cli.progress import training_display
from unbraid.cli.tables import columns, print_rows
from unbraid.errors import RunError, SpecError, TrainingError
from unbraid.metrics.score_rows import number_text
from unbraid.studies.claims.judgment import judge
from unbraid.studies.collect import collect, swept_values
from unbraid.studies.evidence import Circumstances, Evidence
from unbraid.studies.execute import run_study
from unbraid.studies.plan import Speed, StudyPlan, bytes_to_come, plan_study, undecidable
from unbraid.studies.study import Study, StudyOptions
from unbraid.studies.study_scores import StudyScores
from unbraid.studies.tables import (
    CLAIM_NOTE,
    Form,
    claim_markdown,
    claim_rows,
    factors_of,
    long_table,
    wide_latex,
    wide_markdown,
    wide_rows,
    wide_table,
)

if TYPE_CHECKING:
    from unbraid.studies.select import Criterion  # itself imported late: it takes scikit-learn

_FORMATS = (".csv", ".md", ".tex", ".parquet", ".json")
_MOST_NAMED = 5


def read_study(path: Path, packages: list[str], out: Path) -> Study:
    """Returns the study of a file, and checks that its runs can lie in this folder."""
    if path.is_dir():
        raise SpecError(f"{path} is a folder; expected the JSON file of a study. Name the file.")
    if out.exists() and not out.is_dir():
        raise RunError(f"--out is {out}, which is a file. Name a folder, new or not.")
    return Study.load(path, packages=packages)


def read_evidence(study: Study, out: Path, evidence: Path | None) -> Evidence:
    """Returns the scores of a study with where they come from: its runs, or a file of evidence of it."""
    if evidence is None:
        return Evidence(study.name, collect(study, out), Circumstances.now().to_json())
    found = Evidence.load(evidence)
    if found.study != study.name:
        raise SpecError(f"{evidence} holds the scores of the study {found.study!r}, and this is {study.name!r}.")
    return replace(found, scores=replace(found.scores, swept=swept_values(study.settings)))


def read_plan(study: Study, out: Path) -> StudyPlan:
    """Returns what is left to do of a study."""
    with stage(f"Reading the runs in {out}"):
        return plan_study(study, out)


@no_garbage_collection()
def show_plan(study: Study, out: Path, device: str, *, measure: bool) -> None:
    """Prints what the study would do."""
    plan = read_plan(study, out)
    rows = []
    for setting in study.settings:
        needs = [plan.needs[each.name] for each in plan.runs_of(setting)]
        counts = [needs.count(word) for word in ("training", "scoring", "nothing", "failed")]
        rows.append([setting.label, str(len(setting.seeds)), f"{setting.spec.num_steps:,}", *map(str, counts)])
    print_rows(("setting", "seeds", "steps", "to train", "to score", "done", "failed"), rows)
    training = plan.runs_that_need("training")
    say(
        f"{study.num_runs} runs: {len(training)} to train in {len(plan.to_train)} fleets ({plan.model_steps:,} steps "
        f"of models), {len(plan.runs_that_need('scoring'))} to score alone, "
        f"{len(plan.runs_that_need('nothing'))} done, {len(plan.runs_that_need('failed'))} failed."
    )
    if again := sum(plan.records[each.name].state == "finished" for each in training):
        note(
            f"{again} finished runs are trained again, because scores are asked of them and their codes were deleted. "
            "Their old folders are kept, in .archived."
        )
    for each in undecidable(study.claims, study.num_seeds):
        advice = f"Give each of its settings {each.seeds_needed} seeds" if each.seeds_needed else "Make fewer claims"
        note(
            f"The claim {each.claim.sentence!r} cannot be supported: its smallest possible p-value is "
            f"{each.smallest_p:.2g}, and {each.level:.2g} is needed. {advice}."
        )
    if training:
        _say_bytes(study, plan, out)
        if measure:
            _say_time(plan, device)


def _say_bytes(study: Study, plan: StudyPlan, out: Path) -> None:
    most, left = bytes_to_come(study, plan)
    place = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    end = "" if most == left else f", of which {size_text(left)} stay (keep={study.keep!r})"
    say(f"They take about {size_text(most)} on disk{end}; {size_text(free)} are free.")
    if most > free:
        note("The disk is too small for it. Use keep='scores' or 'best', or another --out.")


def _say_time(plan: StudyPlan, device: str) -> None:
    place = resolve_device(device)
    speed, seconds = Speed(place), 0.0
    with stage(f"Timing some steps of each kind of fleet on {place}"):
        for done, fleet in enumerate(plan.to_train):
            emit(Event("timing fleets", done, len(plan.to_train), "fleets"))
            seconds += speed.seconds(fleet, sum(plan.needs[each.name] == "training" for each in fleet.runs))
    say(f"Training takes about {duration(seconds)} on {place}. Compiling and scoring are not in it.")


def train_and_score(study: Study, file: Path, out: Path, options: StudyOptions) -> None:
    """Runs the study and prints what was done. Raises if a run failed."""
    with training_display([each.run for each in study.runs(out)]):
        outcome = run_study(study, out, options)
    say(f"{outcome.num_trained} runs were trained and {outcome.num_scored} scored.")
    if outcome.halved:
        note(
            f"Memory was short for {len(outcome.halved)} runs side by side with all of their fleet; smaller parts of "
            "it were trained, as finished.json of each run says. The last bits may differ from those of a whole fleet."
        )
    if outcome.not_begun:
        left = sum(len(fleet.runs) for fleet in outcome.not_begun)
        say(
            f"The budget did not suffice for {len(outcome.not_begun)} fleets ({left} runs); the shortest takes about "
            f"{duration(outcome.needed)}. The same command continues with them."
        )
    if outcome.failures:
        for name, why in list(outcome.failures.items())[:_MOST_NAMED]:
            note(f"{name}: {why}")
        raise TrainingError(
            f"{len(outcome.failures)} of {study.num_runs} runs failed. `unbraid study retry {file} --out {out}` puts "
            "those aside that failed in training, so that they are trained afresh."
        )
    say(f"Look at it: unbraid study table {file} --out {out}, or study report.")


@no_garbage_collection()
def show_status(study: Study, out: Path) -> None:
    """Prints how far each setting is."""
    plan = read_plan(study, out)
    rows = []
    for setting in study.settings:
        names = [each.name for each in plan.runs_of(setting)]
        states, needs = [plan.records[name].state for name in names], [plan.needs[name] for name in names]
        used = [plan.records[name].num_used for name in names]
        counts = [states.count("new"), states.count("unfinished"), needs.count("scoring"), needs.count("nothing")]
        counts += [states.count("failed"), sum(number is not None and number < 2 for number in used)]
        rows.append([setting.label, str(len(names)), *map(str, counts)])
    print_rows(("setting", "seeds", "new", "unfinished", "to score", "done", "failed", "collapsed"), rows)
    say(f"{len(plan.runs_that_need('nothing'))} of {study.num_runs} runs are trained and scored.")
    for each in plan.runs_that_need("failed"):
        note(f"{each.name} failed: {plan.records[each.name].reason}")
    for name, why in plan.damaged.items():
        note(f"{name} cannot be read: {why}")


@no_garbage_collection()
def show_table(study: Study, scores: StudyScores, metrics: list[str] | None, form: Form) -> None:
    """Prints the scores of a study."""
    if form == "long":
        output().print(str(long_table(scores)), soft_wrap=True)
        return
    print_rows(*wide_rows(scores, metrics))
    for sentence in factors_of(scores, metrics):
        say(sentence, style="dim")
    if study.claims:
        judgment = judge(study.claims, scores)
        print_rows(*claim_rows(judgment))
        say(f"Together: {judgment.text}. {CLAIM_NOTE}", style="dim")


def check_place(to: Path, form: Form, *, force: bool) -> None:
    """Raises if a table of this form cannot be written there."""
    allowed = (".csv", ".parquet", ".json") if form == "long" else _FORMATS
    if to.suffix not in allowed:
        raise SpecError(f"--to is {to}; a {form} table is written as {', '.join(allowed)}, by its suffix.")
    if to.exists() and not force:
        raise SpecError(f"{to} exists and is kept. Choose another name, or give --force.")
    files.check_writable(to)


@no_garbage_collection()
def write_table(study: Study, scores: StudyScores, metrics: list[str] | None, form: Form, to: Path) -> None:
    """Writes the scores of a study as the suffix says."""
    match to.suffix:
        case ".md":
            judged = "\n" + claim_markdown(judge(study.claims, scores)) if study.claims else ""
            files.write_text(to, wide_markdown(scores, metrics) + judged)
        case ".json":
            Evidence(study.name, scores, Circumstances.now().to_json()).save(to)
        case ".tex":
            files.write_text(to, wide_latex(scores, metrics))
        case _:
            table = long_table(scores) if form == "long" else wide_table(scores, metrics)
            files.write_bytes(to, table.to_csv().encode() if to.suffix == ".csv" else table.to_parquet())


def show_choices(study: Study, out: Path, by: "Criterion", top: int) -> None:
    """Prints the best runs by a criterion without labels, and how it agrees with scores that need them."""
    from unbraid.studies.select import agreement, choices
    from unbraid.studies.statistics import StatisticsError

    scores = collect(study, out)
    with stage(f"Comparing runs by {by}"):
        chosen = choices(study, out, scores, by)
    supervised = [name for name in ("mig", "jemmig") if name in scores.higher_is_better]
    table = columns("run", "setting", "seed", by, *supervised)
    for choice in chosen[:top]:
        values = [scores.values(choice.setting, name).get(choice.seed) for name in supervised]
        shown = ["–" if value is None else number_text(value) for value in values]
        table.add_row(choice.run, choice.setting, str(choice.seed), number_text(choice.value), *shown)
    output().print(table)
    for name in supervised:
        try:
            found = agreement(scores, chosen, name)
        except StatisticsError as error:
            note(f"How {by} agrees with {name} is unknown: {error}")
            continue
        low, high = found.interval
        say(
            f"Rank correlation of {by} with {name} over {len(chosen)} runs: {found.value:+.2f} ({low:+.2f} to "
            f"{high:+.2f})."
        )
