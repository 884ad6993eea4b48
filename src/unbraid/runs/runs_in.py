"""runs_in: the runs of a folder, chosen by what they are, and as a table."""

import dataclasses
import functools
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from unbraid import files
from unbraid.errors import RunError, SpecError, UnbraidError, UntrustedError
from unbraid.evaluation.scoring import Scoring
from unbraid.names import suggestion
from unbraid.recipes import text_of
from unbraid.recipes.paths import fields_of
from unbraid.recipes.registry import short_name
from unbraid.runs.run import Run
from unbraid.runs.run_source import changed_source
from unbraid.runs.spec_words import worth_a_word
from unbraid.schedule import Schedule
from unbraid.source import MAIN
from unbraid.table import Table

log = logging.getLogger(__name__)


@final
class Runs(tuple[Run, ...]):
    """Holds runs in order: a tuple that can be narrowed down and shown as a table."""

    __slots__ = ()

    def where(self, conditions: Mapping[str, Any] | None = None, /, **fields: Any) -> "Runs":
        """Returns those of the runs that meet all conditions, as `runs_in` takes them."""
        if not isinstance(conditions, Mapping | None):
            raise SpecError(f'The conditions are {conditions!r}; expected values by field: {{"objective.beta": 4}}.')
        wanted = {**(conditions or {}), **fields}
        known = [_known(run) for run in self]
        names = {path for each in known for path in each}
        for name in wanted:
            if known and name not in names:
                raise SpecError(f"None of these {len(self)} runs has a field {name!r}. {suggestion(name, names)}")
        chosen = zip(self, known, strict=True)
        return Runs(
            run for run, has in chosen if all(n in has and _meets(has[n], value) for n, value in wanted.items())
        )

    def table(self) -> Table:
        """Returns a row for each run: its objective with its weights, the fields of the spec in which these runs
        differ, its seed, how far it is, and the scores that were kept of it, the latest of each metric.
        """
        told = [{path: _plain(value) for path, value in fields_of(run.spec).items()} for run in self]
        telling = _telling(told) | {f"objective.{name}" for run in self for name in worth_a_word(run.spec.objective)}
        return Table.of(
            _row(run, {path: value for path, value in has.items() if path in telling})
            for run, has in zip(self, told, strict=True)
        )

    def to_pandas(self) -> Any:
        """Returns the table as a pandas DataFrame, where pandas is installed."""
        return self.table().to_pandas()

    def __str__(self) -> str:
        return str(self.table()) if self else "no runs"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_() if self else "no runs"


def runs_in(
    folder: Path | str = "runs",
    conditions: Mapping[str, Any] | None = None,
    /,
    *,
    packages: Collection[str] = (),
    trust: str | None = None,
    **fields: Any,
) -> Runs:
    """Returns the runs that a folder is or holds, at any depth: kin together, their weights and seeds ascending.

    Conditions are values of fields of the spec, by name (`runs_in("runs", objective=BetaVAE, num_steps=5000)`) or by
    path (`runs_in("runs", {"objective.beta": 4})`), and of `seed` and `status`. A value that is a class asks for
    recipes of that class, a text for the recipe of that name ("beta-vae"), and a function is asked whether a value will
    do: `{"objective.beta": lambda beta: beta > 1}`. A run without such a field is left out; one that cannot be read is
    passed over, with a warning. `packages` are those of classes of your own, and `trust="source"` executes what
    the runs keep of them, as in `Run.open`.

    Examples:
        >>> from unbraid import MLP, Autoencoder, BetaVAE, DSprites, RunSpec, grid, train
        >>> hearts = DSprites(resolution=32, shapes=("heart",), num_scales=1, num_orientations=1, num_positions=4)
        >>> tiny = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)))
        >>> specs = grid(RunSpec(hearts, tiny, BetaVAE(), num_steps=2, batch_size=8), {"objective.beta": [1, 4]})
        >>> _ = train(specs, progress=False)
        >>> [run.spec.objective.beta for run in runs_in("runs", {"objective.beta": lambda beta: beta > 1})]
        [4.0]
    """
    return Runs(found_runs(files.folder_path(folder), log.warning, packages, trust)).where(conditions, **fields)


def found_runs(
    folder: Path, tell: Callable[[str], None], packages: Collection[str] = (), trust: str | None = None
) -> list[Run]:
    """Returns the runs that this folder is or holds, in order. A run that is named must be readable; one that is found
    may be passed over, and `tell` is given a sentence about it.
    """
    if not folder.is_dir():
        raise RunError(
            f"{files.no_folder(folder)} Name a run, or a folder that holds runs; `unbraid train` makes them."
        )
    if is_run(folder):
        return [Run.open(folder, packages=packages, trust=trust)]
    # What has changed is told of all runs at once.
    open_run = functools.partial(Run.open, packages=packages, trust=trust, warn=lambda _: None)
    found = sorted(_readable(run_folders(folder, tell), open_run, tell), key=_order)
    _tell_changes(found, tell)
    return found


def run_folders(folder: Path, tell: Callable[[str], None]) -> list[Path]:
    """Returns every run below the folder. Hidden folders are left alone: what `--force` put aside is in one."""

    def passed_over(error: OSError) -> None:
        tell(f"{error.filename} is passed over: it cannot be looked into ({error.strerror}).")

    found = []
    for parent, children, _ in os.walk(folder, onerror=passed_over):
        children[:] = sorted(child for child in children if not child.startswith("."))
        if is_run(Path(parent)):
            found.append(Path(parent))
            children.clear()
    return found


def is_run(folder: Path) -> bool:
    """Returns whether the folder holds a spec. A link to a spec that is gone counts, so that it is told; a folder that
    may not be entered does not.
    """
    return os.path.lexists(folder / "spec.json")


def _tell_changes(runs: Iterable[Run], tell: Callable[[str], None]) -> None:
    """Tells of runs that were trained with another state of the user's own code, in one sentence for each state."""
    changed: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in runs:
        changed[tuple(run.source_changes)].append(run)
    for changes, others in changed.items():
        if changes:
            which = (
                f"{others[0].folder} was" if len(others) == 1 else f"{len(others)} runs ({others[0].name}, ...) were"
            )
            tell(changed_source(which, changes))


def _readable(folders: Iterable[Path], open_run: Callable[[Path], Run], tell: Callable[[str], None]) -> Iterator[Run]:
    untrusted: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        try:
            yield open_run(folder)
        except UntrustedError as error:
            untrusted[error.package].append(folder)
        except (UnbraidError, OSError) as error:
            tell(f"{folder} is passed over: {error}")
    for package, of_package in untrusted.items():
        several = f"{len(of_package)} runs are passed over (the first is {of_package[0]}): they name"
        single = f"{of_package[0]} is passed over: it names"
        if package == MAIN:
            tell(
                f"{single if len(of_package) == 1 else several} classes of a script or a notebook. If you trust it, "
                "have the source that the run keeps executed, with --trust-source (in Python, trust='source'); where "
                "the classes are defined, packages=['__main__'] opens it with these."
            )
            continue
        tell(
            f"{single if len(of_package) == 1 else several} classes of {package}, which is not imported unless you "
            f"trust it. Then add --packages {package} (in Python, packages=[{package!r}]), or set "
            f"UNBRAID_PACKAGES={package}; or execute the source that they keep, with --trust-source (trust='source')."
        )


def _order(run: Run) -> tuple[Any, ...]:
    """Returns the key that sorts runs folder by folder, kin together, their weights and seeds ascending: the names
    alone would sort by digest, and seed 10 before seed 2.
    """
    objective = run.spec.objective
    return (
        run.folder.parent,
        type(objective).__name__,
        # Numbers before schedules, which have no order.
        tuple(
            (not isinstance(w, float), w if isinstance(w, float) else repr(w))
            for w in objective.hyperparameters.values()
        ),
        run.digest,
        run.seed,
    )


def _known(run: Run) -> dict[str, Any]:
    """Returns what a run can be chosen by."""
    return fields_of(run.spec) | {"seed": run.seed, "status": run.status}


def _meets(value: Any, wanted: Any) -> bool:
    """Returns whether a value is what is wanted: equal to it, of that class, of that name, or such that a function says
    so.
    """
    if isinstance(wanted, type):
        return isinstance(value, wanted)
    if isinstance(wanted, str) and dataclasses.is_dataclass(value):
        return short_name(value) == wanted
    if callable(wanted) and not dataclasses.is_dataclass(wanted):  # an objective is a function too
        return bool(wanted(value))
    return bool(value == (tuple(wanted) if isinstance(wanted, list) else wanted))


def _telling(told: Sequence[Mapping[str, Any]]) -> set[str]:
    """Returns the paths of the fields that differ between those that have them, and that of the objective."""
    values: dict[str, set[Any]] = defaultdict(set)
    for fields in told:
        for path, value in fields.items():
            values[path].add(value)
    return {"objective"} | {path for path, found in values.items() if len(found) > 1}


def _plain(value: Any) -> Any:
    """Returns a value of a field as a table shows it: a recipe by its name, a schedule and a tuple as a text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Schedule):
        return text_of(value)
    return ", ".join(str(_plain(entry)) for entry in value) if isinstance(value, tuple) else short_name(value)


def _row(run: Run, fields: dict[str, Any]) -> dict[str, Any]:
    ends = {"seed": run.seed, "status": run.status, "steps": run.steps_done}
    scores = run.scores(Scoring())  # those of other images, factors or steps have the same names
    return {"run": run.name, **fields, **ends, **{score.metric: score.value for score in scores}}
