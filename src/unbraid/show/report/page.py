"""What a report shows, and the page that it is shown on."""

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from markupsafe import Markup

from unbraid._internal.version import __version__
from unbraid.metrics.latent_readings import Reading, read_latents
from unbraid.metrics.unused_latents import UNUSED
from unbraid.show.pages.page import content_policy, filled
from unbraid.show.report import latent_pictures, loss_curves
from unbraid.show.report.cards import cards
from unbraid.show.report.code_plots import CodeCurves, CodeMaps, code_curves, code_maps
from unbraid.show.report.groups import Group, group_members
from unbraid.show.report.heat_map import HeatMap, mig_heat_map
from unbraid.show.report.measures import Measure, Role, measures_of, shown_members
from unbraid.show.report.members import TRAINING, ReportedRun
from unbraid.show.report.plane import RateDistortionPlot, rate_distortion_plot
from unbraid.show.report.provenance import spec_table, training_data, training_facts
from unbraid.show.report.strip_plot import ModelDots, StripPlot, score_strips
from unbraid.show.report.summary import summary_of, title_of
from unbraid.show.report.sweeps import Sweep, SweepPlot, sweep_plot, sweeps_of
from unbraid.training.runs.spec_text import train_command

# Limits the page of many models with many scores; a strip is as large as some dots.
_MAX_DOTS, _DOTS_A_STRIP = 12_000, 10
# Of more settings outside of sweeps, the best have a strip.
MAX_STRIPS = 40


@final
@dataclass(frozen=True, eq=False)
class MeasureFigures:
    """Figures of one measure: a plot for each sweep, strips for all other settings, and the plane."""

    measure: Measure
    sweeps: tuple[SweepPlot, ...]
    strips: StripPlot | None
    plane: RateDistortionPlot | None


@final
@dataclass(frozen=True, eq=False)
class MemberPanel:
    """A member that is shown in full."""

    role: Role
    member: ReportedRun
    group: Group
    readings: list[Reading]
    heat_map: HeatMap | None
    traversals: latent_pictures.Traversals
    curves: CodeCurves | None
    maps: CodeMaps | None


@final
@dataclass(frozen=True, eq=False)
class Page:
    """The content of a report: its members in groups, measures, and the members that are shown in full.

    The first measure sorts the members.
    """

    members: tuple[ReportedRun, ...]
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]
    shown: dict[Role, ReportedRun]
    sweeps: tuple[Sweep, ...]
    others: tuple[Group, ...]

    @classmethod
    def from_members(cls, members: Sequence[ReportedRun], by: str | None = None) -> "Page":
        """Returns the page of these members, sorted by the measure of this name."""
        measures, groups = measures_of(members, by), group_members(members)
        sweeps, others = sweeps_of(groups)
        shown = shown_members(members, measures[0])
        return cls(tuple(members), tuple(groups), tuple(measures), shown, tuple(sweeps), tuple(others))

    @property
    def measure(self) -> Measure:
        return self.measures[0]

    @cached_property
    def ordered(self) -> list[tuple[ReportedRun, Group]]:
        """Every member with its group, best first."""
        return [(member, self.group_of(member)) for member in self.measure.order(self.members)]

    @cached_property
    def dots(self) -> ModelDots:
        return ModelDots({id(member): number for number, (member, _) in enumerate(self.ordered, 1)}, self.shown)

    @cached_property
    def figures(self) -> list[MeasureFigures]:
        """Figures of as many measures as the page has room for, the first in any case."""
        most = max(1, _MAX_DOTS // (2 * len(self.members) + _DOTS_A_STRIP * len(self.stripped)))
        return [self._figures(measure) for measure in self.measures[:most]]

    @cached_property
    def panels(self) -> list[MemberPanel]:
        return [self._panel(role, member) for role, member in self.shown.items()]

    @cached_property
    def gap_names(self) -> list[str]:
        """The factors that have a gap in some member."""
        scores = [member.mig for member in self.members if member.mig is not None]
        found = (name for score in scores for name, gap in score.per_factor.items() if not math.isnan(gap))
        return list(dict.fromkeys(found))

    @cached_property
    def stripped(self) -> list[Group]:
        """The groups that have a strip: all that are in no sweep, or the best of them, in their order."""
        if len(self.others) <= MAX_STRIPS:
            return list(self.others)
        best = {id(self.group_of(member)): None for member, group in self.ordered if group in self.others}
        chosen = list(best)[:MAX_STRIPS]
        return [group for group in self.others if id(group) in chosen]

    def group_of(self, member: ReportedRun) -> Group:
        return self._groups_by_member[id(member)]

    @cached_property
    def _groups_by_member(self) -> dict[int, Group]:
        return {id(member): group for group in self.groups for member in group.members}

    def _figures(self, measure: Measure) -> MeasureFigures:
        return MeasureFigures(
            measure,
            tuple(sweep_plot(sweep, measure, self.dots) for sweep in self.sweeps),
            score_strips(self.stripped, measure, self.dots) if self.stripped else None,
            rate_distortion_plot(self.groups, self.sweeps, measure, self.dots),
        )

    def _panel(self, role: Role, member: ReportedRun) -> MemberPanel:
        codes = member.run.codes()
        readings = read_latents(codes, member.mig)
        order = [reading.latent for reading in readings]
        return MemberPanel(
            role,
            member,
            self.group_of(member),
            readings,
            None if member.mig is None else mig_heat_map(member.mig, order),
            latent_pictures.traversals(member.run.pictures, readings),
            code_curves(codes, readings, self.group_of(member).color),
            code_maps(codes, readings),
        )


def render_report(
    page: Page,
    left_out: Sequence[tuple[str, str]],
    title: str | None,
    date: datetime.date,
    *,
    command: str = "unbraid report",
    explorer: str | None = None,
) -> str:
    """Returns the page as text."""
    script = Markup(filled("report.js"))
    best = next(iter(page.shown.values()))
    shared, differing = spec_table([group.spec for group in page.groups])
    values: Mapping[str, Any] = {
        "page": page,
        "title": title or title_of(page.groups),
        "summary": summary_of(page.groups, page.measure, best, page.gap_names),
        "date": date,
        "version": __version__,
        "script": script,
        "policy": content_policy(script),
        "explorer": explorer,
        "left_out": left_out,
        "measure": page.measure,
        "groups": page.groups,
        "panels": page.panels,
        "cards": cards(page.ordered, page.shown),
        "shares": page.measure.shares([page.measure.value(member) for member, _ in page.ordered]),
        "reconstructions": latent_pictures.reconstructions(page.shown),
        "samples": latent_pictures.prior_samples(page.shown),
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
        "positions": latent_pictures.POSITIONS,
        "unused": UNUSED,
        "training": TRAINING,
        "num_hard": max((m.hard.num_images for m in page.members if m.hard is not None), default=0),
        "number_of": page.dots.number,
    }
    return filled("report.html", values)
