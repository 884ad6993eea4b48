"""What was trained, in words: specs as tables, and short names that tell them apart."""

import dataclasses
import re
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.runs.recipes import alternatives, kebab_case
from unbraid.runs.spec import RunSpec


@final
@dataclass(frozen=True)
class SpecTable:
    """Fields by their names in words: those that all specs share, and those that differ, with a value for each spec (or "–")."""

    shared: dict[str, str]
    differing: dict[str, list[str]]


def spec_table(specs: Sequence[RunSpec]) -> SpecTable:
    described = [describe_spec(spec) for spec in specs]
    names = list(dict.fromkeys(name for fields in described for name in fields))
    values = {name: [fields.get(name, "–") for fields in described] for name in names}
    return SpecTable(
        shared={name: given[0] for name, given in values.items() if len(set(given)) == 1},
        differing={name: given for name, given in values.items() if len(set(given)) > 1},
    )


def spec_labels(specs: Sequence[RunSpec]) -> list[str]:
    """A short name for each spec: its objective, and what else tells it from the others or from the defaults of its objective."""
    described = [describe_spec(spec) for spec in specs]
    labels = []
    for spec, fields in zip(specs, described, strict=True):
        kin = [other for other in described if other["objective"] == fields["objective"]]
        telling = [
            f"{name.removeprefix('objective ')} {value}"
            for name, value in fields.items()
            if name in _changed(spec) or any(other.get(name) != value for other in kin)
        ]
        labels.append(", ".join([fields["objective"], *telling]))
    return labels


def describe_spec(spec: RunSpec) -> dict[str, str]:
    """Every field that is set, by its path in words: "model encoder hidden" is "128, 128"."""
    return dict(_describe(spec, ""))


def in_words(name: str) -> str:
    """`position_x` is "position x", `num_steps` is "number of steps"."""
    return re.sub("^num_", "number of ", name).replace("_", " ")


def _describe(recipe: Any, path: str) -> Iterator[tuple[str, str]]:
    hints = typing.get_type_hints(type(recipe))
    for field in dataclasses.fields(recipe):
        value, name = getattr(recipe, field.name), f"{path} {in_words(field.name)}".strip()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield name, kebab_case(type(value), _kind(hints[field.name], value))
            yield from _describe(value, name)
        elif value is not None:
            yield name, _text(value)


def _kind(annotation: Any, value: Any) -> type | None:
    """Which of the classes that the annotation allows the value is: a likelihood need not say that it is one."""
    return next((choice for choice in alternatives(annotation) if isinstance(choice, type) and isinstance(value, choice)), None)


def _changed(spec: RunSpec) -> set[str]:
    """The fields of the objective that are not at their defaults."""
    objective = spec.objective
    return {f"objective {in_words(f.name)}" for f in dataclasses.fields(objective) if getattr(objective, f.name) != f.default}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_text, value))
    return str(value)
