"""SVG elements, axes with round numbers, plot frames, colors of families, and positions of dots without overlap."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from markupsafe import Markup, escape

from unbraid.figures.style import family_number

Ticks = Sequence[tuple[float, str]]
"""Pairs of a position on an axis and the text of its tick label."""

STRONG = 2 / 3
"""The strength of a background color above which text is light instead of dark."""

_NUM_COLORS = 8


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Returns an SVG element. Texts and values are escaped, and floats are rounded to two decimals.

    A trailing underscore in the name of an attribute is removed (`class_`), and other underscores become dashes
    (`text_anchor`). Attributes that are None are left out.

    Examples:
        >>> element("circle", class_="dot", r=3.5, stroke_width=1)
        Markup('<circle class="dot" r="3.5" stroke-width="1"/>')
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(rounded_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    content = Markup("").join(children)  # escapes plain text
    return Markup(f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>")


def text(content: str, x: object, y: float, **attributes: object) -> Markup:
    """Returns a text element at a point. The attribute `text_anchor` sets the alignment."""
    return element("text", content, x=x, y=y, **attributes)


def line(x1: object, y1: float, x2: object, y2: float, **attributes: object) -> Markup:
    """Returns a line from (x1, y1) to (x2, y2)."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def polyline(points: Iterable[tuple[float, float]], tag: str = "polyline", **attributes: object) -> Markup:
    """Returns a line through points or, with `tag="polygon"`, a filled area."""
    return element(tag, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), **attributes)


def rounded_text(value: object) -> str:
    """Returns a float as text with at most two decimals, and any other value as `str(value)`."""
    return f"{value:z.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


@final
@dataclass(frozen=True)
class Axis:
    """An axis with `ticks` at round numbers. The axis spans `ends`, by default the first to the last tick."""

    ticks: tuple[float, ...]
    ends: tuple[float, float] | None = None

    @classmethod
    def over(cls, values: Sequence[float], *, steps: int = 4) -> "Axis":
        """Returns the shortest axis with about `steps` round steps that contains all values.

        A round step is 1, 2, 2.5 or 5 times a power of ten. The axis begins at zero if the smallest value is positive
        and below a third of the largest value.
        """
        low, high = min(values), max(values)
        if 0 < low < high / 3:
            low = 0.0
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            low, high = low - (abs(low) / 10 or 0.5), high + (abs(high) / 10 or 0.5)
        step = round_step((high - low) / steps)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls(tuple(round(step * k, 12) for k in range(first, last + 1)))

    @classmethod
    def until(cls, last: float, *, steps: int = 4) -> "Axis":
        """Returns an axis from 0 to `last`. A tick at `last` replaces a nearby round tick."""
        step = round_step(last / steps)
        round_numbers = [round(step * k, 12) for k in range(math.ceil(last / step))]
        ticks = [tick for tick in round_numbers if last - tick > 0.4 * step]
        return cls((*ticks, last), (0.0, last))

    def share(self, value: float) -> float:
        """Returns the position of a value on the axis, from 0 at the beginning to 1 at the end."""
        low, high = self.ends or (self.ticks[0], self.ticks[-1])
        return (value - low) / (high - low)


def tick_text(value: float) -> str:
    """Returns the text of a tick label, such as "1k" for 1000 and "−0.5" for -0.5."""
    number = f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"
    return number.replace("-", "−")


def round_step(rough: float) -> float:
    """Returns the smallest number >= `rough` that is 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(multiple for multiple in (1, 2, 2.5, 5, 10) if rough <= multiple * power * (1 + 1e-9))


@final
@dataclass(frozen=True)
class Frame:
    """The size and the margins of a plot, in units of the `viewBox`."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    @property
    def end(self) -> float:
        """The x-coordinate of the right end of the x-axis."""
        return self.width - self.right

    @property
    def base(self) -> float:
        """The y-coordinate of the x-axis, measured from the top."""
        return self.height - self.bottom

    def x(self, share: float) -> float:
        return self.left + (self.end - self.left) * share

    def y(self, share: float) -> float:
        return self.base - (self.base - self.top) * share

    def y_axis(self, axis: Axis) -> Markup:
        """Draws a grid line and a label for each tick of the y-axis."""
        return Markup("").join(
            line(self.left, y, self.end, y, class_="grid") + text(name, self.left - 6, y + 4, text_anchor="end")
            for y, name in ((self.y(axis.share(tick)), tick_text(tick)) for tick in axis.ticks)
        )

    def x_axis(self, ticks: Ticks, *, grid: bool = True) -> Markup:
        """Draws a label and, if `grid`, a grid line for each tick of the x-axis."""
        return Markup("").join(
            (line(x, self.top, x, self.base, class_="grid") if grid else Markup(""))
            + text(name, x, self.base + 16, text_anchor="middle")
            for x, name in ticks
        )

    def titles(self, across: str, up: str) -> Markup:
        """Draws the name `across` of the x-axis and the name `up` of the y-axis."""
        return text(
            across, (self.left + self.end) / 2, self.height - 8, class_="axis-name", text_anchor="middle"
        ) + text(up, 2, 11, class_="axis-name")

    def svg(self, *children: str, label: str, class_: str | None = "enlarge") -> Markup:
        """Returns the plot with these elements as SVG. `label` is the description for screen readers."""
        size = f"0 0 {self.width:g} {self.height:g}"
        return element("svg", *children, class_=class_, viewBox=size, role="img", aria_label=label)


def swarm(places: Sequence[float], diameter: float) -> list[float]:
    """Returns the vertical offset of each dot, so that dots do not overlap and offsets are as small as possible."""
    offsets: dict[int, float] = {}
    last: list[int] = []
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        last = [other for other in last if places[index] - places[other] < diameter]
        near = [(places[other] - places[index], offsets[other]) for other in last]
        candidates = [0.0, *(y + sign * math.sqrt(diameter**2 - dx**2) for dx, y in near for sign in (-1, 1))]
        free = [y for y in candidates if all(math.hypot(dx, y - other) >= diameter * (1 - 1e-9) for dx, other in near)]
        offsets[index] = min(free, key=lambda y: (abs(y), y))
        last.append(index)
    return [offsets[index] for index in range(len(places))]


def family_class(family: str) -> str:
    """Returns the CSS classes of the color of a family: "g3", or "g3 again" (dashed lines) for a repeated color."""
    number = family_number(family)
    return f"g{number % _NUM_COLORS}" + (" again" if number >= _NUM_COLORS else "")
