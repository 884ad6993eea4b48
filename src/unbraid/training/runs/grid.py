"""Specs that differ in the values of some fields: every combination, or paired values."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from unbraid.config.paths import with_fields
from unbraid.errors import SpecError
from unbraid.training.runs.spec import RunSpec


def grid(spec: RunSpec, values: Mapping[str, Any]) -> tuple[RunSpec, ...]:
    """Returns one spec for every combination of field values. The last field varies fastest.

    Keys are paths of fields, such as "num_steps", "objective.beta" or "model.encoder.hidden". Values may be configs:
    `grid(spec, {"objective": [VAE(), BetaVAE()]})`. If both a config and one of its fields vary, the field is set in
    each of the configs: `{"objective": [BetaVAE(), BetaTCVAE()], "objective.beta": [1, 4, 16]}`.

    Examples:
        >>> from unbraid import BetaVAE, DSprites
        >>> spec = RunSpec(DSprites(), objective=BetaVAE())
        >>> specs = grid(spec, {"objective.beta": [1, 4], "batch_size": [64, 128]})
        >>> [(spec.objective.beta, spec.batch_size) for spec in specs]
        [(1.0, 64), (1.0, 128), (4.0, 64), (4.0, 128)]
    """
    lists = _lists(spec, values)
    return _specs(spec, (dict(zip(lists, each, strict=True)) for each in product(*lists.values())))


def zipped(spec: RunSpec, values: Mapping[str, Any]) -> tuple[RunSpec, ...]:
    """Returns one spec for each position in the lists of field values: the first values, the second values etc.

    Paired values are an example: `zipped(spec, {"objective.off_diagonal": [1, 5], "objective.diagonal": [10, 50]})`.
    Keys are as in `grid`.

    Examples:
        >>> from unbraid import BetaVAE, DSprites
        >>> spec = RunSpec(DSprites(), objective=BetaVAE())
        >>> specs = zipped(spec, {"objective.beta": [1, 4], "batch_size": [64, 128]})
        >>> [(spec.objective.beta, spec.batch_size) for spec in specs]
        [(1.0, 64), (4.0, 128)]
    """
    lists = _lists(spec, values)
    if len({len(each) for each in lists.values()}) > 1:
        lengths = ", ".join(f"{path} {len(each)}" for path, each in lists.items())
        raise SpecError(f"zipped: the lists have different lengths ({lengths}). Give lists of equal length.")
    return _specs(spec, (dict(zip(lists, each, strict=True)) for each in zip(*lists.values(), strict=True)))


def _lists(spec: RunSpec, values: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Converts the values of each field to a list. Raises a SpecError for invalid values."""
    if not isinstance(spec, RunSpec):
        raise SpecError(f"grid: the spec is a {type(spec).__name__}. Pass one RunSpec.")
    given: Any = values
    if not isinstance(given, Mapping) or not given:
        raise SpecError(f'grid: the values are {given!r}; expected lists by field: {{"objective.beta": [1, 4, 16]}}.')
    for path, each in given.items():
        if isinstance(each, str | Mapping) or not isinstance(each, Iterable):
            raise SpecError(f"grid: {path!r} is {each!r}; expected a list of values, such as [{each!r}].")
    lists = {path: list(each) for path, each in given.items()}
    for path, each in lists.items():
        if not each:
            raise SpecError(f"grid: {path!r} has no values. Give a list of at least one value, or omit the field.")
    return lists


def _specs(spec: RunSpec, each_changes: Iterable[dict[str, Any]]) -> tuple[RunSpec, ...]:
    specs: dict[str, RunSpec] = {}
    for changes in each_changes:
        text = ", ".join(f"{path} = {value!r}" for path, value in changes.items())
        try:
            varied: RunSpec = with_fields(spec, changes)
        except SpecError as error:
            raise SpecError(f"grid, at {text}: {error}") from error
        if varied.digest in specs:
            raise SpecError(f"grid: {text} gives the same spec twice. Give every value once.")
        specs[varied.digest] = varied
    return tuple(specs.values())
