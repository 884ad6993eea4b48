"""Which models of a report are shown in full: the best, the one in the middle and the worst."""

import math
from collections.abc import Sequence
from typing import Literal

from unbraid.show.report.measures import Measure
from unbraid.show.report.members import ReportedRun

Role = Literal["only", "best", "middle", "worst"]


def shown_members(members: Sequence[ReportedRun], measure: Measure) -> dict[Role, ReportedRun]:
    """Returns the best, the middle and the worst member; fewer where there are fewer.

    Of an even number the middle is the lower of two.
    """
    ordered = measure.order([member for member in members if not math.isnan(measure.value(member))]) or list(members)
    if len(ordered) == 1:
        return {"only": ordered[0]}
    if len(ordered) == 2:
        return {"best": ordered[0], "worst": ordered[1]}
    return {"best": ordered[0], "middle": ordered[len(ordered) // 2], "worst": ordered[-1]}
