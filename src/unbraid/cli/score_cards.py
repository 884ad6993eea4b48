"""Functions that compute, print and save scorecards of runs and of files of codes."""

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
import typer
from rich.text import Text

from unbraid._internal import files
from unbraid._internal.progress import Event, part_of
from unbraid._internal.table import plain_text
from unbraid.cli.console import echo, note, output, print_error
from unbraid.cli.tables import NamedScorecard, card_table, comparison_table, score_table
from unbraid.codes import Codes
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.evaluate import evaluate_as
from unbraid.metrics.score_rows import in_markdown
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.selection import Metrics
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import run_labels

# The default metrics in a comparison of several runs.
MAIN_METRICS = ("mig", "dci", "sap")


def score_cards(
    runs: Sequence[Run],
    metrics: Metrics,
    scoring: Scoring | None = None,
    *,
    seed: int | None = None,
    device: torch.device | str = "auto",
) -> list[NamedScorecard]:
    """Scores each run and saves the scores in its folder.

    Prints a note about runs for which no metric is defined. Raises CodesError if there are no other runs.
    """
    if not runs:
        return []
    found: list[NamedScorecard] = []
    unscored: dict[str, list[str]] = defaultdict(list)
    echo(f"Scoring {runs[0].name if len(runs) == 1 else f'{len(runs)} runs'} ...")
    for number, (run, label) in enumerate(zip(runs, run_labels(runs), strict=True)):
        with part_of(Event("scoring runs", number, len(runs), "runs", run.name)):
            try:
                card = run.score(metrics, scoring, seed=seed, device=device)
            except CodesError as error:
                unscored[str(error)].append(run.name)
                continue
        history = run.history
        has_ends = card.scoring.step is None  # the history ends at the last step
        ends = {name: history.at_the_end(name) if has_ends else math.nan for name in ("distortion", "rate")}
        found.append(NamedScorecard(label, str(run.folder), card, run.seed, ends))
    for reason, names in unscored.items():
        if not found:
            raise CodesError(reason)
        note(f"{', '.join(names)}: no score. {reason}")
    return found


def cards_of_codes(
    codes: Mapping[Path, Codes],
    metrics: Metrics,
    scoring: Scoring,
    seed: int | None,
    device: torch.device,
    *,
    is_drawn: bool = False,
) -> list[NamedScorecard]:
    """Scores the codes of each file. If `is_drawn`, the codes are already the fraction that `scoring` requests."""
    if codes and (scoring.part, scoring.sampling, scoring.step) != ("train", None, None):
        raise SpecError(
            f"--part, --sampling and --step apply only to runs, but {next(iter(codes))} is a file of codes. Leave "
            "these flags out, or write the intended codes and weights to the file."
        )
    found = []
    for path, read in codes.items():
        echo(f"Scoring {path} ...")
        try:
            card = evaluate_as(scoring, read.to(device), metrics, seed, is_drawn=is_drawn)
        except (CodesError, SpecError) as error:  # the message names the file, because there may be several
            raise type(error)(f"{path}: {error}") from None
        found.append(NamedScorecard(str(path), str(path), card))
    return found


def show(cards: Sequence[NamedScorecard], *, is_short: bool) -> None:
    """Prints scorecards as a table.

    A single metric is printed with one row per card. A single card is printed in full. Several cards are printed with
    one row per metric and one column per card or, if `is_short`, with one row per card and the main metrics only.
    """
    names = {name for each in cards for name in each.card.names}
    if len(names) == 1:
        output().print(score_table(cards))
    elif is_short and all(MAIN_METRICS[0] in each.card.names for each in cards):
        output().print(score_table(cards, MAIN_METRICS))
        echo("The folders of the runs hold all scores. Show them with --metrics all.", style="dim")
    elif len(cards) == 1:
        echo(cards[0].card.headline, style="dim")
        output().print(card_table(cards[0].card))
    else:
        output().print(comparison_table(cards))
    for each in cards:
        if each.card.badge:
            echo(f"{each.name}: {each.card.badge}.", style="bold")
    for remark, owners in _remarks(cards).items():
        # A remark about all cards is printed without names.
        echo(remark if len(owners) == len(cards) else f"{', '.join(owners)}: {remark}", style="dim")


def _remarks(cards: Sequence[NamedScorecard]) -> dict[str, list[str]]:
    """Returns the names of the cards by remark, without the notes that were printed while scoring."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in cards:
        for title, sentences in each.card.remarks.items():
            for sentence in sentences:
                if sentence not in each.card.notes:
                    found[f"{title}: {sentence}"].append(each.name)
    return found


def report_failures(cards: Sequence[NamedScorecard]) -> None:
    """Prints the traceback of each metric that failed, and exits with 1 if any metric failed."""
    failed = [(f"{name} of {each.name}", text) for each in cards for name, text in each.card.failed.items()]
    for _, text in failed:
        output(stderr=True).print(Text(text), soft_wrap=True)
    if failed:
        print_error(
            f"Failed to compute {', '.join(name for name, _ in failed)}; other scores are complete. If memory ran "
            "out, score a random subset of the images. Otherwise this is a bug in unbraid: please report it with the "
            "command and the lines above."
        )
        raise typer.Exit(1)


def save_cards(path: Path, cards: Mapping[str, Scorecard]) -> None:
    """Saves one card, or several cards by name.

    The names of several cards are keys in a .json file, the first column of a .csv file, and headings in a .md file.
    """
    if len(cards) == 1:
        next(iter(cards.values())).save(path, overwrite=True)
    elif path.suffix == ".csv":
        files.write_text(path, _csv(cards))
    elif path.suffix == ".md":
        text = "\n".join(f"## {in_markdown(name)}\n\n{card.to_markdown()}" for name, card in cards.items())
        files.write_text(path, text)
    else:
        contents = {name: json.loads(card.to_json()) for name, card in cards.items()}
        files.write_text(path, json.dumps(contents, indent=2, allow_nan=False) + "\n")


def _csv(cards: Mapping[str, Scorecard]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for number, (name, card) in enumerate(cards.items()):
        header, *rows = csv.reader(io.StringIO(card.to_csv()))
        if number == 0:
            writer.writerow(["codes", *header])
        writer.writerows([plain_text(name), *row] for row in rows)
    return stream.getvalue()
