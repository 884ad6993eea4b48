"""Runs by the folders that hold them."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from unbraid.cli.console import note
from unbraid.errors import RunError, UnbraidError, UntrustedError
from unbraid.runs.run import Run


def open_runs(paths: Iterable[Path], packages: Collection[str] = ()) -> list[Run]:
    """The runs that these folders are or hold, at any depth. A run that is named must be readable; one that is found
    may be passed over. `packages` are those of the user's own classes.
    """
    found: dict[Path, Run] = {}
    for path in paths:
        if not path.is_dir():
            raise RunError(
                f"There is no folder {path}. Name a run, or a folder that holds runs; `unbraid train` makes them."
            )
        if is_run(path):
            found[path.resolve()] = Run.open(path, packages=packages)
        else:
            found |= {run.folder.resolve(): run for run in sorted(_readable(run_folders(path), packages), key=_order)}
    return list(found.values())


def run_folders(folder: Path) -> list[Path]:
    """Every run below the folder. Hidden folders are left alone: what `--force` put aside is in one."""
    found = []
    for parent, children, _ in os.walk(folder, onerror=_tell):
        children[:] = sorted(child for child in children if not child.startswith("."))
        if is_run(Path(parent)):
            found.append(Path(parent))
            children.clear()
    return found


def _tell(error: OSError) -> None:
    note(f"{error.filename} is passed over: it cannot be looked into ({error.strerror}).")


def is_run(folder: Path) -> bool:
    """Whether the folder holds a spec. A link to a spec that is gone counts, so that it is told; a folder that may not
    be entered does not.
    """
    return os.path.lexists(folder / "spec.json")


def finished_among(runs: Iterable[Run], verb: str) -> list[Run]:
    """Those that are finished, with a note on the others. Refused if there are none."""
    runs = list(runs)
    finished = [run for run in runs if run.status == "finished"]
    left_out = [run for run in runs if run.status != "finished"]
    if not finished:
        why = "there are no runs."
        if any(run.status == "unfinished" for run in runs):
            why = (
                f"none of the {len(runs)} runs is finished. Go on with them: unbraid train --resume --out "
                f"{runs[0].folder.parent}"
            )
        elif runs:
            why = (
                f"all {len(runs)} runs failed. `unbraid runs` lists them; train with a smaller learning rate, or with "
                "--max-gradient-norm."
            )
        raise RunError(f"There is nothing to {verb}: {why}")
    if left_out:
        note(
            f"{len(left_out)} of {len(runs)} runs are left out: "
            f"{', '.join(f'{run.name} is {run.status}' for run in left_out)}."
        )
    return finished


def _order(run: Run) -> tuple[Any, ...]:
    """Folder by folder, kin together, their weights and seeds ascending: the names alone would sort by digest, and seed
    10 before seed 2.
    """
    objective = run.spec.objective
    return (
        run.folder.parent,
        type(objective).__name__,
        tuple(objective.hyperparameters.values()),
        run.spec.digest,
        run.seed,
    )


def _readable(folders: Iterable[Path], packages: Collection[str]) -> Iterator[Run]:
    untrusted: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        try:
            yield Run.open(folder, packages=packages)
        except UntrustedError as error:
            untrusted[error.package].append(folder)
        except (UnbraidError, OSError) as error:
            note(f"{folder} is passed over: {error}")
    for package, of_package in untrusted.items():
        several = f"{len(of_package)} runs are passed over (the first is {of_package[0]}): they name"
        single = f"{of_package[0]} is passed over: it names"
        note(
            f"{single if len(of_package) == 1 else several} classes of {package}, which is not imported unless you "
            f"trust it. Then add --packages {package}, or set UNBRAID_PACKAGES={package}."
        )
