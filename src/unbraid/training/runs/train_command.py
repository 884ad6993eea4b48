"""The command that trains a spec."""

import dataclasses
import inspect
import shlex
from collections.abc import Iterator
from typing import Any

from unbraid.config.annotations import default_of, hints_of, kinds_of
from unbraid.config.paths import fields_of
from unbraid.config.text import text_of
from unbraid.training.runs.spec import RunSpec


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
