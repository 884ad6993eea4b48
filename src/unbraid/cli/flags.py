"""Flags from the fields of dataclasses, and dataclasses from flags.

A field is a flag: `num_steps` is `--num-steps`. A field that holds a recipe of some kind takes the name of one,
`--objective beta-tcvae`, and the fields of that recipe follow after a dot, `--objective.beta 6`, or after colons
(`unbraid.recipes.text`).
"""

import dataclasses
import functools
import inspect
import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, final

import typer

from unbraid.cli.values import parse_each, placeholder
from unbraid.errors import SpecError
from unbraid.names import kebab_case, suggestion
from unbraid.recipes import parse, text_of
from unbraid.recipes.annotations import alternatives, default_of, hints_of, kinds_of
from unbraid.recipes.registry import choices

Given = Mapping[str, Sequence[str]]
"""What was typed: texts by the path of the field, such as "objective.beta"."""


@final
@dataclass(frozen=True)
class Holder:
    """A class that has the field, by the name one types; what the field takes there, and its default."""

    name: str
    annotation: Any
    default: Any


@final
@dataclass(frozen=True)
class Flag:
    """One flag: the path of its field, who has such a field, and, if it takes the name of a recipe, the recipes by
    name.
    """

    path: str
    holders: tuple[Holder, ...]
    kinds: Mapping[str, type] = field(default_factory=dict)

    @property
    def spelling(self) -> str:
        return spelled(self.path)

    @property
    def metavar(self) -> str:
        if self.kinds:
            return "NAME"
        words = dict.fromkeys(word for holder in self.holders for word in placeholder(holder.annotation).split("|"))
        # Some holders take a few whole numbers only: the word for all of them says enough.
        return "|".join(word for word in words if not (word.isdigit() and "INTEGER" in words))

    @property
    def help(self) -> str:
        """Who has the field, and its default; or the names to choose from."""
        by_default: dict[str, dict[str, None]] = defaultdict(dict)
        for holder in self.holders:
            default, kind = holder.default, _kind(holder.annotation)
            told = kebab_case(type(default), kind) if self.kinds else _tell_default(default)
            by_default[told] |= {holder.name: None} if holder.name else {}
        of = {default: ", ".join(names) for default, names in by_default.items()}
        if self.kinds:
            only = len(of) == 1
            marks = {name: " (default)" if only else f" (default of {names})" for name, names in of.items()}
            return ", ".join(name + marks.get(name, "") for name in self.kinds)
        return "; ".join(f"{names}: {default}" if names else default for default, names in of.items())


def spelled(path: str) -> str:
    """The path as one types it: `objective.analytic_kl` is `--objective.analytic-kl`."""
    return "--" + path.replace("_", "-")


def flags_of(cls: type, prefix: str = "", name: str = "", start: Any = None) -> dict[str, Flag]:
    """Every flag that the dataclass and the recipes it may hold give rise to, by path. Defaults are those of `start`,
    if there is one.
    """
    found: dict[str, Flag] = {}
    hints = hints_of(cls)
    for of_class in fields(cls):
        path, annotation = prefix + of_class.name, hints[of_class.name]
        default = getattr(start, of_class.name) if type(start) is cls else default_of(of_class)
        found |= flags_of_kind(annotation, path, default, name)
    return found


def flags_of_kind(annotation: Any, path: str, default: Any = MISSING, name: str = "") -> dict[str, Flag]:
    """The flags of one field: its own, and those below it."""
    kind, holder = _kind(annotation), Holder(name, annotation, default)
    if kind is None:
        return {path: Flag(path, (holder,))}
    if not inspect.isabstract(kind):
        return flags_of(kind, f"{path}.", start=default)
    named = choices(kind)
    return _merged(
        [
            {path: Flag(path, (holder,), named)},
            *(flags_of(cls, f"{path}.", each, default) for each, cls in named.items()),
        ]
    )


def with_flags(
    flags: Iterable[Flag], panels: Mapping[str, str], aliases: Mapping[str, str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these flags as well as its own. What was typed after them arrives together, as its argument
    `given`.

    In the help a flag stands in the panel of the first part of its path. `aliases` are second names, by path.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        by_argument = {flag.path.replace(".", "__"): flag for flag in flags}
        own = [parameter for parameter in inspect.signature(command).parameters.values() if parameter.name != "given"]
        derived = [
            inspect.Parameter(
                argument, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(flag, panels, aliases)
            )
            for argument, flag in by_argument.items()
        ]

        @functools.wraps(command)
        def with_given(**values: Any) -> None:
            typed = {flag.path: values.pop(argument) for argument, flag in by_argument.items()}
            command(**values, given={path: texts for path, texts in typed.items() if texts})

        signature = inspect.Signature(
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + derived
        )
        with_given.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
        vars(with_given)["__signature__"] = signature
        return with_given

    return decorate


def build(cls: type, given: Given, flags: Mapping[str, Flag], start: Any = None) -> list[Any]:
    """Every recipe that was asked for: more than one where a name was repeated or a number has several values. What was
    not asked for is as in `start`, if there is one.
    """
    builder = _Builder(given)
    built = builder.variants(cls, "", start)
    builder.refuse_unused(flags)
    return built


def build_kind(kind: type, path: str, given: Given, flags: Mapping[str, Flag], default: Any) -> list[Any]:
    """Every recipe of a kind that was asked for, as `build` does; the default if none was."""
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
        """The class with every combination of the given values; its other fields are those of `start`, if there is
        one.
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
        """The named recipes of this kind, or the default changed as the flags below it say; nothing if no flag speaks
        of it.
        """
        if path in self._given:
            self._used.add(path)
            chosen = [_named_recipe(text, kind, path) for text in self._given[path]]
            if len(set(chosen)) < len(chosen):
                raise SpecError(
                    f"{spelled(path)} names {', '.join(self._given[path]).lower()}: one of them twice. Give each once."
                )
            for text, (_, recipe) in zip(self._given[path], chosen, strict=True):
                self._refuse_second_values(path, text, recipe)
            self._chosen[path] = [kebab_case(cls, kind) for cls, _ in chosen]
            # The default by its name is the default: that of a critic's optimiser is not that of the class.
            chosen = [(cls, default if start is None and type(default) is cls else start) for cls, start in chosen]
            return [variant for cls, start in chosen for variant in self.variants(cls, f"{path}.", start)]
        below = [other for other in self._given if other.startswith(f"{path}.")]
        if not below:
            return []
        if default is MISSING or default is None:
            raise SpecError(f"{spelled(below[0])} needs {spelled(path)}. {suggestion('', choices(kind))}")
        self._chosen[path] = [kebab_case(type(default), kind)]
        return self.variants(type(default), f"{path}.", default)

    def _refuse_second_values(self, path: str, text: str, recipe: Any) -> None:
        """Refuses a field that is set after the name of its recipe and by a flag as well."""
        for of_class in fields(recipe) if recipe is not None else ():
            flag = f"{path}.{of_class.name}"
            if flag in self._given and getattr(recipe, of_class.name) != default_of(of_class):
                raise SpecError(f"{spelled(flag)} sets what {spelled(path)} {text} has set. Leave out one of them.")

    def refuse_unused(self, flags: Mapping[str, Flag]) -> None:
        for path in self._given:
            if path not in self._used:
                parent = path.rpartition(".")[0]
                owners = ", ".join(holder.name for holder in flags[path].holders)
                raise SpecError(
                    f"{spelled(path)} is for {owners}, and {spelled(parent)} is {', '.join(self._chosen[parent])}. "
                    "Leave it out, or choose one of them."
                )

    def _of_field(self, annotation: Any, path: str, default: Any) -> list[Any]:
        kind = _kind(annotation)
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
        if len(texts) > 1:
            several = f" Several values go in one list: {','.join(texts)}." if float in alternatives(annotation) else ""
            raise SpecError(
                f"{spelled(path)} was given {len(texts)} times ({', '.join(texts)}). Give it once.{several}"
            )
        return parse_each(texts[0], annotation, spelled(path))


def _option(flag: Flag, panels: Mapping[str, str], aliases: Mapping[str, str]) -> Any:
    names = [flag.spelling, *([aliases[flag.path]] if flag.path in aliases else [])]
    first, dot, _ = flag.path.partition(".")
    # A list, so that a second use is seen and not silently preferred.
    option = typer.Option(
        *names,
        metavar=flag.metavar,
        help=flag.help,
        show_default=False,
        rich_help_panel=panels[first + dot] if first + dot in panels else panels[""],
    )
    return Annotated[list[str] | None, option]


def _kind(annotation: Any) -> type | None:
    """The kind of recipe that the field holds, if it holds one. A number that may follow a schedule is a number."""
    return None if float in alternatives(annotation) else next(iter(kinds_of(annotation)), None)


def _named_recipe(text: str, kind: type, path: str) -> tuple[type, Any]:
    """Returns the class of the recipe that was named, and the recipe itself if settings follow the name."""
    valid, (name, colon, _) = choices(kind), text.partition(":")
    canonical = name.lower().replace("_", "-")
    if canonical not in valid:
        raise SpecError(f"{spelled(path)} is {text!r}. {suggestion(canonical, valid)}")
    return valid[canonical], parse(text, kind, spelled(path)) if colon else None


def _tell_default(default: Any) -> str:
    if default is MISSING:
        return "required"
    return "optional" if default in ("", ()) else f"default {text_of(default)}"


def _missing(path: str, annotation: Any, chosen: Collection[str] | None) -> str:
    kind = _kind(annotation)
    owner = f"{spelled(path.rpartition('.')[0])} {next(iter(chosen))} needs it. " if chosen else ""
    return f"{spelled(path)} is missing. {owner}" + (f"Choose one of {', '.join(choices(kind))}." if kind else "")


def _merged(tables: Iterable[Mapping[str, Flag]]) -> dict[str, Flag]:
    """All flags; those of one path become one, held by all who have the field."""
    merged: dict[str, Flag] = {}
    for path, flag in itertools.chain.from_iterable(table.items() for table in tables):
        before = merged.get(path)
        if before is not None:
            flag = dataclasses.replace(
                before, holders=before.holders + flag.holders, kinds={**before.kinds, **flag.kinds}
            )
        merged[path] = flag
    return merged
