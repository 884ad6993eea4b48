"""The specs of a report as a table by flags: values that all share, and values that differ."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.config.paths import fields_of
from unbraid.config.registry import short_name
from unbraid.config.schedule import Schedule
from unbraid.config.text import text_of
from unbraid.training.runs.spec import RunSpec
from unbraid.training.runs.spec_text import worth_a_word


@final
@dataclass(frozen=True)
class SpecTable:
    """Fields of specs by their flags.

    `shared` are those with one value in all specs that have them, with the objectives if not all have; `differing` have
    a value for each spec, empty where it has no such field.
    """

    shared: dict[str, str]
    differing: dict[str, list[str]]


def spec_table(specs: Sequence[RunSpec]) -> SpecTable:
    """Returns the table. A field that some objectives lack differs only where it is not what it is by default."""
    described = [_described(spec) for spec in specs]
    names = list(dict.fromkeys(name for fields in described for name in fields))
    values = {name: [fields[name] for fields in described if name in fields] for name in names}
    worth = {f"--objective.{name}" for spec in specs for name in map(_dashed, worth_a_word(spec.objective))}
    differing = [
        name
        for name, given in values.items()
        if len(set(given)) > 1 or (len(given) < len(specs) and (name in worth or not name.startswith("--objective.")))
    ]
    owners = {
        name: dict.fromkeys(
            short_name(spec.objective) for spec, fields in zip(specs, described, strict=True) if name in fields
        )
        for name in names
        if len(values[name]) < len(specs)
    }
    return SpecTable(
        shared={
            name: given[0] + (f" ({', '.join(owners[name])})" if name in owners else "")
            for name, given in values.items()
            if name not in differing
        },
        differing={name: [fields.get(name, "") for fields in described] for name in differing},
    )


def flag_of(path: str) -> str:
    """Returns the flag for a field: `--objective.analytic-kl`."""
    return f"--{_dashed(path)}"


def _dashed(path: str) -> str:
    return path.replace("_", "-")


def _described(spec: RunSpec) -> dict[str, str]:
    """Returns every field that is set, by its flag."""
    return {
        flag_of(path): _text(value)
        for path, value in fields_of(spec).items()
        if value is not None and (path != "model" or not dataclasses.is_dataclass(value))
    }


def _text(value: Any) -> str:
    is_config = dataclasses.is_dataclass(value) and not isinstance(value, Schedule)
    return short_name(value) if is_config else text_of(value)
