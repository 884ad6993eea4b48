"""Construction of configs from command-line flags."""

import dataclasses
import inspect
import itertools
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, final

from unbraid._internal.names import kebab_case, suggestion
from unbraid.cli.flags import Given, config_name, flag_name
from unbraid.config import parse
from unbraid.config.annotations import alternatives, choices, default_of, entries_of, hints_of, kinds_of
from unbraid.config.text import split
from unbraid.errors import SpecError


def build(cls: type, given: Given, start: Any = None) -> list[Any]:
    """Returns configs of a class: one for each combination of the values given on the command line.

    Fields without a flag keep their value in `start` or, if `start` is None, their default.
    """
    builder = _Builder(given)
    built = builder.variants(cls, "", start)
    builder.check_all_used()
    return built


def build_kind(kind: type, path: str, given: Given, default: Any) -> list[Any]:
    """Returns the configs chosen by the flag of `path`, of subclasses of `kind`; without such a flag, the default."""
    builder = _Builder(given)
    built = builder.of_kind(kind, path, default) or [default]
    builder.check_all_used()
    return built


def kind_of(annotation: Any) -> type | None:
    """Returns the config class in the annotation of a field, or None if the field holds no config.

    The class may be an abstract base class, whose subclasses are chosen by name. A number that accepts a schedule
    counts as a number.
    """
    return None if float in alternatives(annotation) else next(iter(kinds_of(annotation)), None)


def parse_each(text: str, annotation: Any, flag: str) -> list[Any]:
    """Returns the parsed values of a flag. Commas separate values, except in fields that hold a text or a list."""
    return [parse(part, annotation, flag) for part in (split(text, ",") if _sweeps(annotation) else [text])]


@final
class _Builder:
    """Recursive builder of configs that records the used flags."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._unused = dict.fromkeys(given)
        self._chosen: dict[str, tuple[type, list[str]]] = {}  # the kind, and the names of the configs
        self._known: set[str] = set()  # the fields of the chosen configs

    def variants(self, cls: type, prefix: str, start: Any) -> list[Any]:
        """Returns a config for each combination of the given values. Other fields are copied from `start`."""
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
        """Returns the configs named by the flag of `path`, or the default with the fields that flags set.

        The list is empty if there are no such flags.
        """
        if path in self._given:
            texts = self._take(path)
            chosen = [_named_config(text, kind, path) for text in texts]
            if len(set(chosen)) < len(chosen):
                raise SpecError(f"{flag_name(path)} has a repeated value: {', '.join(texts).lower()}. Give each once.")
            for text, (_, config) in zip(texts, chosen, strict=True):
                self._check_set_once(path, text, config)
            self._chosen[path] = kind, [kebab_case(cls, kind) for cls, _ in chosen]
            # The default of a field can differ from the defaults of its class, as for a critic's optimizer.
            chosen = [(cls, default if start is None and type(default) is cls else start) for cls, start in chosen]
            return [variant for cls, start in chosen for variant in self.variants(cls, f"{path}.", start)]
        if not (below := self._below(path)):
            return []
        if default is MISSING or default is None:
            raise SpecError(f"{flag_name(below)} requires {flag_name(path)}. {suggestion('', choices(kind))}")
        self._chosen[path] = kind, [kebab_case(type(default), kind)]
        return self.variants(type(default), f"{path}.", default)

    def check_all_used(self) -> None:
        """Raises SpecError if none of the chosen configs has the field of a given flag."""
        for path in self._unused:
            above, _, name = path.rpartition(".")
            while above and above not in self._chosen:
                above, _, name = above.rpartition(".")
            kind, names = self._chosen.get(above, (None, []))
            owned = choices(kind).items() if kind else ()
            owners = [owner for owner, cls in owned if name in {field.name for field in fields(cls)}]
            if not owners:
                raise SpecError(f"Unknown field {path!r}. {suggestion(path, self._known)}")
            raise SpecError(
                f"{flag_name(path)} was given, but {flag_name(above)} is {', '.join(names)}; expected "
                f"{' or '.join(owners)}. Leave out {flag_name(path)}, or change {flag_name(above)}."
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
            several = f", with a list of values: {','.join(texts)}" if _sweeps(annotation) else ""
            raise SpecError(f"{flag_name(path)} was given as {', '.join(texts)}. Give the flag once{several}.")
        values = [value for text in texts for value in parse_each(text, annotation, flag_name(path))]
        if len(set(map(repr, values))) < len(values):
            raise SpecError(f"{flag_name(path)} has a repeated value: {' '.join(texts)!r}. Give each value once.")
        return values

    def _take(self, path: str) -> Sequence[str]:
        self._unused.pop(path, None)
        return self._given[path]

    def _below(self, path: str) -> str:
        """Returns the path of the first given flag for a field of the config at `path`, or an empty text."""
        return next((other for other in self._given if other.startswith(f"{path}.")), "")

    def _check_set_once(self, path: str, text: str, config: Any) -> None:
        """Raises SpecError if a flag sets a field that is already set after the name of its config."""
        for field in fields(config) if config is not None else ():
            flag = f"{path}.{field.name}"
            if flag in self._given and getattr(config, field.name) != default_of(field):
                raise SpecError(f"{flag_name(flag)} sets what {flag_name(path)} {text} has set. Leave out one of them.")

    def _missing(self, path: str, annotation: Any) -> str:
        kind, above = kind_of(annotation), path.rpartition(".")[0]
        owner = f" for {flag_name(above)} {self._chosen[above][1][0]}" if above in self._chosen else ""
        fix = f"Choose one of {', '.join(choices(kind))}." if kind else "Give it a value."
        return f"Expected {flag_name(path)}{owner}, but it is missing. {fix}"


def _named_config(text: str, kind: type, path: str) -> tuple[type, Any]:
    """Returns the class of the named config, and the config itself if fields follow the name (else None)."""
    valid, name = choices(kind), config_name(text)
    if name not in valid:
        raise SpecError(f"{flag_name(path)} is {text!r}. {suggestion(name, valid)}")
    return valid[name], parse(text, kind, flag_name(path)) if ":" in text else None


def _sweeps(annotation: Any) -> bool:
    """Returns whether commas separate several values. In a text or a list, commas are part of one value."""
    return str not in alternatives(annotation) and entries_of(annotation) is None
