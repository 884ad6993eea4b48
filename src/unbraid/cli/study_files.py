"""Flags that the commands of a study share, and amounts of time."""

import re
from pathlib import Path
from typing import Annotated

import typer

from unbraid.errors import SpecError

StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The JSON of a study.", show_default=False)]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_seconds(text: str) -> float:
    """Returns `90s`, `20m`, `1.5h` or `1h30m` in seconds; a number alone is minutes."""
    plain = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", plain):
        return float(plain) * 60
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", plain)
    if not parts or "".join(number + unit for number, unit in parts) != plain:
        raise SpecError(f"--budget is {text!r}; expected a time such as 90s, 20m, 1h30m, or 20 for minutes.")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
