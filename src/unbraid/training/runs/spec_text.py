"""Specs as text: every field by its name, and short labels that distinguish specs."""

import dataclasses
import inspect
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from unbraid._internal.names import kebab_case
from unbraid.config.annotations import default_of, hints_of, kinds_of
from unbraid.config.paths import fields_of
from unbraid.config.registry import short_name
from unbraid.config.schedule import Schedule
from unbraid.config.text import text_of
from unbraid.objectives.objective import Objective
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec

_DIGITS_OF_A_CHECKSUM = 12


def spec_labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """Returns a short name for each spec, by its digest: its objective with the fields worth a word, and what tells it
    from others of that objective.

    "beta-tcvae, beta 6". Alone, a spec is named by its objective.
    """
    described = {spec.digest: describe_spec(spec) for spec in specs}
    labels = {}
    for spec in specs:
        words = described[spec.digest]
        alike = [other for other in described.values() if other["objective"] == words["objective"]]
        worth = {f"objective {in_words(name)}" for name in worth_a_word(spec.objective)}
        telling = [
            name for name, text in words.items() if name in worth or any(other.get(name) != text for other in alike)
        ]
        telling.sort(key=lambda name: not name.startswith("objective "))
        label = ", ".join(
            [words["objective"], *(f"{name.removeprefix('objective ')} {words[name]}" for name in telling)]
        )
        labels[spec.digest] = re.sub(r"\b[0-9a-f]{64}\b", lambda checksum: checksum[0][:_DIGITS_OF_A_CHECKSUM], label)
    return labels


def describe_spec(spec: RunSpec) -> dict[str, str]:
    """Returns every field that is set, by its path as text: "model encoder hidden" is "128, 128"."""
    return dict(_describe(spec, ""))


def in_words(name: str) -> str:
    """Returns a name as text: `position_x` is "position x", `num_steps` is "number of steps"."""
    return re.sub("^num_", "number of ", name).replace("_", " ")


def value_in_words(value: Any) -> str:
    """Returns a value as text: `True` is "yes", 20000 is "20,000", (128, 64) is "128, 64", ((0, 1), (2,)) is "0, 1;
    2", and Linear(0.0, 4.0) is "linear (start 0, end 4)".
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        nested = any(isinstance(item, (tuple, list)) for item in value)
        return ("; " if nested else ", ").join(map(value_in_words, value)) or "none"
    return _config_in_words(value) if _is_config(value) else str(value)


def _config_in_words(config: Any) -> str:
    """Returns its name, and the fields that are not at their defaults, and the first field if it is a number."""
    fields = [
        f"{in_words(field.name)} {value_in_words(value)}"
        for place, field in enumerate(dataclasses.fields(config))
        if (value := getattr(config, field.name)) != default_of(field)
        or (place == 0 and isinstance(value, (int, float)))
    ]
    return short_name(config) + (f" ({', '.join(fields)})" if fields else "")


def _describe(config: Any, path: str) -> Iterator[tuple[str, str]]:
    hints = hints_of(type(config))
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{path} {in_words(field.name)}".strip()
        # A schedule stands where a number might: it is a value, not a config with fields of interest.
        if _is_config(value) and not isinstance(value, Schedule):
            yield name, kebab_case(type(value), _kind(hints[field.name], value))
            yield from _describe(value, name)
        elif value is not None:
            yield name, value_in_words(value)


def _is_config(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _kind(annotation: Any, value: Any) -> type | None:
    """Returns which of the classes that the annotation allows the value is: a likelihood need not say it is one."""
    return next((kind for kind in kinds_of(annotation) if isinstance(value, kind)), None)


def worth_a_word(objective: Objective) -> set[str]:
    """Returns the fields that are not at their defaults, and every weight but 0 and 1, such as the default beta."""
    weights = objective.hyperparameters
    return {
        field.name
        for field in dataclasses.fields(objective)
        if getattr(objective, field.name) != default_of(field) or weights.get(field.name, 1.0) not in (0.0, 1.0)
    }


_DIGITS = 6


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Returns a label for each run: that of its spec; and where specs that read the same were trained with several
    states of the user's own code, the first digits of the digest as well.
    """
    of_specs = spec_labels([run.spec for run in runs])
    labeled = [(of_specs[run.spec.digest], run.digest) for run in runs]
    states: dict[str, set[str]] = defaultdict(set)
    for label, digest in labeled:
        states[label].add(digest)
    return [f"{label} ({digest[:_DIGITS]})" if len(states[label]) > 1 else label for label, digest in labeled]


def train_command(spec: RunSpec, seeds: str) -> str:
    """Returns the command that trains this spec from these seeds. Classes that are not of unbraid have no names there:
    such a spec is trained from its file.
    """
    if any(_is_own(value) for value in fields_of(spec).values()):
        words = ["--spec", "spec.json"]
    else:
        words = [word for path, text in _typed(spec, "") for word in (f"--{path.replace('_', '-')}", text)]
    return shlex.join(["unbraid", "train", *words, "--seeds", seeds])


def _typed(config: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each field that is not what it is by default."""
    hints = hints_of(type(config))
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{path}{field.name}"
        if value == default_of(field):
            continue
        if dataclasses.is_dataclass(value) and not any(map(inspect.isabstract, kinds_of(hints[field.name]))):
            yield from _typed(value, f"{name}.")
        else:
            yield name, text_of(value)


def _is_own(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not type(value).__module__.startswith("unbraid.")
