"""Formatting of specs: all fields by name, and short labels that distinguish specs."""

import dataclasses
import inspect
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from unbraid._internal.names import kebab_case
from unbraid.config.annotations import default_of, hints_of, kinds_of, short_name
from unbraid.config.paths import fields_of
from unbraid.config.schedule import Schedule
from unbraid.config.text import text_of
from unbraid.objectives.objective import Objective
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec

_CHECKSUM, _CHECKSUM_DIGITS = re.compile(r"\b[0-9a-f]{64}\b"), 12
_DIGEST_DIGITS = 6


def spec_labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """Returns a dict from the digest of each spec to a short label, such as "beta-tcvae, beta 6".

    A label contains the objective, the objective's fields that differ from their defaults, and the fields in which
    specs with the same objective class differ.
    """
    described = {spec.digest: describe_spec(spec) for spec in specs}
    labels = {}
    for spec in specs:
        texts = described[spec.digest]
        alike = [other for other in described.values() if other["objective"] == texts["objective"]]
        always = {f"objective {name_text(name)}" for name in labeled_fields(spec.objective)}
        shown = [name for name in texts if name in always or any(other.get(name) != texts[name] for other in alike)]
        shown.sort(key=lambda name: not name.startswith("objective "))
        parts = [texts["objective"], *(f"{name.removeprefix('objective ')} {texts[name]}" for name in shown)]
        labels[spec.digest] = _CHECKSUM.sub(lambda checksum: checksum[0][:_CHECKSUM_DIGITS], ", ".join(parts))
    return labels


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Returns a label for the spec of each run.

    If runs with the same label were trained with different versions of user code, digits of the digest are added.
    """
    of_specs = spec_labels([run.spec for run in runs])
    labeled = [(of_specs[run.spec.digest], run.digest) for run in runs]
    states: dict[str, set[str]] = defaultdict(set)
    for label, digest in labeled:
        states[label].add(digest)
    return [f"{label} ({digest[:_DIGEST_DIGITS]})" if len(states[label]) > 1 else label for label, digest in labeled]


def labeled_fields(objective: Objective) -> set[str]:
    """Returns the names of the fields that differ from their defaults, and of all weights other than 0 and 1."""
    weights = objective.hyperparameters
    return {
        field.name
        for field in dataclasses.fields(objective)
        if getattr(objective, field.name) != default_of(field) or weights.get(field.name, 1.0) not in (0.0, 1.0)
    }


def describe_spec(spec: RunSpec) -> dict[str, str]:
    """Returns the text of all fields that are not None, by path: "model encoder hidden" is "128, 128"."""
    return dict(_describe(spec, ""))


def name_text(name: str) -> str:
    """Formats a field name: `position_x` as "position x", `num_steps` as "number of steps"."""
    return re.sub("^num_", "number of ", name).replace("_", " ")


def value_text(value: Any) -> str:
    """Formats a value: `True` as "yes", 20000 as "20,000", ((0, 1), (2,)) as "0, 1; 2".

    A config becomes its name and the fields that differ from their defaults: "linear (start 0, end 4)".
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        nested = any(isinstance(item, (tuple, list)) for item in value)
        return ("; " if nested else ", ").join(map(value_text, value)) or "none"
    if not dataclasses.is_dataclass(value):
        return str(value)
    fields = [
        f"{name_text(field.name)} {value_text(given)}"
        for place, field in enumerate(dataclasses.fields(value))
        if (given := getattr(value, field.name)) != default_of(field)
        or (place == 0 and isinstance(given, (int, float)))
    ]
    return short_name(value) + (f" ({', '.join(fields)})" if fields else "")


def train_command(spec: RunSpec, seeds: str) -> str:
    """Returns the command to train a spec with these seeds. The command reads a spec with user classes from a file."""
    configs = filter(dataclasses.is_dataclass, fields_of(spec).values())
    if all(type(config).__module__.startswith("unbraid.") for config in configs):
        flags = [word for path, text in _flags(spec, "") for word in (f"--{path.replace('_', '-')}", text)]
    else:
        flags = ["--spec", "spec.json"]
    return shlex.join(["unbraid", "train", *flags, "--seeds", seeds])


def _describe(config: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yields the path and the value of each field that is not None, as text."""
    hints = hints_of(type(config))
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{path} {name_text(field.name)}".strip()
        # A schedule is formatted as a single value, like a number.
        if dataclasses.is_dataclass(value) and not isinstance(value, Schedule):
            kind = next((kind for kind in kinds_of(hints[field.name]) if isinstance(value, kind)), None)
            yield name, kebab_case(type(value), kind)
            yield from _describe(value, name)
        elif value is not None:
            yield name, value_text(value)


def _flags(config: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each field that differs from its default."""
    hints = hints_of(type(config))
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{path}{field.name}"
        if value == default_of(field):
            continue
        if dataclasses.is_dataclass(value) and not any(map(inspect.isabstract, kinds_of(hints[field.name]))):
            yield from _flags(value, f"{name}.")
        else:
            yield name, text_of(value)
