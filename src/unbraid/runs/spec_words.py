"""Specs in words: every field by its name, and short labels that tell specs apart."""

import dataclasses
import re
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from unbraid.names import kebab_case
from unbraid.objectives.objective import Objective
from unbraid.runs.recipes import alternatives
from unbraid.runs.spec import RunSpec

_DIGITS_OF_A_CHECKSUM = 12


def spec_labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A short name for each spec, by its digest: its objective with the fields worth a word, and what tells it from others of that objective.

    "beta-tcvae, beta 6". Alone, a spec is named by its objective.
    """
    described = {spec.digest: describe_spec(spec) for spec in specs}
    labels = {}
    for spec in specs:
        words = described[spec.digest]
        kin = [other for other in described.values() if other["objective"] == words["objective"]]
        worth = _worth_a_word(spec.objective)
        telling = [name for name, text in words.items() if name in worth or any(other.get(name) != text for other in kin)]
        telling.sort(key=lambda name: not name.startswith("objective "))
        label = ", ".join([words["objective"], *(f"{name.removeprefix('objective ')} {words[name]}" for name in telling)])
        labels[spec.digest] = re.sub(r"\b[0-9a-f]{64}\b", lambda checksum: checksum[0][:_DIGITS_OF_A_CHECKSUM], label)
    return labels


def describe_spec(spec: RunSpec) -> dict[str, str]:
    """Every field that is set, by its path in words: "model encoder hidden" is "128, 128"."""
    return dict(_describe(spec, ""))


def in_words(name: str) -> str:
    """`position_x` is "position x", `num_steps` is "number of steps"."""
    return re.sub("^num_", "number of ", name).replace("_", " ")


def value_in_words(value: Any) -> str:
    """`True` is "yes", 20000 is "20,000", (128, 64) is "128, 64"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(value_in_words, value))
    return str(value)


def _describe(recipe: Any, path: str) -> Iterator[tuple[str, str]]:
    hints = typing.get_type_hints(type(recipe))
    for field in dataclasses.fields(recipe):
        value, name = getattr(recipe, field.name), f"{path} {in_words(field.name)}".strip()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield name, kebab_case(type(value), _kind(hints[field.name], value))
            yield from _describe(value, name)
        elif value is not None:
            yield name, value_in_words(value)


def _kind(annotation: Any, value: Any) -> type | None:
    """Which of the classes that the annotation allows the value is: a likelihood need not say that it is one."""
    return next((choice for choice in alternatives(annotation) if isinstance(choice, type) and isinstance(value, choice)), None)


def _worth_a_word(objective: Objective) -> set[str]:
    """The fields that are not at their defaults, and every weight but 1: a beta is told even where it is the usual one."""
    weights = objective.hyperparameters
    return {
        f"objective {in_words(field.name)}"
        for field in dataclasses.fields(objective)
        if getattr(objective, field.name) != field.default or weights.get(field.name, 1.0) != 1.0
    }
