"""Flags that several commands share, and what their values mean."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from unbraid.errors import SpecError

_MAX_SEEDS = 1000
# A seed is a signed 64-bit integer on the device.
_MAX_SEED = 2**63 - 1

Device = Annotated[
    str, typer.Option(metavar="auto|cpu|cuda", help="Where to compute. auto takes a GPU if there is one.")
]
CheckpointEvery = Annotated[
    str | None,
    typer.Option(
        metavar="STEPS",
        help=(
            "Steps between two checkpoints. By default the clock decides: under 2 % of the time goes into them. One "
            "is also saved on Ctrl-C."
        ),
        show_default=False,
    ),
]
OutFolder = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the runs are kept.")]
Packages = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        envvar="UNBRAID_PACKAGES",
        help="Modules or packages with classes of your own that runs may name: mine, or mine,theirs. Imported.",
        show_default=False,
    ),
]


def parse_packages(text: str | None) -> list[str]:
    """Returns the packages that were named as ones to trust. They may lie in the folder of the command."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if not re.fullmatch(r"[^\W\d]\w*", name):
            raise SpecError(
                f"--packages is {text!r}; expected names to import, separated by commas, such as mine, without dots "
                "and paths: the folder of mine.py is the one that you are in, or one of PYTHONPATH."
            )
    if names and os.getcwd() not in sys.path:  # noqa: PTH109 (a text is wanted)
        sys.path.append(os.getcwd())  # noqa: PTH109 (last, so that no file there takes the place of an installed module)
    return names


def parse_every(text: str | None, flag: str) -> int | None:
    """Returns the number of steps between two events. It is one for all models: no part of what is trained."""
    if text is None:
        return None
    if not re.fullmatch(r"0*[1-9][0-9]{0,17}", text.strip()):
        several = " It sets how to train and not what, so it cannot be swept." if "," in text else ""
        raise SpecError(f"{flag} is {text!r}; expected one whole number from 1 on.{several}")
    return int(text)


def parse_seeds(text: str) -> list[int]:
    """Returns the seeds of `0-7`, `0,3,5`, `4`, or a mixture: 0-3,8."""
    seeds: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"([0-9]{1,19})(?:-([0-9]{1,19}))?", part.strip())):
            raise SpecError(f"--seeds is {text!r}; expected whole numbers from 0 on, such as 4, or 0,3,5, or 0-7.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise SpecError(f"--seeds is {text!r}: {part.strip()} runs backwards. Write {last}-{first}.")
        if last > _MAX_SEED:
            raise SpecError(f"--seeds is {text!r}; the largest seed is {_MAX_SEED}.")
        if len(seeds) + last - first >= _MAX_SEEDS:
            raise SpecError(
                f"--seeds is {text!r}: more than {_MAX_SEEDS} seeds, each a model. Train them a part at a time."
            )
        seeds.extend(range(first, last + 1))
    if len(set(seeds)) < len(seeds):
        raise SpecError(f"--seeds is {text!r}, which names a seed twice. Give each once.")
    return seeds


def parse_steps(text: str | None) -> tuple[int, ...]:
    """Returns the steps after which weights are to be kept: `1000`, or `1000,5000`."""
    parts = [] if text is None else [part.strip().replace("_", "") for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,18}", part) and int(part) > 0 for part in parts):
        raise SpecError(f"--snapshots is {text!r}; expected steps from 1 on, such as 1000, or 1000,5000.")
    return tuple(sorted({int(part) for part in parts}))
