"""Models as dots of a plot, each linked to the card of its model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from markupsafe import Markup

from unbraid.show.pages.svg import element
from unbraid.show.report.members import ReportedRun
from unbraid.show.report.shown import Role


@final
@dataclass(frozen=True, eq=False)
class ModelDots:
    """Draws models by their numbers, counted from the best; those shown in full have a ring."""

    numbers: Mapping[int, int]
    shown: Mapping[Role, ReportedRun]

    def number(self, member: ReportedRun) -> int:
        """Returns the place of a model among all, from 1, which is also its address on the page."""
        return self.numbers[id(member)]

    def role(self, member: ReportedRun) -> Role | None:
        return next((role for role, other in self.shown.items() if other is member), None)

    def draw(
        self,
        member: ReportedRun,
        x: float | str,
        y: float,
        radius: float,
        *,
        family: str = "",
        share: float | None = None,
        title: str = "",
    ) -> Markup:
        """Draws a model in the color of its `family`, or inside of it in that of a measure, from 0 to 1 (`share`).

        A collapsed model is hollow. The page adds a title where there is none.
        """
        kinds = ["dot", family, "heated" if share is not None else "hollow" if member.badge else ""]
        style = None if share is None else f"--share:{share}"
        tip = [element("title", title)] if title else []
        number = self.number(member)
        dot = element(
            "circle", *tip, class_=" ".join(filter(None, kinds)), data_m=number, cx=x, cy=y, r=radius, style=style
        )
        ring = element("circle", class_="ring", cx=x, cy=y, r=radius + 3) if self.role(member) else Markup("")
        return ring + dot
