"""Search for runs in a folder, selection of runs by fields, and tables of runs."""

import contextlib
import dataclasses
import inspect
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, SupportsIndex, final, overload

from unbraid._internal import files
from unbraid._internal.names import suggestion
from unbraid._internal.progress import Event, part_of, progress_bar
from unbraid._internal.table import Table
from unbraid.config import text_of
from unbraid.config.annotations import check_value, choices, short_name
from unbraid.config.paths import fields_of
from unbraid.config.schedule import Schedule
from unbraid.errors import CodesError, RunError, SpecError, UnbraidError, shortened
from unbraid.figures.traversal import SideBySide
from unbraid.metrics.metric import Score
from unbraid.metrics.scoring import Scoring
from unbraid.metrics.selection import select
from unbraid.metrics.unused_latents import informativeness, unused_latents
from unbraid.models.trained.matched_traversals import traverse_matched
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import labeled_fields, run_labels

log = logging.getLogger(__name__)

_UNUSED = "unused latents"


@final
class Runs(tuple[Run, ...]):
    """Tuple of runs, with selection by fields and conversion to tables."""

    __slots__ = ()

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> Run: ...
    @overload
    def __getitem__(self, place: slice, /) -> "Runs": ...
    def __getitem__(self, place: SupportsIndex | slice, /) -> "Run | Runs":
        """Returns a run by index, or the runs of a slice."""
        return Runs(super().__getitem__(place)) if isinstance(place, slice) else super().__getitem__(place)

    def __add__(self, other: tuple[Run, ...], /) -> "Runs":  # type: ignore[override]
        return Runs(super().__add__(other))

    def where(self, conditions: Mapping[str, Any] | None = None, /, **fields: Any) -> "Runs":
        """Selects the runs that satisfy all conditions. Conditions are as in `runs_in`."""
        if not isinstance(conditions, Mapping | None):
            raise SpecError(f'The conditions are {conditions!r}. Pass values by field, e.g. {{"objective.beta": 4}}.')
        wanted = {**(conditions or {}), **fields}
        values = [fields_of(run.spec) | {"seed": run.seed, "status": run.status} for run in self]
        names = {path for each in values for path in each}
        for name, value in wanted.items():
            if values and name not in names:
                raise SpecError(f"None of these {len(self)} runs has a field {name!r}. {suggestion(name, names)}")
            _check_names(value, (each[name] for each in values if name in each))
        pairs = zip(self, values, strict=True)
        return Runs(run for run, has in pairs if all(n in has and _meets(has[n], value) for n, value in wanted.items()))

    def table(self) -> Table:
        """Returns a table with one row per run.

        The columns are the objective with its weights, the fields in which the specs differ, the seed, the status, the
        number of steps, the latest stored score of each metric and, for collapsed models, the unused latents.
        """
        cells = [{path: _cell(value) for path, value in fields_of(run.spec).items()} for run in self]
        values: dict[str, set[Any]] = defaultdict(set)
        for path, value in (item for row in cells for item in row.items()):
            values[path].add(value)
        shown = {"objective"} | {path for path, found in values.items() if len(found) > 1}
        shown |= {f"objective.{name}" for run in self for name in labeled_fields(run.spec.objective)}
        return Table.from_records(
            {"run": run.name}
            | {path: value for path, value in row.items() if path in shown}
            | {"seed": run.seed, "status": run.status, "steps": run.steps_done}
            # Only the default scoring, because other scorings have the same metric names.
            | {score.metric: score.value for score in run.scores(Scoring())}
            | _unused(run)
            for run, row in zip(self, cells, strict=True)
        )

    def score_table(self, *metrics: str, by: str | None = None) -> Table:
        """Returns a table of scores for `unbraid.figures`, with one row per run and one column per metric.

        Missing scores are computed and stored. Runs without a score, such as unfinished runs, have an empty cell.

        Args:
            *metrics: Names of metrics or model scores, such as "mig".
            by: The path of a field whose values are the settings, such as "objective.beta". By default, each spec is a
                setting.
        """
        selection = select(metrics)
        names, labels = [*selection.metrics, *selection.model_scores], run_labels(self)
        fields = [fields_of(run.spec) for run in self]
        if by is not None and fields and not any(by in each for each in fields):
            known = {path for each in fields for path in each}
            raise SpecError(f"None of these {len(self)} runs has a field {by!r}. {suggestion(by, known)}")
        records = []
        with progress_bar(show=True):
            for number, (run, each, label) in enumerate(zip(self, fields, labels, strict=True)):
                with part_of(Event("scoring runs", number, len(self), "runs", run.name)):
                    scores = _scores(run, names)
                setting = label if by is None else _cell(each.get(by))
                row = {"setting": setting, "family": short_name(run.spec.objective), "seed": run.seed, "run": run.name}
                records.append(row | scores | _unused(run))
        return Table.from_records(records)

    def compare(self, *metrics: str, by: str | None = None) -> Table:
        """Returns a table with one row per setting: the number of runs, and the median and range of each metric.

        The arguments are as in `score_table`. If models with fewer than two used latents exist, the column "collapsed"
        has their number.
        """
        groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        table = self.score_table(*metrics, by=by)
        for row in table:
            groups[row["setting"]].append(row)
        records = []
        for setting, rows in groups.items():
            record = {by or "setting": setting, "runs": len(rows)}
            for name in table.columns[4:]:
                if name == _UNUSED:
                    record["collapsed"] = sum(row[name] is not None for row in rows)
                    continue
                values = [row[name] for row in rows if row[name] is not None]
                three = (median(values), min(values), max(values)) if values else (None, None, None)
                record |= dict(zip((name, f"{name} min", f"{name} max"), three, strict=True))
            records.append(record)
        return Table.from_records(records)

    def to_pandas(self) -> Any:
        """Returns the table as a pandas DataFrame. Needs pandas."""
        return self.table().to_pandas()

    def to_csv(self) -> str:
        """Returns the table as CSV."""
        return self.table().to_csv()

    def to_latex(self) -> str:
        """Returns the table in LaTeX, with the rules of booktabs."""
        return self.table().to_latex()

    def __str__(self) -> str:
        return str(self.table()) if self else "no runs"

    def __repr__(self) -> str:
        return repr(self.table()) if self else "no runs"

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
    """Returns the runs in a folder at any depth. The folder may also be a run.

    Runs are sorted by objective, weights and seed. Conditions are values of `seed`, `status` and fields of the spec, by
    name (`runs_in("runs", objective=BetaVAE, num_steps=5000)`) or by path (`runs_in("runs", {"objective.beta": 4})`).
    A class matches its instances, and a string the config with this name ("beta-vae"). A function matches values for
    which the function returns True (`{"objective.beta": lambda beta: beta > 1}`). A list matches any of its entries
    (`seed=[0, 1]`) or an equal list. Runs without a field of the conditions do not match. Unreadable runs are skipped
    with a warning. `packages` lists the packages of user classes, as in `Run.open`.

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
    """Returns the sorted runs in a folder at any depth. The folder may also be a run.

    Raises an error if the folder is an unreadable run. Unreadable runs below the folder are skipped, and `warn` is
    called with a message for each.
    """
    if not folder.is_dir():
        raise RunError(
            f"{files.no_folder(folder)} Pass a run or a folder of runs, or create runs with `unbraid train`."
        )
    if is_run(folder):
        return [Run.open(folder, packages=packages, warn=warn)]
    found, warnings = [], defaultdict[str, list[Path]](list)  # folders by warning

    def collect(each: Path, message: str) -> None:
        warnings[message.replace(str(each), _PLACE)].append(each)

    for each in run_folders(folder, warn):
        try:
            found.append(Run.open(each, packages=packages, warn=partial(collect, each)))
        except (UnbraidError, OSError) as error:
            warn(shortened(f"{each} is skipped: {error}"))
    for text, folders in warnings.items():
        others = f" The same holds for {len(folders) - 1} other runs." if len(folders) > 1 else ""
        warn(text.replace(_PLACE, str(folders[0])) + others)
    return sorted(found, key=_order)


_PLACE = "\0"  # placeholder for the folder of a run in a warning, so that equal warnings are combined


def run_folders(folder: Path, warn: Callable[[str], None]) -> list[Path]:
    """Returns all folders of runs below a folder, except in hidden folders such as `.archived`."""

    def passed_over(error: OSError) -> None:
        warn(f"{error.filename} is skipped: it cannot be opened ({error.strerror}).")

    found = []
    for parent, children, _ in os.walk(folder, onerror=passed_over):
        children[:] = sorted(child for child in children if not child.startswith("."))
        if is_run(Path(parent)):
            found.append(Path(parent))
            children.clear()
    return found


def is_run(folder: Path) -> bool:
    """Returns whether a folder contains a spec.json. A broken link counts too, so that it is reported."""
    return os.path.lexists(folder / "spec.json")


def _order(run: Run) -> tuple[Any, ...]:
    """Returns the sort key of a run: folder, objective, weights, digest and seed."""
    objective = run.spec.objective
    weights = objective.hyperparameters.values()
    # Numbers come before schedules, which have no order.
    numbers = tuple((not isinstance(each, float), each if isinstance(each, float) else repr(each)) for each in weights)
    return run.folder.parent, type(objective).__name__, numbers, run.digest, run.seed


def _meets(value: Any, wanted: Any) -> bool:
    """Returns whether a value matches a value, a class, a config name, a function, or one of a list of conditions."""
    if isinstance(wanted, type):
        return isinstance(value, wanted)
    if isinstance(wanted, str) and dataclasses.is_dataclass(value):
        return short_name(value) == wanted
    if callable(wanted) and not dataclasses.is_dataclass(wanted):  # an objective is callable too
        return bool(wanted(value))
    if isinstance(wanted, list | tuple | range):
        return value == tuple(wanted) or any(_meets(value, each) for each in wanted)
    return bool(value == wanted)


def _scores(run: Run, names: Sequence[str]) -> dict[str, float | None]:
    """Returns the score of each metric by name, or None if undefined. Computes and stores missing scores."""
    scores: Mapping[str, Score] = run.named_scores()
    if run.status == "finished" and (missing := [name for name in names if name not in scores]):
        with contextlib.suppress(CodesError):  # none is defined
            scores = {**scores, **run.score(missing, progress=False)}
    return {name: scores[name].value if name in scores else None for name in names}


def _unused(run: Run) -> dict[str, str]:
    """Returns a cell with the number of unused latents of a collapsed model, or no cell for other models."""
    return {_UNUSED: run.badge.partition(" latents")[0]} if run.badge else {}


def _check_names(wanted: Any, values: Iterable[Any]) -> None:
    """Raises an error if the values of a field are configs and a condition is not the name of a config class."""
    configs: list[Any] = [value for value in values if dataclasses.is_dataclass(value)]
    valid = {short_name(config) for config in configs}
    for kind in {kind for config in configs for kind in type(config).__mro__ if inspect.isabstract(kind)}:
        valid |= choices(kind).keys()
    for text in wanted if isinstance(wanted, list | tuple | range) else [wanted]:
        if valid and isinstance(text, str) and text not in valid:
            raise SpecError(f"There is no config named {text!r}. {suggestion(text, valid)}")


def _cell(value: Any) -> Any:
    """Converts a field value to a table cell: a config to its name, a schedule or tuple to text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Schedule):
        return text_of(value)
    return ", ".join(str(_cell(entry)) for entry in value) if isinstance(value, tuple) else short_name(value)


def traverse_together(
    runs: Mapping[str, Run] | Sequence[Run],
    *,
    latents: Sequence[int] | None = None,
    num_latents: int | None = None,
    **options: Any,
) -> SideBySide:
    """Returns side-by-side traversals of several runs with the same training images.

    The latents of the other runs are matched with the latents of the first run. Each row shows corresponding latents.

    Args:
        runs: The runs by title, or a list of runs. For a list, the titles are the names of the runs, or the paths of
            runs with equal names.
        latents: The latents of the first run, one for each row. By default, the latents that depend on the image, most
            informative first, or all latents if no latent depends on the image.
        num_latents: The maximum number of rows if `latents` is None.
        **options: `image`, `range`, `num_frames` and `min_std`, as in `traverse_matched`.
    """
    if num_latents is not None and (latents is not None or check_value(num_latents, int, "num_latents") < 1):
        raise SpecError(f"num_latents is {num_latents}; expected 1 or more. Pass either num_latents or latents.")
    if not isinstance(runs, Mapping):  # the same spec and seed in two folders have one name
        names = [run.name for run in runs]
        runs = {run.name if names.count(run.name) == 1 else str(run.folder): run for run in runs}
    if not runs:
        raise RunError("Got no runs to traverse; expected at least one. Pass a list of runs.")
    first = next(iter(runs.values()))
    for run in runs.values():
        if (run.spec.dataset, run.spec.subset) != (first.spec.dataset, first.spec.subset):
            raise RunError(
                f"{run.name} was trained on other images than {first.name}; expected the same images, which are needed "
                "to match latents. Pass runs of one dataset and subset."
            )
    models = {name: (run.model(), run.codes()) for name, run in runs.items()}
    if latents is None:
        _, codes = next(iter(models.values()))
        continuous = codes.without_discrete() if codes.probabilities else codes
        nats = informativeness(continuous)
        used = (~unused_latents(continuous, nats=nats)).nonzero()[:, 0].tolist()
        latents = sorted(used or range(len(nats)), key=lambda latent: -float(nats[latent]))[:num_latents]
    return traverse_matched(models, latents=latents, **options)
