"""runs_in: the runs of a folder, chosen by what they are, and as a table."""

import dataclasses
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, SupportsIndex, final, overload

from unbraid._internal import files
from unbraid._internal.names import suggestion
from unbraid._internal.table import Table
from unbraid.config import text_of
from unbraid.config.paths import fields_of
from unbraid.config.registry import short_name
from unbraid.config.schedule import Schedule
from unbraid.errors import RunError, SpecError, UnbraidError, shortened
from unbraid.figures.traversal import SideBySide
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.unused_latents import informativeness, unused_latents
from unbraid.models.trained.matched_traversals import traverse_matched
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import worth_a_word

log = logging.getLogger(__name__)


@final
class Runs(tuple[Run, ...]):
    """Holds runs in order: a tuple that can be narrowed down and shown as a table."""

    __slots__ = ()

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> Run: ...
    @overload
    def __getitem__(self, place: slice, /) -> "Runs": ...
    def __getitem__(self, place: SupportsIndex | slice, /) -> "Run | Runs":
        """Returns a run, or the runs of a slice."""
        return Runs(super().__getitem__(place)) if isinstance(place, slice) else super().__getitem__(place)

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
        return Table.from_records(
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
    **fields: Any,
) -> Runs:
    """Returns the runs that a folder is or holds, at any depth, sorted by objective, weights and seed.

    Conditions are values of fields of the spec, by name (`runs_in("runs", objective=BetaVAE, num_steps=5000)`) or by
    path (`runs_in("runs", {"objective.beta": 4})`), and of `seed` and `status`. A value that is a class asks for
    configs of that class, a text for the config of that name ("beta-vae"), and a function is asked whether a value will
    do: `{"objective.beta": lambda beta: beta > 1}`. A run without such a field is left out; one that cannot be read is
    passed over, with a warning. `packages` are those of classes of your own, as in `Run.open`.

    Examples:
        >>> from unbraid import MLP, Autoencoder, BetaVAE, DSprites, RunSpec, grid, train
        >>> hearts = DSprites(resolution=32, shapes=("heart",), num_scales=1, num_orientations=1, num_positions=4)
        >>> tiny = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)))
        >>> specs = grid(RunSpec(hearts, tiny, BetaVAE(), num_steps=2, batch_size=8), {"objective.beta": [1, 4]})
        >>> _ = train(specs, progress=False)
        >>> [run.spec.objective.beta for run in runs_in("runs", {"objective.beta": lambda beta: beta > 1})]
        [4.0]
    """
    return Runs(found_runs(files.folder_path(folder), log.warning, packages)).where(conditions, **fields)


def found_runs(folder: Path, warn: Callable[[str], None], packages: Collection[str] = ()) -> list[Run]:
    """Returns the runs that this folder is or holds, in order. A run that is named must be readable; one that is found
    may be passed over, and `warn` is called with a sentence about it.
    """
    if not folder.is_dir():
        raise RunError(
            f"{files.no_folder(folder)} Name a run, or a folder that holds runs; `unbraid train` makes them."
        )
    if is_run(folder):
        return [Run.open(folder, packages=packages, warn=warn)]
    found, of_runs = [], defaultdict[str, list[Path]](list)  # the folders of the runs that a warning is about
    for each in run_folders(folder, warn):
        try:
            found.append(Run.open(each, packages=packages, warn=partial(_collect, of_runs, each)))
        except (UnbraidError, OSError) as error:
            warn(shortened(f"{each} is passed over: {error}"))
    for text, folders in of_runs.items():
        others = f" The same holds for {len(folders) - 1} other runs." if len(folders) > 1 else ""
        warn(text.replace(_PLACE, str(folders[0])) + others)
    return sorted(found, key=_order)


_PLACE = "\0"  # stands for the folder of a run, in a warning that many runs may share


def _collect(of_runs: dict[str, list[Path]], folder: Path, message: str) -> None:
    """Adds a run to those with the same message but for their folder."""
    of_runs[message.replace(str(folder), _PLACE)].append(folder)


def run_folders(folder: Path, warn: Callable[[str], None]) -> list[Path]:
    """Returns every run below the folder. Hidden folders are left alone: runs that `--force` archived are in one."""

    def passed_over(error: OSError) -> None:
        warn(f"{error.filename} is passed over: it cannot be looked into ({error.strerror}).")

    found = []
    for parent, children, _ in os.walk(folder, onerror=passed_over):
        children[:] = sorted(child for child in children if not child.startswith("."))
        if is_run(Path(parent)):
            found.append(Path(parent))
            children.clear()
    return found


def is_run(folder: Path) -> bool:
    """Returns whether the folder holds a spec. A dangling link counts, so that it is reported; a folder that may not be
    entered does not.
    """
    return os.path.lexists(folder / "spec.json")


def _order(run: Run) -> tuple[Any, ...]:
    """Returns the key that sorts runs by folder, objective, weights and seed, not by the digest in their names."""
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
    """Returns a value of a field as a table shows it: a config by its name, a schedule and a tuple as a text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Schedule):
        return text_of(value)
    return ", ".join(str(_plain(entry)) for entry in value) if isinstance(value, tuple) else short_name(value)


def _row(run: Run, fields: dict[str, Any]) -> dict[str, Any]:
    ends = {"seed": run.seed, "status": run.status, "steps": run.steps_done}
    scores = run.scores(Scoring())  # those of other images, factors or steps have the same names
    return {"run": run.name, **fields, **ends, **{score.metric: score.value for score in scores}}


def traverse_together(
    runs: Mapping[str, Run] | Sequence[Run],
    *,
    latents: Sequence[int] | None = None,
    num_latents: int | None = None,
    **options: Any,
) -> SideBySide:
    """Returns traversals of several runs that were trained on the same images, side by side. The latents of the others
    are matched with those of the first, so that each row shows what should be the same latent in every model.

    `runs` are by the names to write above them, or a list, whose names are those of the folders. Without `latents`,
    rows are the latents of the first run that say anything of the image, the most informative first, at most
    `num_latents` of them. `image`, `range`, `num_frames` and `min_std` are as in `traverse_matched`.
    """
    named = dict(runs) if isinstance(runs, Mapping) else {run.name: run for run in runs}
    if not named:
        raise RunError("No run was given to traverse. Give at least one.")
    first = next(iter(named.values()))
    for run in named.values():
        if (run.spec.dataset, run.spec.subset) != (first.spec.dataset, first.spec.subset):
            raise RunError(
                f"{run.name} was trained on other images than {first.name}, and latents are matched over the same "
                "images. Give runs of one data set and subset."
            )
    models = {name: (run.model(), run.codes()) for name, run in named.items()}
    if latents is None:
        _, codes = next(iter(models.values()))
        continuous = codes.without_discrete() if codes.probabilities else codes
        nats = informativeness(continuous)
        used = (~unused_latents(continuous, nats=nats)).nonzero()[:, 0].tolist()
        latents = sorted(used, key=lambda latent: -float(nats[latent]))[:num_latents] or None
    return traverse_matched(models, latents=latents, **options)
