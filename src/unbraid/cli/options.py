"""Arguments and options shared by several commands, and parsers of their values."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unbraid._internal import files
from unbraid.errors import SpecError

_MAX_SEEDS = 1000
_MAX_SEED = 2**63 - 1  # of a signed 64-bit integer, as on the device
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
RunFolders = Annotated[list[Path], typer.Argument(metavar="RUNS", help="Runs, or folders of runs.")]
StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The JSON file of a study.")]
Device = Annotated[
    str, typer.Option(metavar="auto|cpu|cuda|mps", help="The device. auto is an NVIDIA GPU if there is one.")
]
OutFolder = Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the runs.")]
Page = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write, an .html file.")]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="The headline of the page.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Snapshots = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Also keep the weights after these steps, such as 1000,5000.")
]
Packages = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        envvar="UNBRAID_PACKAGES",
        help="Import the modules or packages that define your own classes: mine, or mine,theirs.",
    ),
]


def check_target(flag: str, path: Path, suffixes: Sequence[str], *, force: bool) -> None:
    """Raises SpecError if the file named by a flag has a wrong suffix, is not writable, or exists (without `force`)."""
    if path.suffix not in suffixes:
        raise SpecError(f"{flag} is {path}; expected a file that ends in {', '.join(suffixes)}. Name such a file.")
    files.check_writable(path)
    if path.exists() and not force:
        raise SpecError(f"{flag} is {path}, which exists. Name a new file, or overwrite the file with --force.")


def parse_names(text: str | None) -> list[str]:
    """Returns the names in a comma-separated text."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def parse_packages(text: str | None) -> list[str]:
    """Returns the names of the packages to import, and adds the current folder to `sys.path`."""
    names = parse_names(text)
    for name in names:
        if not re.fullmatch(r"[^\W\d]\w*", name):
            raise SpecError(
                f"--packages is {text!r}; expected importable names without dots or paths, separated by commas. Name "
                "a module such as mine, for mine.py in the current folder or in a folder of PYTHONPATH."
            )
    if names and os.getcwd() not in sys.path:  # noqa: PTH109 (sys.path holds strings)
        sys.path.append(os.getcwd())  # noqa: PTH109 (last, so that no local file shadows an installed module)
    return names


def parse_seeds(text: str) -> list[int]:
    """Returns the seeds in a text such as `4`, `0,3,5`, `0-7` or `0-3,8`."""
    seeds: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"([0-9]{1,19})(?:-([0-9]{1,19}))?", part.strip())):
            raise SpecError(f"--seeds is {text!r}; expected integers >= 0. Write for example 4, or 0,3,5, or 0-7.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise SpecError(f"--seeds is {text!r}; expected the smaller seed first. Write {last}-{first}.")
        if last > _MAX_SEED:
            raise SpecError(f"--seeds is {text!r}; expected seeds <= {_MAX_SEED}. Choose smaller seeds.")
        if len(seeds) + last - first >= _MAX_SEEDS:
            raise SpecError(f"--seeds is {text!r}; expected at most {_MAX_SEEDS} seeds. Train fewer seeds at a time.")
        seeds.extend(range(first, last + 1))
    if len(set(seeds)) < len(seeds):
        raise SpecError(f"--seeds is {text!r}; expected different seeds. Give each seed once.")
    return seeds


def parse_steps(text: str | None) -> tuple[int, ...]:
    """Returns the steps of snapshots in a text such as `1000` or `1000,5000`."""
    parts = [] if text is None else [part.strip().replace("_", "") for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,18}", part) and int(part) > 0 for part in parts):
        raise SpecError(f"--snapshots is {text!r}; expected integers >= 1. Write for example 1000, or 1000,5000.")
    return tuple(sorted({int(part) for part in parts}))


def parse_seconds(text: str) -> float:
    """Returns the seconds in a text such as `90s`, `20m`, `1.5h` or `1h30m`. A number without a unit is in minutes."""
    plain = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", plain):
        return float(plain) * 60
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", plain)
    if not parts or "".join(number + unit for number, unit in parts) != plain:
        raise SpecError(f"--budget is {text!r}; expected a duration. Write for example 90s, 1h30m, or 20 (minutes).")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
