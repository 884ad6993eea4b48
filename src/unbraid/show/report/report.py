"""Writer of the HTML report of runs."""

import datetime
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import final

from markupsafe import Markup

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.config.annotations import in_short
from unbraid.errors import RunError
from unbraid.metrics.latent_readings import Reading, read_latents
from unbraid.metrics.scoring import Scoring, named
from unbraid.metrics.unused_latents import UNUSED
from unbraid.show.pages.page import content_policy, filled
from unbraid.show.report import loss_curves, model_pictures
from unbraid.show.report.code_plots import CodeCurves, CodeMaps, code_curves, code_maps
from unbraid.show.report.groups import Group, group_members
from unbraid.show.report.heat_map import HeatMap, mig_heat_map
from unbraid.show.report.measures import Measure, measures_of, shown_members
from unbraid.show.report.members import TRAINING, ReportedRun, Role, read_members, why_left_out
from unbraid.show.report.provenance import spec_table, training_data, training_facts
from unbraid.show.report.strip_plot import StripPlot, score_strips
from unbraid.show.report.summary import CURVES, summary_of, thing_of, title_of
from unbraid.show.report.sweeps import (
    RateDistortionPlot,
    Sweep,
    SweepPlot,
    rate_distortion_plot,
    sweep_plot,
    sweeps_of,
)
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import train_command

EXPLORER = "explorer.html"
"""The file name of the explorer. The report links to a file with this name in the same folder."""

# The maximum number of dots on the page, and the number of dots that have the size of a strip.
_MAX_DOTS, _DOTS_A_STRIP = 12_000, 10
# The maximum number of settings with a strip, outside of sweeps.
MAX_STRIPS = 40


@final
@dataclass(frozen=True, eq=False)
class MeasureFigures:
    """Figures of one measure: a plot of each sweep, a strip plot of other settings, and the rate-distortion plot."""

    measure: Measure
    sweeps: tuple[SweepPlot, ...]
    strips: StripPlot | None
    plane: RateDistortionPlot | None


@final
@dataclass(frozen=True, eq=False)
class MemberPanel:
    """A run that is shown in full, with its figures."""

    member: ReportedRun
    group: Group
    readings: list[Reading]
    heat_map: HeatMap | None
    traversals: model_pictures.Traversals
    curves: CodeCurves | None
    maps: CodeMaps | None


@final
@dataclass(frozen=True, eq=False)
class Page:
    """The content of a report: runs in groups, measures, and sweeps.

    The first measure sorts the runs. `others` has the groups outside of all sweeps.
    """

    members: tuple[ReportedRun, ...]
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]
    sweeps: tuple[Sweep, ...]
    others: tuple[Group, ...]

    @classmethod
    def from_members(cls, members: Sequence[ReportedRun], by: str | None = None) -> "Page":
        """Returns the content of the report of these runs, sorted by the measure named `by`."""
        measures = measures_of(members, by)
        numbers = {id(member): number for number, member in enumerate(measures[0].order(members), 1)}
        roles = {id(member): role for role, member in shown_members(members, measures[0]).items()}
        numbered = [replace(each, number=numbers[id(each)], role=roles.get(id(each))) for each in members]
        groups = group_members(numbered)
        sweeps, others = sweeps_of(groups)
        return cls(tuple(numbered), tuple(groups), tuple(measures), tuple(sweeps), tuple(others))

    @property
    def measure(self) -> Measure:
        return self.measures[0]

    @cached_property
    def ordered(self) -> list[tuple[ReportedRun, Group]]:
        """All runs with their groups, best first."""
        every = [(member, group) for group in self.groups for member in group.members]
        return sorted(every, key=lambda each: each[0].number)

    @property
    def shown(self) -> dict[Role, ReportedRun]:
        """The runs that are shown in full, best first, by role."""
        return {member.role: member for member, _ in self.ordered if member.role}

    @cached_property
    def figures(self) -> list[MeasureFigures]:
        """Figures of the first measures. The size of the page limits their number."""
        most = max(1, _MAX_DOTS // (2 * len(self.members) + _DOTS_A_STRIP * len(self.stripped)))
        return [self._figures(measure) for measure in self.measures[:most]]

    @cached_property
    def panels(self) -> list[MemberPanel]:
        return [self._panel(member, group) for member, group in self.ordered if member.role]

    @cached_property
    def gap_names(self) -> list[str]:
        """The factors whose gap in MIG is defined for at least one run."""
        scores = [member.mig for member in self.members if member.mig is not None]
        found = (name for score in scores for name, gap in score.per_factor.items() if not math.isnan(gap))
        return list(dict.fromkeys(found))

    @cached_property
    def stripped(self) -> list[Group]:
        """The groups in the strip plot: groups outside of sweeps, limited to the best groups."""
        if len(self.others) <= MAX_STRIPS:
            return list(self.others)
        best = dict.fromkeys(group for _, group in self.ordered if group in self.others)
        chosen = list(best)[:MAX_STRIPS]
        return [group for group in self.others if group in chosen]

    def _figures(self, measure: Measure) -> MeasureFigures:
        return MeasureFigures(
            measure,
            tuple(sweep_plot(sweep, measure) for sweep in self.sweeps),
            score_strips(self.stripped, measure) if self.stripped else None,
            rate_distortion_plot(self.groups, self.sweeps, measure),
        )

    def _panel(self, member: ReportedRun, group: Group) -> MemberPanel:
        codes = member.run.codes()
        readings = read_latents(codes, member.mig)
        order = [reading.latent for reading in readings]
        return MemberPanel(
            member,
            group,
            readings,
            None if member.mig is None else mig_heat_map(member.mig, order),
            model_pictures.traversals(member.run.pictures, readings),
            code_curves(codes, readings, group.color),
            code_maps(codes, readings),
        )


def write_report(
    runs: Sequence[Run],
    path: Path | str,
    *,
    title: str | None = None,
    date: datetime.date | None = None,
    factors: str | Sequence[str] = (),
    by: str | None = None,
    figures: Path | str | None = None,
) -> Path:
    """Writes an HTML report of these runs as a single file that needs no network and no JavaScript. Returns the path.

    Runs without a MIG are scored first, and their scores are saved. Unfinished runs and runs without weights are only
    listed. The same runs, title and `date` (today by default) produce the same bytes. `factors` has the names of the
    factors to score, by default all. `by` is the name of the saved score that sorts and colors the models, by default
    "mig". If `figures` is a folder, each figure is also written to this folder as SVG and PNG.

    Examples:
        >>> from unbraid import MLP, Autoencoder, DSprites, RunSpec, train
        >>> hearts = DSprites(resolution=32, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=4)
        >>> tiny = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)))
        >>> runs = train(RunSpec(hearts, tiny, num_steps=2, batch_size=8), progress=False)
        >>> write_report(runs, "report.html").name
        'report.html'
    """
    if isinstance(runs, (str, Path, Run)) or not all(isinstance(run, Run) for run in runs):
        raise RunError(f"Expected `runs` to be a list of Run, got {in_short(runs)}. Pass runs_in(folder), for example.")
    finished = [run for run in runs if run.has_model]
    if not finished:
        states = ", ".join(f"{run.name} {why_left_out(run)}" for run in runs[:3]) or "no runs were given"
        raise RunError(f"Expected at least one finished run with weights, but {states}. List runs with `unbraid runs`.")
    path = Path(path)
    page = Page.from_members(read_members(finished, Scoring(factors=named(factors))), by)
    left_out = [(run.name, why_left_out(run)) for run in runs if not run.has_model]
    explorer = EXPLORER if path.with_name(EXPLORER).exists() else None
    html = render_report(page, left_out, title, date, _command(finished, factors, by), explorer)
    # Names of folders may be invalid Unicode, which UTF-8 cannot encode.
    files.write_bytes(path, html.encode("utf-8", errors="replace"))
    if figures is not None:
        from unbraid.show.report.report_figures import write_figures

        write_figures(page, Path(figures))
    return path


def render_report(
    page: Page,
    left_out: Sequence[tuple[str, str]],
    title: str | None,
    date: datetime.date | None,
    command: str = "",
    explorer: str | None = None,
) -> str:
    """Returns the HTML of the report. `left_out` pairs the names of runs without a model with the reasons."""
    script = Markup(filled("report.js"))
    best = next(iter(page.shown.values()))
    shared, differing = spec_table([group.spec for group in page.groups])
    values = {
        "page": page,
        "title": title or title_of(page.groups),
        "summary": summary_of(page.groups, page.measure, best, page.gap_names),
        "date": date or datetime.datetime.now(datetime.UTC).date(),
        "version": __version__,
        "script": script,
        "policy": content_policy(script),
        "explorer": explorer,
        "left_out": left_out,
        "measure": page.measure,
        "groups": page.groups,
        "panels": page.panels,
        "cards": model_pictures.cards(page.ordered),
        "shares": page.measure.shares([page.measure.value(member) for member, _ in page.ordered]),
        "reconstructions": model_pictures.reconstructions(page.shown),
        "samples": model_pictures.prior_samples(page.shown),
        "loss_panels": loss_curves.loss_panels(page.groups),
        "shared": shared,
        "differing": differing,
        "data": training_data(page.groups),
        "facts": training_facts(page.members),
        "commands": list(dict.fromkeys(train_command(group.spec, group.seeds) for group in page.groups)),
        "command": command,
        "mig_settings": {} if best.mig is None else best.mig.settings,
        "gap_names": page.gap_names,
        "unscored": [m.run.name for m in page.members if math.isnan(page.measure.value(m))],
        "has_thin_curves": len(page.members) <= loss_curves.MAX_THIN,
        "positions": model_pictures.POSITIONS,
        "unused": UNUSED,
        "thing": thing_of(page.groups),
        "curves_note": CURVES if thing_of(page.groups) == "vector" else "",
        "training": TRAINING,
        "num_hard": max((m.hard.num_images for m in page.members if m.hard is not None), default=0),
    }
    return filled("report.html", values)


def _command(runs: Sequence[Run], factors: str | Sequence[str], by: str | None) -> str:
    """Returns the command that writes this page. It must be run in the parent folder of the folders of runs."""
    folders = list(dict.fromkeys(run.folder.resolve().parent.name or "." for run in runs))
    chosen = ["--factors", ",".join(named(factors))] if named(factors) else []
    return shlex.join(["unbraid", "report", *folders, *chosen, *(["--by", by] if by else [])])
