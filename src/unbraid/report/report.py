"""Runs in, one HTML file out."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from unbraid import files
from unbraid.errors import RunError
from unbraid.evaluation.latent_readings import read_latents
from unbraid.evaluation.scoring import Scoring, named
from unbraid.evaluation.usage import UNUSED
from unbraid.pages.fill import filled
from unbraid.recipes.annotations import in_short
from unbraid.report import loss_curves, strip_plot, traversals
from unbraid.report.all_scores import all_scores
from unbraid.report.groups import Group, group_members
from unbraid.report.heat_map import HeatMap, heat_map
from unbraid.report.members import ReportedRun, Role, rank, read_members, shown_members, why_left_out
from unbraid.report.reconstructions import reconstructions
from unbraid.report.samples import prior_samples
from unbraid.report.spec_table import spec_table
from unbraid.report.summary import summary_of, title_of
from unbraid.runs.run import Run
from unbraid.runs.spec_words import in_words
from unbraid.version import __version__


def write_report(
    runs: Sequence[Run],
    path: Path | str,
    *,
    title: str | None = None,
    date: datetime.date | None = None,
    factors: str | Sequence[str] = (),
) -> Path:
    """Writes a page that shows these runs, and returns its path: one file that needs no script and no network.

    Runs without a MIG are scored first, and keep their scores. Runs that are not finished are named on the page and
    left out of its figures. The same runs, title and `date` (today by default) give the same bytes. `factors` are the
    names of those that scores are over; by default, all.
    """
    if isinstance(runs, (str, Path, Run)) or not all(isinstance(run, Run) for run in runs):
        raise RunError(
            f"runs is {in_short(runs)}; expected a list of runs, such as runs_in(folder) or train(...) gives."
        )
    finished = [run for run in runs if run.status == "finished"]
    if not finished:
        states = ", ".join(f"{run.name} {why_left_out(run)}" for run in runs[:3]) or "no runs were given"
        raise RunError(
            f"A report needs at least one finished run, and here {states}. `unbraid runs` shows how each run stands."
        )
    members = read_members(finished, Scoring(factors=named(factors)))
    left_out = [(run.name, why_left_out(run)) for run in runs if run.status != "finished"]
    html = render(members, left_out, title, date or datetime.datetime.now(datetime.UTC).date())
    path = Path(path)
    # A folder's name need not be valid Unicode; the page must be.
    files.write_bytes(path, html.encode("utf-8", errors="replace"))
    return path


def render(
    members: Sequence[ReportedRun], left_out: Sequence[tuple[str, str]], title: str | None, date: datetime.date
) -> str:
    """Returns the page as text."""
    ranking, groups = rank(members), group_members(members)
    shown = shown_members(members, ranking)
    best = next(iter(shown.values()))
    by_group = [group.members for group in groups]
    values = {
        "title": title or title_of(groups),
        "summary": summary_of(groups, ranking, best, _gap_names(members)),
        "date": date,
        "version": __version__,
        "left_out": left_out,
        "ranking": ranking,
        "groups": groups,
        "strip_plot": strip_plot.strip_plot(by_group, ranking, shown),
        "panels": [_panel(role, member, groups) for role, member in shown.items()],
        "reconstructions": reconstructions(shown),
        "samples": prior_samples(shown),
        "loss_panels": loss_curves.loss_panels(by_group),
        "spec": spec_table([group.spec for group in groups]),
        "mig_settings": {} if best.mig is None else best.mig.settings,
        "gap_names": _gap_names(members),
        "all_scores": all_scores(groups),
        "ordered": [(member, _group_of(member, groups)) for member in ranking.order(members)],
        "unscored": [member.run.name for member in members if math.isnan(ranking.value(member))],
        "curves": loss_curves,
        "strips": strip_plot,
        "positions": traversals.POSITIONS,
        "unused": UNUSED,
        "num_hard": max((member.hard.num_images for member in members if member.hard is not None), default=0),
        "nan": math.nan,
    }
    return filled("report.html", values, {"words": in_words})


@final
@dataclass(frozen=True)
class MemberPanel:
    """Holds one of the members that are shown in full."""

    role: Role
    member: ReportedRun
    group: Group
    heat_map: HeatMap | None
    traversals: traversals.Traversals


def _panel(role: Role, member: ReportedRun, groups: Sequence[Group]) -> MemberPanel:
    codes = member.run.codes()
    readings = read_latents(codes, member.mig)
    order = [reading.latent for reading in readings]
    return MemberPanel(
        role,
        member,
        _group_of(member, groups),
        None if member.mig is None else heat_map(member.mig, order),
        traversals.traversals(member.run.model(), codes, readings),
    )


def _group_of(member: ReportedRun, groups: Sequence[Group]) -> Group:
    return next(group for group in groups if member in group.members)


def _gap_names(members: Sequence[ReportedRun]) -> list[str]:
    """Returns the factors that have a gap in some member."""
    scores = [member.mig for member in members if member.mig is not None]
    return list(
        dict.fromkeys(name for score in scores for name, gap in score.per_factor.items() if not math.isnan(gap))
    )
