"""Tables of runs and of scores."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from rich.cells import cell_len, set_cell_size
from rich.table import Table

from unbraid.cli.console import note, output, say
from unbraid.errors import UnbraidError
from unbraid.metrics.metric import Score
from unbraid.metrics.score_rows import ARROWS, cells, interval_text, number_text
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.selection import class_of, title_of
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import spec_labels

_MOST_FITTED = 200


@final
@dataclass(frozen=True)
class Scored:
    """A row of a table of scores.

    It has the label and seed of its run, the end of its loss, the number of unused latents if it is collapsed, the
    values of other metrics, and a note on the images, if any.
    """

    label: str
    seed: int | None
    score: Score
    distortion: float = math.nan
    rate: float = math.nan
    unused: str = ""
    others: Mapping[str, float] = field(default_factory=dict)
    images: str = ""


def run_row(run: Run, name: str, label: str = "") -> list[str]:
    """Returns what the run is and how far it is, as a row of `runs_table`.

    Without a label it is called by its objective.
    """
    label = label or spec_labels([run.spec])[run.spec.digest]
    failure = run.failure
    status = run.status if failure is None else f"failed at step {failure.step}"
    return [name, label, str(run.seed), status, f"{run.steps_done}/{run.spec.num_steps}", _mig(run)]


def readable_rows(runs: Iterable[Run], folder: Path) -> list[list[str]]:
    """Returns the rows of runs in a folder, and prints a note on damaged ones: one must not hide the others."""
    rows = []
    for run in runs:
        name = run.name if run.folder == folder else str(run.folder.relative_to(folder))
        try:
            rows.append(run_row(run, name))
        except (UnbraidError, OSError) as error:
            note(f"{name} is passed over: {error}")
    return rows


def runs_table(rows: Sequence[Sequence[str]]) -> Table:
    table = columns("run", "objective")
    for name in ("seed", "status", "steps", "MIG, all factors"):
        table.add_column(name, justify="left" if name == "status" else "right")
    for row in rows:
        table.add_row(*row)
    return table


def score_row(label: str, run: Run, card: Scorecard, names: Sequence[str]) -> Scored:
    """Returns the row of a run: the first of these scores, and the values of the others.

    It has the distortion and the rate at the end of training, unless the scores are of an earlier step.
    """
    history, (first, *others) = run.history, names
    ends = (math.nan, math.nan)
    if card.scoring.step is None:
        ends = history.at_the_end("distortion"), history.at_the_end("rate")
    values = {name: card[name].value for name in others if name in card}
    return Scored(label, run.seed, card[first], *ends, unused_text(card), values, ", ".join(card.scoring.phrases))


def unused_text(card: Scorecard) -> str:
    """Returns how many latents of a collapsed model are unused; nothing of any other."""
    return f"{card.num_unused} of {card.num_latents}" if card.badge else ""


def score_table(rows: Sequence[Scored]) -> Table:
    """Returns a table of the scores of one metric, row by row, then the medians over the seeds of a label.

    The parts that papers report stand beside the value. A factor without a score gets no column.
    """
    metric = class_of(rows[0].score)
    reported = metric.reported_parts if metric is not None else {}
    parts = [name for name in reported if any(name in row.score.parts for row in rows)]
    of_factors = f" ({metric.quantity_of_factors})" if metric is not None and metric.quantity_of_factors else ""
    factors = list(
        dict.fromkeys(name for row in rows for name, gap in row.score.per_factor.items() if not math.isnan(gap))
    )
    ends = [name for name in ("distortion", "rate") if any(not math.isnan(getattr(row, name)) for row in rows)]
    are_runs = any(row.seed is not None for row in rows)
    table = columns("objective" if are_runs else "codes")
    table.title = _title(rows)
    others = list(dict.fromkeys(name for row in rows for name in row.others))
    unused = ["unused latents"] if any(row.unused for row in rows) else []
    for name in (
        *(["seed"] if are_runs else []),
        metric.quantity if metric is not None and parts and metric.quantity else rows[0].score.metric,
        "95 % interval",
        *(name.replace("_", " ") for name in parts),
        *map(title_of, others),
        *unused,
        *(f"{name}{of_factors}" for name in factors),
        *ends,
    ):
        table.add_column(name, justify="right", overflow="fold")

    def texts(scored: Sequence[Scored]) -> list[str]:
        interval = scored[0].score.interval if len(scored) == 1 else None
        values = [
            number_text(median([row.score.value for row in scored])),
            "" if interval is None else interval_text(*interval),
            *(number_text(median([_part(row.score, name) for row in scored])) for name in parts),
            *(number_text(median([row.others.get(name, math.nan) for row in scored])) for name in others),
            *([_collapsed(scored)] if unused else []),
        ]
        values += [f"{median([row.score.per_factor.get(name, math.nan) for row in scored]):z.3f}" for name in factors]
        return values + [f"{median([getattr(row, name) for row in scored]):z.1f}" for name in ends]

    groups: dict[str, list[Scored]] = defaultdict(list)
    for row in rows:
        groups[row.label].append(row)
        table.add_row(row.label, *([str(row.seed if row.seed is not None else "")] if are_runs else []), *texts([row]))
    repeated = {label: group for label, group in groups.items() if len(group) > 1}
    if repeated:
        table.add_row()
    for label, group in repeated.items():
        table.add_row(label, "median", *texts(group), style="bold")
    return table


def _part(score: Score, name: str) -> float:
    return score.parts[name].value if name in score.parts else math.nan


def _title(rows: Sequence[Scored]) -> str:
    """Returns what the scores are of: the metric, over which factors, on which images, with which settings."""
    score = rows[0].score
    over = {tuple(name for name, value in row.score.per_factor.items() if not math.isnan(value)) for row in rows}
    factors = f" over {', '.join(next(iter(over)))}" if len(over) == 1 and over != {()} else ""
    images = f", of images {rows[0].images}" if rows[0].images else ""
    settings = ", ".join(f"{name} {value}" for name, value in score.settings.items())
    return f"{score.metric}{factors}{images} ({settings})"


def _collapsed(scored: Sequence[Scored]) -> str:
    if len(scored) == 1:
        return scored[0].unused
    return f"{sum(bool(row.unused) for row in scored)} of {len(scored)} runs collapsed"


def card_table(card: Scorecard) -> Table:
    """Returns the table of one card: its values and parts, with intervals."""
    table = columns("metric")
    for name, justify in {"value": "right", "95 % interval": "right", "better": "center", "settled": "left"}.items():
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name, *line in cells(card.rows):
        table.add_row(titled(name) if name in card.names else name.replace("_", " "), *line)
    return table


def comparison_table(cards: Sequence[tuple[str, Scorecard]]) -> Table:
    """Returns a table with metrics down, which way is better, and a column for each label.

    A cell is the value, or the median over the cards that share the label, with the least and the greatest of them.
    """
    by_label: dict[str, list[Scorecard]] = defaultdict(list)
    for label, card in cards:
        by_label[label].append(card)
    table = columns("metric")
    table.title = _over(cards[0][1]) if len({_over(card) for _, card in cards}) == 1 else None
    table.add_column("better", justify="center")
    for label, group in by_label.items():
        num_collapsed = sum(bool(card.badge) for card in group)
        about = [f"median and range of {len(group)}"] if len(group) > 1 else []
        about += [f"{num_collapsed} collapsed" if len(group) > 1 else "collapsed"] if num_collapsed else []
        table.add_column(f"{label} ({', '.join(about)})" if about else label, justify="right", overflow="fold")
    directions = {name: better for _, card in reversed(cards) for name, better in card.higher_is_better.items()}
    for name in dict.fromkeys(name for _, card in cards for name in card.names):
        values = ([card[name].value for card in group if name in card] for group in by_label.values())
        table.add_row(titled(name), ARROWS[directions.get(name)], *map(_median_and_range, values))
    return table


def _over(card: Scorecard) -> str:
    """Returns over which factors and on which images a card is."""
    factors = f"over {', '.join(card.scored_factors)}" if card.scored_factors else ""
    images = f"of images {', '.join(card.scoring.phrases)}" if card.scoring.phrases else ""
    return ", ".join(part for part in (factors, images) if part)


def titled(name: str) -> str:
    """Returns what a score is, followed by the name by which its metric is asked for where that is another one."""
    title = title_of(name)
    return title if title.lower().replace(" ", "-") == name else f"{title} ({name})"


def print_rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table without rules. One of very many rows is not fitted to the screen, which would take seconds."""
    if len(rows) <= _MOST_FITTED:
        table = columns(*heads)
        for row in rows:
            table.add_row(*row)
        output().print(table)
        return
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    head, *lines = (
        "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (heads, *rows)
    )
    say(head, style="bold")
    output().out("\n".join(lines), highlight=False)


def columns(*names: str) -> Table:
    """Returns a table without rules, with these columns."""
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left", title_style="dim")
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _mig(run: Run) -> str:
    """Returns the last MIG over all factors that was kept, of the images trained on, whatever its settings."""
    kept = [score.value for score in run.scores(Scoring()) if score.metric == "MIG"]
    return f"{kept[-1]:.3f}" if kept else ""


def median(values: Sequence[float]) -> float:
    """Returns the median of those that are finite; NaN if none is."""
    finite = [value for value in values if math.isfinite(value)]
    return statistics.median(finite) if finite else math.nan


def _median_and_range(values: Sequence[float]) -> str:
    """Returns for instance "0.200 (0.100 to 0.300)", the least and the greatest; a single value stands alone."""
    finite = [value for value in values if math.isfinite(value)]
    spread = f" ({interval_text(min(finite), max(finite))})" if len(finite) > 1 else ""
    return number_text(median(values)) + spread
