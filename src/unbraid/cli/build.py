"""Construction of configs from command-line flags."""

import dataclasses
import inspect
import itertools
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, final

from unbraid._internal.names import kebab_case, suggestion
from unbraid.cli.flags import Given, name_in, spelled
from unbraid.config import parse
from unbraid.config.annotations import alternatives, choices, default_of, entries_of, hints_of, kinds_of
from unbraid.config.text import split
from unbraid.errors import SpecError


def build(cls: type, given: Given, start: Any = None) -> list[Any]:
    """Returns a config for every combination of the given names and values.

    Other fields have the values of `start` or, without it, their defaults.
    """
    builder = _Builder(given)
    built = builder.variants(cls, "", start)
    builder.refuse_unused()
    return built


def build_kind(kind: type, path: str, given: Given, default: Any) -> list[Any]:
    """Returns the requested configs of a kind, as `build` does, or the default if no config was requested."""
    builder = _Builder(given)
    built = builder.of_kind(kind, path, default) or [default]
    builder.refuse_unused()
    return built


def kind_of(annotation: Any) -> type | None:
    """Returns the kind of config that a field holds, or None. Numeric fields that accept a schedule return None.

    The kind is the class of the config, or an abstract base class whose subclasses are chosen by name.
    """
    return None if float in alternatives(annotation) else next(iter(kinds_of(annotation)), None)


def parse_each(text: str, annotation: Any, flag: str) -> list[Any]:
    """Returns the parsed values. Commas separate values, except in fields that hold a text or a list."""
    return [parse(part, annotation, flag) for part in (split(text, ",") if _sweeps(annotation) else [text])]


@final
class _Builder:
    """Recursive builder of configs, which records the given fields that it used."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._unused = dict.fromkeys(given)
        self._chosen: dict[str, tuple[type, list[str]]] = {}  # the kind, and the names of the configs
        self._known: set[str] = set()  # the fields of the chosen configs

    def variants(self, cls: type, prefix: str, start: Any) -> list[Any]:
        """Returns the class with every combination of the given values. Other fields are copied from `start`."""
        hints, values = hints_of(cls), {}
        for field in fields(cls):
            path = prefix + field.name
            self._known.add(path)
            default = default_of(field) if start is None else getattr(start, field.name)
            if of_field := self._of_field(hints[field.name], path, default):
                values[field.name] = of_field
            elif default is MISSING:
                raise SpecError(self._missing(path, hints[field.name]))
        combinations = [
            dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())
        ]
        return [cls(**each) if start is None else dataclasses.replace(start, **each) for each in combinations]

    def of_kind(self, kind: type, path: str, default: Any) -> list[Any]:
        """Returns the named configs of this kind, or the default changed by the flags below it.

        The list is empty if no flag names or changes one.
        """
        if path in self._given:
            texts = self._take(path)
            chosen = [_named_config(text, kind, path) for text in texts]
            if len(set(chosen)) < len(chosen):
                raise SpecError(f"{spelled(path)} names {', '.join(texts).lower()}: one of them twice. Give each once.")
            for text, (_, config) in zip(texts, chosen, strict=True):
                self._refuse_second_values(path, text, config)
            self._chosen[path] = kind, [kebab_case(cls, kind) for cls, _ in chosen]
            # The default by its name is the default: that of a critic's optimizer is not that of the class.
            chosen = [(cls, default if start is None and type(default) is cls else start) for cls, start in chosen]
            return [variant for cls, start in chosen for variant in self.variants(cls, f"{path}.", start)]
        if not (below := self._below(path)):
            return []
        if default is MISSING or default is None:
            raise SpecError(f"{spelled(below)} needs {spelled(path)}. {suggestion('', choices(kind))}")
        self._chosen[path] = kind, [kebab_case(type(default), kind)]
        return self.variants(type(default), f"{path}.", default)

    def refuse_unused(self) -> None:
        """Raises SpecError if a given field belongs to none of the chosen configs."""
        for path in self._unused:
            above, _, name = path.rpartition(".")
            while above and above not in self._chosen:
                above, _, name = above.rpartition(".")
            kind, names = self._chosen.get(above, (None, []))
            owned = choices(kind).items() if kind else ()
            owners = [owner for owner, cls in owned if name in {field.name for field in fields(cls)}]
            if not owners:
                raise SpecError(f"There is no field {path!r}. {suggestion(path, self._known)}")
            raise SpecError(
                f"{spelled(path)} is for {', '.join(owners)}, and {spelled(above)} is {', '.join(names)}. "
                "Leave it out, or choose one of them."
            )

    def _of_field(self, annotation: Any, path: str, default: Any) -> list[Any]:
        kind = kind_of(annotation)
        if kind is not None and inspect.isabstract(kind):
            return self.of_kind(kind, path, default)
        if kind is not None:
            return self.variants(kind, f"{path}.", default) if self._below(path) else []
        if path not in self._given:
            return []
        texts = self._take(path)
        if len(texts) > 1 and entries_of(annotation) is None:
            several = f" Several values go in one list: {','.join(texts)}." if _sweeps(annotation) else ""
            raise SpecError(
                f"{spelled(path)} was given {len(texts)} times ({', '.join(texts)}). Give it once.{several}"
            )
        values = [value for text in texts for value in parse_each(text, annotation, spelled(path))]
        if len(set(map(repr, values))) < len(values):
            raise SpecError(f"{spelled(path)} is {' '.join(texts)!r}, which names a value twice. Give each once.")
        return values

    def _take(self, path: str) -> Sequence[str]:
        self._unused.pop(path, None)
        return self._given[path]

    def _below(self, path: str) -> str:
        """Returns the first given subfield of the config in this field; an empty text if there is none."""
        return next((other for other in self._given if other.startswith(f"{path}.")), "")

    def _refuse_second_values(self, path: str, text: str, config: Any) -> None:
        """Raises SpecError if a field is set both after the name of its config and by a flag."""
        for field in fields(config) if config is not None else ():
            flag = f"{path}.{field.name}"
            if flag in self._given and getattr(config, field.name) != default_of(field):
                raise SpecError(f"{spelled(flag)} sets what {spelled(path)} {text} has set. Leave out one of them.")

    def _missing(self, path: str, annotation: Any) -> str:
        kind, above = kind_of(annotation), path.rpartition(".")[0]
        owner = f"{spelled(above)} {self._chosen[above][1][0]} needs it. " if above in self._chosen else ""
        return f"{spelled(path)} is missing. {owner}" + (f"Choose one of {', '.join(choices(kind))}." if kind else "")


def _named_config(text: str, kind: type, path: str) -> tuple[type, Any]:
    """Returns the class of the named config, and the parsed config if settings follow the name (else None)."""
    valid, name = choices(kind), name_in(text)
    if name not in valid:
        raise SpecError(f"{spelled(path)} is {text!r}. {suggestion(name, valid)}")
    return valid[name], parse(text, kind, spelled(path)) if ":" in text else None


def _sweeps(annotation: Any) -> bool:
    """Returns whether commas separate alternative values. In texts and lists, commas are part of the value."""
    return str not in alternatives(annotation) and entries_of(annotation) is None
