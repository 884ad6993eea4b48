"""What the commands of papers do and print. The commands themselves are loaded without torch, for their help."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.table import Table

from unbraid.cli.console import note, output, say
from unbraid.cli.progress import training_display
from unbraid.cli.tables import columns
from unbraid.errors import TrainingError, UnbraidError
from unbraid.events import Event, part_of
from unbraid.papers.evidence_files import ItemEvidence, best_evidence, committed_evidence
from unbraid.papers.item import Item, Scale
from unbraid.papers.judgement import Judgement
from unbraid.papers.registry import find_items, items, papers
from unbraid.papers.running import ItemRun, run_item
from unbraid.papers.summary import (
    cost_text,
    made_text,
    printed_rows,
    short_names,
    verdict_rows,
    verdict_text,
    with_short_names,
)
from unbraid.studies.execute import StudyOptions
from unbraid.studies.study import Keep, check_labels

_MOST_NAMED = 5


def item_table(ids: Sequence[str] | None) -> Table:
    """Returns a table of items, by default of all."""
    table = columns("item", "what it is", "data", "cost", "verdict so far")
    for row in verdict_rows(find_items(ids) if ids else items().values(), committed_evidence()):
        table.add_row(*row)
    return table


def show_item(item: Item, out: Path) -> None:
    """Prints an item: what it claims, how it is done, and what came of it."""
    say(f"{item.id}: {item.title}", style="bold")
    say(item.claim)
    say(f"Data: {item.needs or item.data}. Cost: {cost_text(item)}.")
    if item.stands_in_for:
        note(f"A stand-in for {item.stands_in_for}, whose data are not at hand: it says nothing of the original.")
    if item.choices:
        table = columns("setting", "the paper states", "taken here")
        for choice in item.choices:
            table.add_row(choice.what, choice.stated, choice.taken)
        output().print(table)
    committed = best_evidence(item, committed_evidence())
    _show_evidence(item, committed, "The project's own evidence")
    if committed is None:
        _show_what_is_asked(item)
    if mine := best_evidence(item, out / "evidence"):
        _show_evidence(item, mine, f"Your evidence in {out / 'evidence'}")
    if item.notes:
        say(item.notes)
    say(f"Run it with: unbraid papers run {item.id} --scale {item.default_scale}")


def run_items(
    chosen: Sequence[Item],
    scale: Scale | None,
    out: Path,
    options: StudyOptions,
    *,
    keep: Keep | None,
    evidence: Path | None,
) -> None:
    """Runs items one after another, and says what came of each. An item that fails does not stop the next."""
    for item in chosen if options.settings else ():
        check_labels(options.settings, item.at(scale or item.default_scale).empty().settings, item.id)
    deadline = None if options.budget is None else time.monotonic() + options.budget
    failures: list[str] = []
    for place, item in enumerate(chosen):
        at = scale or item.default_scale
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            note(f"The budget is spent; {len(chosen) - place} items were not begun. The same command goes on.")
            break
        say(f"{item.id}: {item.title} ({at})", style="bold")
        try:
            display = training_display(item.at(at).runs(out))
            with display, part_of(Event("papers", place, len(chosen), "items")):
                ran = run_item(
                    item,
                    at,
                    out,
                    replace(options, budget=left),
                    keep=keep,
                    evidence=evidence,
                    beside=() if at == "smoke" else papers()[item.paper].items,
                    together=chosen[place + 1 :],
                )
        except UnbraidError as error:
            if len(chosen) == 1:
                raise
            note(f"{item.id}: {error}")
            failures.append(item.id)
            continue
        _say_what_came(item, at, ran)
        if ran.progress.failures:
            failures.append(item.id)
    if failures:
        raise TrainingError(f"Not all runs of {', '.join(failures)} were made. The same command tries what is missing.")


def _say_what_came(item: Item, scale: Scale, ran: ItemRun) -> None:
    progress, judged = ran.progress, ran.judgement
    say(
        f"{progress.num_trained} runs were trained and {progress.num_scored} scored; {judged.num_runs} of "
        f"{judged.num_asked} are there."
    )
    for name, why in list(progress.failures.items())[:_MOST_NAMED]:
        note(f"{name}: {why}")
    if progress.num_left:
        say(f"The budget did not suffice for {progress.num_left} runs. The same command goes on with them.")
    if scale == "smoke":
        say("Smoke: no verdict.")
        return
    _show_printed(item, ran.judgement)
    _show_claims(judged)
    say(f"Verdict: {judged.verdict}.", style="bold")
    if ran.committed is not None and ran.committed.verdict != judged.verdict:
        note(
            f"The project's own evidence says {ran.committed.verdict!r} ({ran.committed.num_runs} of "
            f"{ran.committed.num_asked} runs). Both stand: `unbraid papers show {item.id}` shows them side by side."
        )
    if ran.evidence is not None:
        say(f"Kept in {ran.evidence}.")


def _show_evidence(item: Item, found: ItemEvidence | None, title: str) -> None:
    say(f"{title}: {verdict_text(item, found)}.", style="bold")
    if found is None:
        return
    _show_printed(item, found.judgement)
    _show_claims(found.judgement)
    for made in found.made_by:
        say(f"{made['command']}, {made_text(made)}", style="dim")


def _show_printed(item: Item, judged: Judgement) -> None:
    if not item.printed:
        return
    table, short = columns("setting", "score", "printed", "ours"), short_names(judged.scores.metrics)
    for row in printed_rows(item, judged.scores):
        table.add_row(*(with_short_names(cell, short) for cell in row))
    output().print(table)


def _show_claims(judged: Judgement) -> None:
    table, short = columns("claim", "verdict", "reason"), short_names(judged.scores.metrics)
    for claim, decision in zip(judged.claims, judged.decisions, strict=True):
        table.add_row(claim.told, decision.verdict, with_short_names(decision.reason, short))
    if judged.claims:
        output().print(table)


def _show_what_is_asked(item: Item) -> None:
    """Prints the printed numbers, and the claims that a run will decide."""
    if item.printed:
        table = columns("setting", "score", "printed")
        for printed in item.printed:
            table.add_row(printed.setting, printed.metric, f"{printed.value:g}")
        output().print(table)
    claims = item.at(item.default_scale).claims
    if claims:
        table = columns("what will be decided")
        for claim in claims:
            table.add_row(claim.told)
        output().print(table)
