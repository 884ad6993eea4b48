"""Every seed a dot, one row for each setting: a metric of a study as an SVG."""

import math
import statistics

from markupsafe import Markup

from unbraid.show.pages.svg import Axis, Frame, element, family_class, line, rounded_text, text
from unbraid.studies.study_scores import StudyScores

_WIDTH, _ROW = 640.0, 26.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 170.0, 20.0, 30.0, 10.0


def strip_of(scores: StudyScores, metric: str) -> Markup:
    """Draws the seeds of every setting in a metric, with their median. Scores from 0 to 1 have an axis from 0 to 1."""
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
