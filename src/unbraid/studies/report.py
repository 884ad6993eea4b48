"""A study in, one HTML file out: the question, the answer, the table, the figures, the claims, and how to repeat it."""

import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid import files
from unbraid.errors import UnbraidError
from unbraid.pages.fill import filled
from unbraid.studies.answers import Ranking, agreement_of, ranking_of
from unbraid.studies.claims import decide_all
from unbraid.studies.strips import strip_of
from unbraid.studies.study import Study
from unbraid.studies.study_scores import StudyScores
from unbraid.studies.tables import wide_rows
from unbraid.version import __version__

# What most readers look for first; all others are in the table below it.
_FIRST = ("mig", "dci", "sap", "jemmig", "sepin", "elbo")
_VERDICTS = {"reproduced": "yes", "in part": "part", "not reproduced": "no", "undecided": "open"}


def write_study_report(
    study: Study,
    scores: StudyScores,
    path: Path | str,
    *,
    made_by: Mapping[str, Any] | None = None,
    command: str = "",
    date: datetime.date | None = None,
) -> Path:
    """Writes a page about a study and returns its path: one file that needs no script and no network.

    `made_by` says where the scores come from, and `command` how to repeat them.
    """
    if not scores.numbers:
        raise UnbraidError(f"No run of the study {study.name!r} is scored yet. Train and score: unbraid study run.")
    path = Path(path)
    page = render(study, scores, made_by or {}, command, date or datetime.datetime.now(datetime.UTC).date())
    files.write_bytes(path, page.encode("utf-8", errors="replace"))
    return path


def render(study: Study, scores: StudyScores, made_by: Mapping[str, Any], command: str, date: datetime.date) -> str:
    """Returns the page as text."""
    scored = [name for name in scores.metrics if scores.with_any_score(name)]
    main = next((name for name in (study.best_by, *_FIRST) if name in scored), scored[0])
    shown = [name for name in dict.fromkeys((main, *_FIRST)) if name in scored]
    ranking = ranking_of(scores, main)
    judged = [name for name in scored if scores.higher_is_better[name] is not None]
    heads, rows = wide_rows(scores, shown)
    all_heads, all_rows = wide_rows(scores, scored)
    return filled(
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
            "strips": [strip_of(scores, name) for name in shown],
            "agreement": agreement_of(scores, judged),
            "claims": list(zip(study.claims, decide_all(study.claims, scores), strict=True)),
            "verdicts": _VERDICTS,
            "collapsed": sum(run.is_collapsed for run in scores.runs),
            "failed": [run.run for run in scores.runs if run.state == "failed"],
            "missing": sum(run.state not in ("finished", "failed") for run in scores.runs),
            "num_runs": len(scores.runs),
            "made_by": made_by,
            "command": command,
            "digests": _digests(scores),
            "date": date,
            "version": __version__,
        },
        {"strength": _strength},
    )


def answer(ranking: Ranking | None, scores: StudyScores) -> str:
    """Returns what the scores say, in a few sentences."""
    if ranking is None:
        return ""
    best, metric = ranking.best, ranking.metric
    wins = f"with other seeds it would win in {best.chance_to_win:.0%} of cases"
    said = [f"{best.setting} has the best median {metric} ({best.median:.3g}); {wins}."]
    if close := ranking.inseparable:
        said.append(f"These seeds do not separate it from {_listed(close)}.")
    else:
        said.append("It lies significantly above all others.")
    needed = [rival.seeds_needed for rival in ranking.rivals[1:] if rival.setting in close and rival.seeds_needed]
    if needed:
        said.append(
            f"If differences are what they seem, {min(needed)} to {max(needed)} seeds each would."
            if min(needed) < max(needed)
            else f"If differences are what they seem, {needed[0]} seeds each would."
        )
    if collapsed := sum(run.is_collapsed for run in scores.runs):
        said.append(f"{collapsed} of {len(scores.runs)} runs are collapsed: fewer than two latents say anything.")
    return " ".join(said)


def _listed(names: Sequence[str]) -> str:
    """Returns names as one would say them, at most four."""
    shown = list(names[:4])
    more = f" and {len(names) - 4} others" if len(names) > 4 else ""
    return ", ".join(shown) + more if more or len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _digests(scores: StudyScores) -> dict[str, str]:
    """Returns the digest of the spec of every setting, by which its runs are named."""
    return {run.setting: run.run.rpartition("-seed")[0] for run in scores.runs}


def _strength(value: float) -> float:
    """Returns how strongly a cell of a correlation is coloured, from 0 to 1."""
    return 0.0 if math.isnan(value) else round(min(1.0, abs(value)), 2)
