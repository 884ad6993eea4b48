"""Tables of runs and of scores."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from rich.cells import cell_len, set_cell_size
from rich.table import Table

from unbraid.cli.console import echo, output
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
class NamedScorecard:
    """Scorecard of a run or of a file of codes.

    `label` is the label of the setting or the name of the file. `name` is the path of the run or the file. `ends` holds
    the distortion and rate at the last step of a run.
    """

    label: str
    name: str
    card: Scorecard
    seed: int | None = None
    ends: Mapping[str, float] = field(default_factory=dict)

    @property
    def unused(self) -> str:
        """The number of unused latents as text, such as "8 of 10", if the model is collapsed; otherwise empty."""
        return f"{self.card.num_unused} of {self.card.num_latents}" if self.card.badge else ""

    def value(self, metric: str) -> float:
        return self.card[metric].value if metric in self.card else math.nan

    def end(self, name: str) -> float:
        return self.ends.get(name, math.nan)


def run_row(run: Run, name: str, label: str = "") -> list[str]:
    """Returns the cells of a run in `runs_table`. The default label is the objective of the run."""
    label = label or spec_labels([run.spec])[run.spec.digest]
    status = run.status if (failure := run.failure) is None else f"failed at step {failure.step}"
    mig = [score.value for score in run.scores(Scoring()) if score.metric == "MIG"]
    steps = f"{run.steps_done}/{run.spec.num_steps}"
    unused = run.badge.partition(" latents")[0]
    return [name, label, str(run.seed), status, steps, f"{mig[-1]:.3f}" if mig else "", unused]


def runs_table(rows: Sequence[Sequence[str]]) -> Table:
    """Returns the table of `unbraid runs` with these rows, one per run (see `run_row`).

    It has a column of unused latents if a model is collapsed.
    """
    table, unused = columns("run", "objective"), ["unused latents"] if any(row[-1] for row in rows) else []
    for name in ("seed", "status", "steps", "MIG, all factors", *unused):
        table.add_column(name, justify="left" if name == "status" else "right")
    for row in rows:
        table.add_row(*row[: len(table.columns)])
    return table


def score_table(cards: Sequence[NamedScorecard], names: Sequence[str] = ()) -> Table:
    """Returns a table with one row per card, followed by the medians over the seeds of each label.

    The first of `names` is the main score (by default the first score of each card). Further columns are the parts of
    the main score that papers report, the other names, and the factors with a score.
    """
    main, *others = names or [""]
    scores = [_score(each, main) for each in cards]
    metric = class_of(scores[0])
    reported = metric.reported_parts if metric is not None else {}
    parts = [name for name in reported if any(name in score.parts for score in scores)]
    of_factors = f" ({metric.quantity_of_factors})" if metric is not None and metric.quantity_of_factors else ""
    factors = list(dict.fromkeys(name for score in scores for name in _factors(score)))
    others = [name for name in others if any(name in each.card for each in cards)]
    ends = [
        name for name in ("distortion", "rate") if any(math.isfinite(each.ends.get(name, math.nan)) for each in cards)
    ]
    has_unused = any(each.unused for each in cards)
    are_runs = any(each.seed is not None for each in cards)
    table = columns("objective" if are_runs else "codes")
    table.title = _title(scores, cards[0].card.scoring.phrases)
    for name in (
        *(["seed"] if are_runs else []),
        metric.quantity if metric is not None and parts and metric.quantity else scores[0].metric,
        "95 % interval",
        *(name.replace("_", " ") for name in parts),
        *map(title_of, others),
        *(["unused latents"] if has_unused else []),
        *(f"{name}{of_factors}" for name in factors),
        *ends,
    ):
        table.add_column(name, justify="right", overflow="fold")

    def texts(group: Sequence[NamedScorecard]) -> list[str]:
        own = [_score(each, main) for each in group]
        interval = own[0].interval if len(group) == 1 else None
        collapsed = f"{sum(bool(each.unused) for each in group)} of {len(group)} runs collapsed"
        return [
            number_text(median([score.value for score in own])),
            "" if interval is None else interval_text(*interval),
            *(number_text(median([_part(score, name) for score in own])) for name in parts),
            *(number_text(median([each.value(name) for each in group])) for name in others),
            *([group[0].unused if len(group) == 1 else collapsed] if has_unused else []),
            *(f"{median([score.per_factor.get(name, math.nan) for score in own]):z.3f}" for name in factors),
            *(f"{median([each.end(name) for each in group]):z.1f}" for name in ends),
        ]

    groups: dict[str, list[NamedScorecard]] = defaultdict(list)
    for each in cards:
        groups[each.label].append(each)
        seed = "" if each.seed is None else str(each.seed)
        table.add_row(each.label, *([seed] if are_runs else []), *texts([each]))
    repeated = {label: group for label, group in groups.items() if len(group) > 1}
    if repeated:
        table.add_row()
    for label, group in repeated.items():
        table.add_row(label, "median", *texts(group), style="bold")
    return table


def _score(each: NamedScorecard, name: str) -> Score:
    return each.card[name] if name else each.card.scores[0]


def _factors(score: Score) -> tuple[str, ...]:
    return tuple(name for name, value in score.per_factor.items() if not math.isnan(value))


def _part(score: Score, name: str) -> float:
    return score.parts[name].value if name in score.parts else math.nan


def _title(scores: Sequence[Score], images: Sequence[str]) -> str:
    """Returns the title of a table of scores: metric, factors, images and settings."""
    score, covered = scores[0], {_factors(score) for score in scores}
    over = f" over {', '.join(next(iter(covered)))}" if len(covered) == 1 and covered != {()} else ""
    settings = ", ".join(f"{name} {value}" for name, value in score.settings.items())
    shown = f", of images {', '.join(images)}" if images else ""
    return f"{score.metric}{over}{shown} ({settings})"


def card_table(card: Scorecard) -> Table:
    """Returns a table of all scores of a card and their parts, with intervals."""
    table = columns("metric")
    for name, justify in {"value": "right", "95 % interval": "right", "better": "center", "settled": "left"}.items():
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name, *line in cells(card.rows):
        table.add_row(row_title(name) if name in card.names else name.replace("_", " "), *line)
    return table


def comparison_table(cards: Sequence[NamedScorecard]) -> Table:
    """Returns a table with one row per metric and one column per label.

    A cell holds the score of the card with this label, or the median and range if several cards have the label.
    """
    by_label: dict[str, list[Scorecard]] = defaultdict(list)
    for each in cards:
        by_label[each.label].append(each.card)
    table = columns("metric")
    covered = {_coverage(each.card) for each in cards}
    table.title = covered.pop() if len(covered) == 1 else None
    table.add_column("better", justify="center")
    for label, group in by_label.items():
        num_collapsed = sum(bool(card.badge) for card in group)
        about = [f"median and range of {len(group)}"] if len(group) > 1 else []
        about += [f"{num_collapsed} collapsed" if len(group) > 1 else "collapsed"] if num_collapsed else []
        table.add_column(f"{label} ({', '.join(about)})" if about else label, justify="right", overflow="fold")
    directions = {name: better for each in reversed(cards) for name, better in each.card.higher_is_better.items()}
    for name in dict.fromkeys(name for each in cards for name in each.card.names):
        values = ([card[name].value for card in group if name in card] for group in by_label.values())
        table.add_row(row_title(name), ARROWS[directions.get(name)], *map(_median_and_range, values))
    return table


def _coverage(card: Scorecard) -> str:
    """Returns the scored factors and images of a card as text."""
    factors = f"over {', '.join(card.scored_factors)}" if card.scored_factors else ""
    images = f"of images {', '.join(card.scoring.phrases)}" if card.scoring.phrases else ""
    return ", ".join(part for part in (factors, images) if part)


def row_title(name: str) -> str:
    """Returns the title of a metric, followed by its command-line name if the two differ."""
    title = title_of(name)
    return title if title.lower().replace(" ", "-") == name else f"{title} ({name})"


def print_rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table without borders. Tables of more than 200 rows are not fitted to the screen, to save seconds."""
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
    echo(head, style="bold")
    output().out("\n".join(lines), highlight=False)


def columns(*names: str) -> Table:
    """Returns an empty table with these columns and without borders."""
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left", title_style="dim")
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def median(values: Sequence[float]) -> float:
    """Returns the median of the finite values; NaN if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    return statistics.median(finite) if finite else math.nan


def _median_and_range(values: Sequence[float]) -> str:
    """Returns the median, minimum and maximum as text, for instance "0.200 (0.100 to 0.300)"."""
    finite = [value for value in values if math.isfinite(value)]
    spread = f" ({interval_text(min(finite), max(finite))})" if len(finite) > 1 else ""
    return number_text(median(values)) + spread
