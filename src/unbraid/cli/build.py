"""Configs from what was typed after flags."""

import dataclasses
import inspect
import itertools
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any, final

from unbraid._internal.names import kebab_case, suggestion
from unbraid.cli.config_flags import kind_of
from unbraid.cli.flags import Flag, Given, spelled
from unbraid.cli.values import parse_each, refuse_twice, sweeps
from unbraid.config import parse
from unbraid.config.annotations import choices, default_of, entries_of, hints_of
from unbraid.errors import SpecError


def build(cls: type, given: Given, flags: Mapping[str, Flag], start: Any = None) -> list[Any]:
    """Returns every config that was asked for: more than one where a name was repeated or a number has several values.

    What was not asked for is as in `start`, if there is one.
    """
    builder = _Builder(given)
    built = builder.variants(cls, "", start)
    builder.refuse_unused(flags)
    return built


def build_kind(kind: type, path: str, given: Given, flags: Mapping[str, Flag], default: Any) -> list[Any]:
    """Returns every config of a kind that was asked for, as `build` does; the default if none was."""
    builder = _Builder(given)
    built = builder.of_kind(kind, path, default) or [default]
    builder.refuse_unused(flags)
    return built


@final
class _Builder:
    """Goes down the fields and takes what was given for them, noting what it took."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._used: set[str] = set()
        self._chosen: dict[str, list[str]] = {}

    def variants(self, cls: type, prefix: str, start: Any) -> list[Any]:
        """Returns the class with every combination of the given values.

        Its other fields are those of `start`, if there is one.
        """
        hints, values = hints_of(cls), {}
        for of_class in fields(cls):
            path = prefix + of_class.name
            default = default_of(of_class) if start is None else getattr(start, of_class.name)
            if of_field := self._of_field(hints[of_class.name], path, default):
                values[of_class.name] = of_field
            elif default is MISSING:
                raise SpecError(_missing(path, hints[of_class.name], self._chosen.get(prefix.rstrip("."))))
        combinations = [
            dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())
        ]
        return [cls(**each) if start is None else dataclasses.replace(start, **each) for each in combinations]

    def of_kind(self, kind: type, path: str, default: Any) -> list[Any]:
        """Returns the named configs of this kind, or the default changed by the flags below it.

        The list is empty if no flag names or changes one.
        """
        if path in self._given:
            self._used.add(path)
            chosen = [_named_config(text, kind, path) for text in self._given[path]]
            if len(set(chosen)) < len(chosen):
                raise SpecError(
                    f"{spelled(path)} names {', '.join(self._given[path]).lower()}: one of them twice. Give each once."
                )
            for text, (_, config) in zip(self._given[path], chosen, strict=True):
                self._refuse_second_values(path, text, config)
            self._chosen[path] = [kebab_case(cls, kind) for cls, _ in chosen]
            # The default by its name is the default: that of a critic's optimizer is not that of the class.
            chosen = [(cls, default if start is None and type(default) is cls else start) for cls, start in chosen]
            return [variant for cls, start in chosen for variant in self.variants(cls, f"{path}.", start)]
        below = [other for other in self._given if other.startswith(f"{path}.")]
        if not below:
            return []
        if default is MISSING or default is None:
            raise SpecError(f"{spelled(below[0])} needs {spelled(path)}. {suggestion('', choices(kind))}")
        self._chosen[path] = [kebab_case(type(default), kind)]
        return self.variants(type(default), f"{path}.", default)

    def _refuse_second_values(self, path: str, text: str, config: Any) -> None:
        """Refuses a field that is set after the name of its config and by a flag as well."""
        for of_class in fields(config) if config is not None else ():
            flag = f"{path}.{of_class.name}"
            if flag in self._given and getattr(config, of_class.name) != default_of(of_class):
                raise SpecError(f"{spelled(flag)} sets what {spelled(path)} {text} has set. Leave out one of them.")

    def refuse_unused(self, flags: Mapping[str, Flag]) -> None:
        for path in self._given:
            if path not in self._used:
                parent = path.rpartition(".")[0]
                owners = ", ".join(flags[path].owners)
                raise SpecError(
                    f"{spelled(path)} is for {owners}, and {spelled(parent)} is {', '.join(self._chosen[parent])}. "
                    "Leave it out, or choose one of them."
                )

    def _of_field(self, annotation: Any, path: str, default: Any) -> list[Any]:
        kind = kind_of(annotation)
        if kind is not None and inspect.isabstract(kind):
            return self.of_kind(kind, path, default)
        if kind is not None:
            return (
                self.variants(kind, f"{path}.", default)
                if any(other.startswith(f"{path}.") for other in self._given)
                else []
            )
        if path not in self._given:
            return []
        self._used.add(path)
        texts = self._given[path]
        if len(texts) > 1 and entries_of(annotation) is None:
            several = f" Several values go in one list: {','.join(texts)}." if sweeps(annotation) else ""
            raise SpecError(
                f"{spelled(path)} was given {len(texts)} times ({', '.join(texts)}). Give it once.{several}"
            )
        values = [value for text in texts for value in parse_each(text, annotation, spelled(path))]
        refuse_twice(values, " ".join(texts), spelled(path))
        return values


def _named_config(text: str, kind: type, path: str) -> tuple[type, Any]:
    """Returns the class of the config that was named, and the config itself if settings follow the name."""
    valid, (name, colon, _) = choices(kind), text.partition(":")
    canonical = name.lower().replace("_", "-")
    if canonical not in valid:
        raise SpecError(f"{spelled(path)} is {text!r}. {suggestion(canonical, valid)}")
    return valid[canonical], parse(text, kind, spelled(path)) if colon else None


def _missing(path: str, annotation: Any, chosen: Collection[str] | None) -> str:
    kind = kind_of(annotation)
    owner = f"{spelled(path.rpartition('.')[0])} {next(iter(chosen))} needs it. " if chosen else ""
    return f"{spelled(path)} is missing. {owner}" + (f"Choose one of {', '.join(choices(kind))}." if kind else "")
