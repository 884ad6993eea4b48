"""The scorecards of runs and of files of codes, computed and shown."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
import typer
from rich.text import Text

from unbraid._internal.progress import Event, part_of
from unbraid.cli.build import build_kind
from unbraid.cli.console import complain, errors, output, say, stage
from unbraid.cli.flags import Given, known_flags
from unbraid.cli.run_folders import open_runs, with_models
from unbraid.cli.tables import Scored, card_table, comparison_table, score_row, score_table, unused_text
from unbraid.codes import Codes
from unbraid.codes.codes_file import SUFFIXES
from unbraid.config import parse
from unbraid.config.annotations import hints_of
from unbraid.datasets.weights import Joint
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.evaluate import evaluate_as
from unbraid.metrics.metric import Metric
from unbraid.metrics.mig import MIG
from unbraid.metrics.published import like as like_published
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.selection import Metrics
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import run_labels

# What many runs are first compared by.
IN_SHORT = ("mig", "dci", "sap")


@final
@dataclass(frozen=True)
class Carded:
    """Holds a card, and says whose it is: that of a run, or of a file of codes."""

    label: str
    name: str
    card: Scorecard
    run: Run | None = None

    def row(self, names: Sequence[str] = ()) -> Scored:
        """Returns the first of these scores as a row of a table, beside the values of the others.

        By default, it is the first score of the card alone.
        """
        if self.run is None:
            images = ", ".join(self.card.scoring.phrases)
            return Scored(self.label, None, self.card.scores[0], unused=unused_text(self.card), images=images)
        return score_row(self.label, self.run, self.card, names or self.card.names[:1])


def score_runs(runs: Sequence[Run], metric: Metric) -> list[Scored]:
    """Scores each run with one metric and keeps the score in its folder."""
    return [each.row() for each in score_cards(runs, [metric])]


def score_cards(
    runs: Sequence[Run],
    metrics: Metrics,
    scoring: Scoring | None = None,
    *,
    seed: int | None = None,
    device: torch.device | str = "auto",
) -> list[Carded]:
    """Scores each run and keeps the scores in its folder."""
    if not runs:
        return []
    found = []
    with stage(f"Scoring {runs[0].name if len(runs) == 1 else f'{len(runs)} runs'}"):
        for number, (run, label) in enumerate(zip(runs, run_labels(runs), strict=True)):
            with part_of(Event("scoring runs", number, len(runs), "runs", run.name)):
                card = run.score(metrics, scoring, seed=seed, device=device)
            found.append(Carded(label, str(run.folder), card, run))
    return found


def of_files(
    codes: dict[Path, Codes],
    metrics: Metrics,
    scoring: Scoring,
    seed: int | None,
    device: torch.device,
    *,
    is_drawn: bool = False,
) -> list[Carded]:
    """Scores the codes of each file. `is_drawn` says that they are the fraction that was asked for already."""
    if codes and (scoring.part, scoring.sampling, scoring.step) != ("train", None, None):
        raise SpecError(
            f"--part, --sampling and --step are for runs, which know their images and models; {next(iter(codes))} "
            "is a file of codes. Leave them out, or write the codes and weights that you mean into the file."
        )
    found = []
    for path, read in codes.items():
        with stage(f"Scoring {path}"):
            card = _card(path, read.to(device), metrics, scoring, seed=seed, is_drawn=is_drawn)
        found.append(Carded(str(path), str(path), card))
    return found


def _card(
    path: Path, codes: Codes, metrics: Metrics, scoring: Scoring, *, seed: int | None, is_drawn: bool
) -> Scorecard:
    """Returns the card of one file, which an error names: there may be several."""
    try:
        return evaluate_as(scoring, codes, metrics, seed, is_drawn=is_drawn)
    except (CodesError, SpecError) as error:
        raise type(error)(f"{path}: {error}") from None


def chosen_scoring(**given: str | None) -> Scoring:
    """Returns which codes are scored and how, from the flags of its fields."""
    hints = hints_of(Scoring) | ({} if given["sampling"] == "data" else {"sampling": Joint})
    return Scoring(**{name: parse(text, hints[name], f"--{name}") for name, text in given.items() if text is not None})


def chosen_metrics(given: Given, metrics: str | None, like: str | None) -> Metrics | None:
    """Returns the metrics that were asked for, in one of three ways."""
    ways = [
        name
        for name, used in (("--metric", bool(given)), ("--metrics", metrics is not None), ("--like", like is not None))
        if used
    ]
    if len(ways) > 1:
        raise SpecError(f"{' and '.join(ways)} both choose what to compute. Give one of them.")
    if given:
        built: list[Metric] = build_kind(Metric, "metric", given, known_flags("score"), MIG())
        return built
    return like_published(like) if like is not None else metrics


def show(carded: Sequence[Carded], *, is_short: bool) -> None:
    """Prints the cards.

    One metric: a row for each. One card: all of it. Else: metrics down, cards across; or, in short, a row for each with
    the first metrics to look at.
    """
    names = {name for each in carded for name in each.card.names}
    if len(names) == 1:
        output().print(score_table([each.row() for each in carded]))
    elif is_short and all(IN_SHORT[0] in each.card for each in carded):
        output().print(score_table([each.row(IN_SHORT) for each in carded]))
        say("The folders of the runs hold all scores; --metrics all shows them.", style="dim")
    elif len(carded) == 1:
        say(carded[0].card.headline, style="dim")
        output().print(card_table(carded[0].card))
    else:
        output().print(comparison_table([(each.label, each.card) for each in carded]))
    for each in carded:
        if each.card.badge:
            say(f"{each.name}: {each.card.badge}.", style="bold")
    for remark, whose in _remarks(carded).items():
        # What holds for all needs no names.
        say(remark if len(whose) == len(carded) else f"{', '.join(whose)}: {remark}", style="dim")


def _remarks(carded: Sequence[Carded]) -> dict[str, list[str]]:
    """Returns notes beside the numbers, each with the names of its cards.

    What holds for all scores of a card was said while they were computed.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for each in carded:
        for title, sentences in each.card.remarks.items():
            for sentence in sentences:
                if sentence not in each.card.notes:
                    found[f"{title}: {sentence}"].append(each.name)
    return found


def complain_of_failures(carded: Sequence[Carded]) -> None:
    """Prints the traceback of each metric that failed, and leaves with 1 if there is one."""
    failed = [(f"{name} of {each.name}", text) for each in carded for name, text in each.card.failed.items()]
    for _, text in failed:
        errors().print(Text(text), soft_wrap=True)
    if failed:
        complain(
            f"There is no score for {', '.join(name for name, _ in failed)}; the others stand. If memory ran out, "
            "score a random subset of the images. Otherwise this is a bug in unbraid, not a mistake of yours: please "
            "report it, with the command you typed and the lines above."
        )
        raise typer.Exit(1)


def finished_runs(folders: Sequence[Path], packages: Sequence[str]) -> list[Run]:
    for path in folders:
        if path.is_file():
            raise CodesError(
                f"{path} is a file, and none of codes: those end in {', '.join(SUFFIXES)}. Name one, or runs."
            )
    found, named = open_runs(folders, packages), {folder.resolve() for folder in folders}
    for run in found:
        if run.status != "finished" and run.folder.resolve() in named:
            run.codes()  # named, not found: refused, with what to do about it
    return with_models(found, "score")
