"""Cell: a number of the table, and what it says of a metric."""

import math
from dataclasses import dataclass
from typing import Literal, final

Mark = Literal["good", "bad", "between", "none"]


@final
@dataclass(frozen=True)
class Cell:
    """Holds a number, how it is shown, whether it speaks for the metric or against it, and what that means. What it is
    good for, or not, is a phrase of the verdict; some cells have none.
    """

    text: str
    value: float = math.nan
    mark: Mark = "none"
    meaning: str = ""
    use: str = ""
    avoid: str = ""
