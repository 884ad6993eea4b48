"""The HTML report of a study: question, answer, tables, figures, claims, and the command that repeats the study."""

import datetime
import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.errors import UnbraidError
from unbraid.show.pages.page import content_policy, filled
from unbraid.show.pages.svg import Axis, Frame, element, family_class, line, rounded_text, text
from unbraid.studies.claims.judgment import judge
from unbraid.studies.ranking import Ranking, metric_agreement, rank_settings
from unbraid.studies.study import Study
from unbraid.studies.study_scores import StudyScores
from unbraid.studies.tables import wide_rows

# The metrics of the first table, in order of preference. The second table has all metrics.
_FIRST = ("mig", "dci", "sap", "jemmig", "sepin", "elbo")
_WIDTH, _ROW = 640.0, 26.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 170.0, 20.0, 30.0, 10.0


def write_study_report(
    study: Study,
    scores: StudyScores,
    path: Path | str,
    *,
    made_by: Mapping[str, Any] | None = None,
    command: str = "",
    date: datetime.date | None = None,
) -> Path:
    """Writes the report of a study as one HTML file without scripts. Returns the path.

    `made_by` describes the origin of the scores, and `command` is the command that reproduces the scores.
    """
    if not scores.numbers:
        raise UnbraidError(f"The study {study.name!r} has no scored runs. Run the study first: unbraid study run.")
    scored = [name for name in scores.metrics if scores.with_any_score(name)]
    main = next((name for name in (study.best_by, *_FIRST) if name in scored), scored[0])
    shown = [name for name in dict.fromkeys((main, *_FIRST)) if name in scored]
    ranking = rank_settings(scores, main)
    directed = [name for name in scored if scores.higher_is_better[name] is not None]
    heads, rows = wide_rows(scores, shown)
    all_heads, all_rows = wide_rows(scores, scored)
    page = filled(
        "study.html",
        {
            "study": study,
            "main": main,
            "answer": answer(ranking, scores),
            "ranking": ranking,
            "heads": heads,
            "rows": rows,
            "all_heads": all_heads,
            "all_rows": all_rows,
            "strips": {name: strip_of(scores, name) for name in shown},
            "agreement": metric_agreement(scores, directed),
            "judgment": judge(study.claims, scores),
            "verdicts": {"supported": "yes", "contradicted": "no", "undecided": "open"},
            "collapsed": sum(run.is_collapsed for run in scores.runs),
            "failed": [run.run for run in scores.runs if run.state == "failed"],
            "missing": sum(run.state not in ("finished", "failed") for run in scores.runs),
            "num_runs": len(scores.runs),
            "made_by": made_by or {},
            "command": command,
            "digests": {run.setting: run.run.rpartition("-seed")[0] for run in scores.runs},
            "date": date or datetime.datetime.now(datetime.UTC).date(),
            "policy": content_policy(),
            "version": __version__,
        },
        {"strength": lambda value: 0.0 if math.isnan(value) else round(abs(value), 2)},
    )
    files.write_bytes(Path(path), page.encode("utf-8", errors="replace"))
    return Path(path)


def answer(ranking: Ranking | None, scores: StudyScores) -> str:
    """Returns the result of the study as text: the best setting, and the significance of its difference to others."""
    if ranking is None:
        return ""
    first, *others = ranking.settings
    sentences = [f"{first.setting} has the best median {ranking.metric} ({first.median:.3g})."]
    close = ranking.inseparable
    if close:
        names = ", ".join(each.setting for each in close[:4]) + (
            f" and {len(close) - 4} more" if len(close) > 4 else ""
        )
        sentences.append(f"The difference to {names} is not significant.")
    elif others:
        sentences.append("The difference to every other setting is significant.")
    if needed := sorted({each.seeds_needed for each in close if each.seeds_needed}):
        counts = f"{needed[0]} to {needed[-1]}" if len(needed) > 1 else f"{needed[0]}"
        sentences.append(f"If the true differences equal the observed ones, {counts} seeds per setting are required.")
    if collapsed := sum(run.is_collapsed for run in scores.runs):
        sentences.append(
            f"{collapsed} of {len(scores.runs)} runs are collapsed: fewer than two latents are informative."
        )
    return " ".join(sentences)


def strip_of(scores: StudyScores, metric: str) -> Markup:
    """Draws the scores of all seeds by setting, with the median. The axis is 0 to 1 if it includes all scores."""
    values = {
        label: sorted(value for value in scores.of_seeds(label, metric) if math.isfinite(value))
        for label in scores.settings
    }
    every = [value for of_setting in values.values() for value in of_setting]
    axis = Axis.over([0.0, 1.0] if all(0 <= value <= 1 for value in every) else every)
    height = _TOP + _ROW * len(values) + _BOTTOM
    frame = Frame(_WIDTH, height, _LEFT, _RIGHT, _TOP, _BOTTOM)
    drawn = []
    for tick in axis.ticks:
        x = frame.x(axis.share(tick))
        drawn.append(line(x, 24, x, height, class_="grid") + text(rounded_text(tick), x, 16, text_anchor="middle"))
    for number, (label, of_setting) in enumerate(values.items()):
        y = _TOP + _ROW * (number + 0.5)
        shown = ", ".join(f"{value:.3g}" for value in of_setting) or "no scores"
        row = [element("title", f"{label}: {shown}"), text(label, _LEFT - 12, y + 4, text_anchor="end")]
        if of_setting:
            x = frame.x(axis.share(statistics.median(of_setting)))
            row.append(line(x, y - 9, x, y + 9, class_="median"))
        row += [element("circle", cx=frame.x(axis.share(value)), cy=y, r=4) for value in of_setting]
        drawn.append(element("g", *row, class_=family_class(scores.families[label])))
    return frame.svg(*drawn, label=f"{metric} of every seed, by setting", class_=None)
