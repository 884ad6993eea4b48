"""SVG elements, plot frames, and layouts in which nothing overlaps."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup, escape

from unbraid.show.pages.axis import Axis, tick_text

Ticks = Sequence[tuple[float, str]]
"""Places along an axis, each with its text."""


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Returns an SVG element. Texts and values are escaped, numbers rounded to two decimals.

    The underscore at the end of a name is dropped (`class_`), others become dashes (`text_anchor`). Attributes that are
    None are left out.

    Examples:
        >>> element("circle", class_="dot", r=3.5, stroke_width=1)
        Markup('<circle class="dot" r="3.5" stroke-width="1"/>')
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(rounded_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    content = Markup("").join(children)  # which escapes what is no markup
    return Markup(f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>")


def text(content: str, x: object, y: float, **attributes: object) -> Markup:
    """Returns a text that starts, ends or is centered at a point, as `text_anchor` says."""
    return element("text", content, x=x, y=y, **attributes)


def line(x1: object, y1: float, x2: object, y2: float, **attributes: object) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def polyline(points: Iterable[tuple[float, float]], tag: str = "polyline", **attributes: object) -> Markup:
    """Returns a line through points, or with `tag="polygon"` the area that it encloses."""
    return element(tag, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), **attributes)


def rounded_text(value: object) -> str:
    """Returns a float with at most two decimals, any other value as it is."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


@final
@dataclass(frozen=True)
class Frame:
    """The size of a plot and its margins, in units of its `viewBox`."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    @property
    def end(self) -> float:
        """The right end of the horizontal axis."""
        return self.width - self.right

    @property
    def base(self) -> float:
        """The height of the horizontal axis, from the top."""
        return self.height - self.bottom

    def x(self, share: float) -> float:
        return self.left + (self.end - self.left) * share

    def y(self, share: float) -> float:
        return self.base - (self.base - self.top) * share

    def y_axis(self, axis: Axis) -> Markup:
        """Draws a line and a number for each tick."""
        return Markup("").join(
            line(self.left, y, self.end, y, class_="grid") + text(name, self.left - 6, y + 4, text_anchor="end")
            for y, name in ((self.y(axis.share(tick)), tick_text(tick)) for tick in axis.ticks)
        )

    def x_axis(self, ticks: Ticks, *, grid: bool = True) -> Markup:
        """Draws a number for each tick, and a line unless there is no `grid`."""
        return Markup("").join(
            (line(x, self.top, x, self.base, class_="grid") if grid else Markup(""))
            + text(name, x, self.base + 16, text_anchor="middle")
            for x, name in ticks
        )

    def titles(self, across: str, up: str) -> Markup:
        """Draws the names of both axes."""
        return text(
            across, (self.left + self.end) / 2, self.height - 8, class_="axis-name", text_anchor="middle"
        ) + text(up, 2, 11, class_="axis-name")

    def svg(self, *children: str, label: str, class_: str | None = "enlarge") -> Markup:
        """Returns the whole plot; `label` describes it to those who cannot see it."""
        size = f"0 0 {self.width:g} {self.height:g}"
        return element("svg", *children, class_=class_, viewBox=size, role="img", aria_label=label)


def swarm(places: Sequence[float], diameter: float) -> list[float]:
    """Returns how far each dot must leave the line so that none overlap: the nearest free place, above before below."""
    offsets: dict[int, float] = {}
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        near = [
            (places[other] - places[index], y)
            for other, y in offsets.items()
            if abs(places[other] - places[index]) < diameter
        ]
        candidates = [0.0, *(y + sign * math.sqrt(diameter**2 - dx**2) for dx, y in near for sign in (-1, 1))]
        free = [y for y in candidates if all(math.hypot(dx, y - other) >= diameter * (1 - 1e-9) for dx, other in near)]
        offsets[index] = min(free, key=lambda y: (abs(y), y))
    return [offsets[index] for index in range(len(places))]
