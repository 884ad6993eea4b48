"""A box plot as SVG: every value a dot over the box of its group, for a README on white or on black."""

import html
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from unbraid.pages.axis import Axis, tick_text
from unbraid.report.strip_plot import swarm

WIDTH, HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 76, 52
_BOX, _DOT = 92.0, 9.0
_COLOURS = ("#6b7f95", "#2a78c2", "#d1631b", "#3c8f5a", "#8a5fb0")
_STYLE = (
    "text{font:13px "
    "system-ui,sans-serif}.title{font-size:17px;font-weight:600}.small{font-size:11px}.named{font-weight:600}"
    ".ink{fill:#17212b}.soft{fill:#566370}.line{stroke:#8886;fill:none}"
    ".median{stroke-width:3}.box{rx:3px;fill-opacity:0.16;stroke-width:1.5}.dot{stroke:#fff;stroke-width:1}"
    "@media (prefers-color-scheme:dark){.ink{fill:#e8edf2}.soft{fill:#a5b1bd}.dot{stroke:#0d1117}}"
)


@final
@dataclass(frozen=True)
class Summary:
    """Least, quartiles and greatest of some values, of which there is at least one."""

    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        one = len(values) == 1
        quarter, median, three_quarters = (
            [values[0]] * 3 if one else statistics.quantiles(values, n=4, method="inclusive")
        )
        return cls(min(values), quarter, median, three_quarters, max(values))


def box_plot(groups: Mapping[str, Sequence[float]], *, title: str, subtitle: str, label: str, highest: float) -> str:
    """A box from quartile to quartile with its median named, whiskers to the least and the greatest, from 0 to
    `highest` or the greatest value.
    """
    axis = Axis.over([0.0, max([highest, *(value for values in groups.values() for value in values)])], steps=6)
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(groups))
    drawn = [
        _group(name, values, _LEFT + (place + 0.5) * step, axis, _COLOURS[place % len(_COLOURS)])
        for place, (name, values) in enumerate(groups.items())
    ]
    middle = _TOP + (HEIGHT - _TOP - _BOTTOM) / 2
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<text class="ink title" x="{_LEFT}" y="30">{html.escape(title)}</text>',
            f'<text class="soft" x="{_LEFT}" y="52">{html.escape(subtitle)}</text>',
            (
                f'<text class="soft" x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 '
                f'{middle})">{html.escape(label)}</text>'
            ),
            *(_tick(axis, tick) for tick in axis.ticks),
            *drawn,
            "</svg>\n",
        ]
    )


def _tick(axis: Axis, value: float) -> str:
    y = _height(axis, value)
    return (
        f'<path class="line" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
        f'<text class="soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick_text(value)}</text>'
    )


def _group(name: str, values: Sequence[float], x: float, axis: Axis, colour: str) -> str:
    label = f'<text class="ink" x="{x:.1f}" y="{HEIGHT - _BOTTOM + 22}" text-anchor="middle">{html.escape(name)}</text>'
    count = (
        f'<text class="soft small" x="{x:.1f}" y="{HEIGHT - _BOTTOM + 39}" text-anchor="middle">{len(values)} '
        "seeds</text>"
    )
    if not values:
        return label + count
    box, half = Summary.of(values), _BOX / 2
    low, quarter, median, upper, high = (
        _height(axis, value) for value in (box.low, box.quarter, box.median, box.three_quarters, box.high)
    )
    dots = zip(values, swarm([_height(axis, value) for value in values], _DOT), strict=True)
    return "\n".join(
        [
            (
                f'<path d="M{x:.1f} {low:.1f}V{quarter:.1f}M{x:.1f} {upper:.1f}V{high:.1f}" stroke="{colour}" '
                'stroke-width="1.5"/>'
            ),
            (
                f'<rect class="box" x="{x - half:.1f}" y="{upper:.1f}" width="{_BOX:.0f}"'
                f' height="{quarter - upper:.1f}" fill="{colour}" stroke="{colour}"/>'
            ),
            f'<path class="median" d="M{x - half:.1f} {median:.1f}h{_BOX:.0f}" stroke="{colour}"/>',
            *(
                f'<circle class="dot" cx="{x + away:.1f}" cy="{_height(axis, value):.1f}" r="{_DOT / 2}" '
                f'fill="{colour}"><title>{value:.3f}</title></circle>'
                for value, away in dots
            ),
            (
                f'<text class="named" x="{x + half + 6:.1f}" y="{median + 4.5:.1f}" '
                f'fill="{colour}">{box.median:.2f}</text>'
            ),
            label + count,
        ]
    )


def _height(axis: Axis, value: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * axis.share(value)
