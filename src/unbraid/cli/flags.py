"""Flags, and what is said of them: texts alone, so that they are listed without importing a config.

A field is a flag: `num_steps` is `--num-steps`. A field that holds a config of some kind takes the name of one,
`--objective beta-tcvae`, and the fields of that config follow after a dot, `--objective.beta 6`, or after colons
(`unbraid.config.text`). `config_flags` makes flags from classes, `flags.json` keeps them, and `build` makes configs
from what was typed.
"""

import contextlib
import functools
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, final

import typer

from unbraid._internal import files

Given = Mapping[str, Sequence[str]]
"""What was typed: texts by the path of the field, such as "objective.beta"."""

TABLES = Path(__file__).with_name("flags.json")
"""Help texts as JSON, made from the classes and not kept in git."""


@final
@dataclass(frozen=True)
class Holder:
    """A class that has the field, with the texts of its flag.

    `metavar` stands for the value, `default` is the default as text (None if there is none), and `configs` has a line
    on each config where the name of one is given. `at` is the path of the flag by which the class is named, if that is
    not the one above the field.
    """

    name: str
    metavar: str
    default: str | None = None
    meaning: str = ""
    configs: Mapping[str, str] = field(default_factory=dict)
    at: str = ""


@final
@dataclass(frozen=True)
class Flag:
    """One flag: the path of its field, and the classes that have such a field.

    `of_some` is whether other named classes have none.
    """

    path: str
    holders: tuple[Holder, ...]
    of_some: bool = False

    @property
    def spelling(self) -> str:
        return spelled(self.path)

    @property
    def configs(self) -> dict[str, str]:
        """Returns the configs that may be named, with a line on each; none for a flag that takes another value."""
        return {name: line for holder in self.holders for name, line in holder.configs.items()}

    @property
    def owners(self) -> list[str]:
        """Returns the names of the classes that have the field, each once."""
        return list(dict.fromkeys(holder.name for holder in self.holders if holder.name))

    @property
    def metavar(self) -> str:
        words = dict.fromkeys(word for holder in self.holders for word in holder.metavar.split("|"))
        # Some holders take a few whole numbers only: the word for all of them says enough.
        return "|".join(word for word in words if not (word.isdigit() and "INTEGER" in words))

    @property
    def help(self) -> str:
        """Returns what the field means, and its default; or the names to choose from.

        Says which classes have it, where not all do.
        """
        if self.configs:
            return " ".join([*self._meanings(), self._names()])
        by_meaning: dict[str, list[Holder]] = defaultdict(list)
        for holder in self.holders:
            by_meaning[holder.meaning].append(holder)
        texts = {meaning: f"{meaning} {_defaults(group)}".strip() for meaning, group in by_meaning.items()}
        if len(texts) == 1 and not self.of_some:
            return next(iter(texts.values()))
        return " ".join(f"{', '.join(Flag('', tuple(by_meaning[each])).owners)}: {texts[each]}" for each in texts)

    def _meanings(self) -> list[str]:
        return list(dict.fromkeys(holder.meaning for holder in self.holders if holder.meaning))

    def _names(self) -> str:
        """Returns the configs, with a mark at those that are taken by default."""
        of: dict[str, list[str]] = defaultdict(list)
        for holder in self.holders:
            of[holder.default or ""].append(holder.name)
        marks = {
            name: " (default)" if len(of) == 1 else f" (default of {', '.join(dict.fromkeys(owners))})"
            for name, owners in of.items()
        }
        return f"One of {', '.join(name + marks.get(name, '') for name in self.configs)}."


def spelled(path: str) -> str:
    """Returns the flag of a path: `objective.analytic_kl` is `--objective.analytic-kl`."""
    return "--" + path.replace("_", "-")


@functools.cache
def known_flags(table: str) -> dict[str, Flag]:
    """Returns the flags of a table, by path.

    "train" has the fields of a spec, "score" those of a metric, and "model_scores" those of the scores of a model.
    """
    content = _tables()[table]
    return {path: Flag(path, tuple(Holder(**holder) for holder in holders)) for path, holders in content.items()}


def _tables() -> dict[str, Any]:
    """Returns the tables of `flags.json`, which is written where it is missing or older than the code."""
    if TABLES.exists() and not _is_outdated():
        content: dict[str, Any] = files.read_json(TABLES)
        return content
    from unbraid.cli.flag_tables import flag_tables  # imports torch

    content = flag_tables()
    with contextlib.suppress(OSError):  # such as a read-only installation, where they are made each time
        files.write_json(TABLES, content)
    return content


def _is_outdated() -> bool:
    """Returns whether the package is a checkout in which code has changed since the tables were written."""
    package = TABLES.parents[1]
    if not (package.parents[1] / "pyproject.toml").is_file():
        return False
    written = TABLES.stat().st_mtime_ns
    return any(path.stat().st_mtime_ns > written for path in package.rglob("*.py"))


def flags_to_json(flags: Iterable[Flag]) -> dict[str, list[dict[str, Any]]]:
    """Returns what `known_flags` reads of a table. What is as by default is left out."""
    plain = vars(Holder("", ""))
    return {
        flag.path: [
            {name: value for name, value in vars(holder).items() if name in ("name", "metavar") or value != plain[name]}
            for holder in flag.holders
        ]
        for flag in flags
    }


def relevant(flags: Mapping[str, Flag], given: Given) -> dict[str, Flag]:
    """Returns the flags of the configs that were named or are taken by default.

    Other classes that have such a field are left out of each flag.
    """
    taken = {path: [name_in(text) for text in texts] for path, texts in given.items()}
    found: dict[str, Flag] = {}
    for path in sorted(flags, key=lambda path: path.count(".")):
        above = path.rpartition(".")[0]
        holders = tuple(
            each
            for each in flags[path].holders
            if not each.name or each.name in taken.get(each.at or above, [each.name])
        )
        if holders:
            named = taken.get(above, [])
            found[path] = Flag(path, holders, len({holder.name for holder in holders} & {*named}) < len({*named}))
        if flags[path].configs and path not in taken:
            taken[path] = [str(holder.default) for holder in holders]
    return {path: found[path] for path in flags if path in found}


def name_in(text: str) -> str:
    """Returns the name of a config in what was typed: `beta-tcvae` in `Beta_TCVAE:beta=6`."""
    return text.partition(":")[0].strip().lower().replace("_", "-")


def typed_in(arguments: Sequence[str], first: str = "") -> dict[str, list[str]]:
    """Returns what follows each flag among the arguments, by the path of its field.

    `first` is the path of the field that the first argument stands for, if there is one.
    """
    found: dict[str, list[str]] = defaultdict(list)
    if first and arguments and not arguments[0].startswith("-"):
        found[first] = [arguments[0]]
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            found[name[2:].replace("-", "_")].append(value if equals else following)
    return found


@final
@dataclass(frozen=True)
class DerivedFlags:
    """The flags of a command beyond its own.

    `panels` are by the first part of a path, `alias` gives a second name by path, and `first` is the path of the field
    that the first argument of the command stands for, if there is one.
    """

    find: Callable[[], Mapping[str, Flag]]
    panels: Mapping[str, str]
    alias: Callable[[str], str | None]
    first: str = ""

    def panel(self, path: str) -> str:
        first, dot, _ = path.partition(".")
        return self.panels.get(first + dot, self.panels[""])


def with_flags(
    find: Callable[[], Mapping[str, Flag]],
    panels: Mapping[str, str],
    alias: Callable[[str], str | None] = lambda path: None,
    first: str = "",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command these flags as well as its own.

    What was typed after them arrives together, as its argument `given`.

    They are looked for when the command is typed. In the help a flag stands in the panel of the first part of its path.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        vars(command)["derived_flags"] = DerivedFlags(find, panels, alias, first)
        return command

    return decorate


def derived_of(command: Callable[..., None]) -> DerivedFlags | None:
    """Returns the flags that `with_flags` gave to a command."""
    found: DerivedFlags | None = vars(command).get("derived_flags")
    return found


def attached(command: Callable[..., None], derived: DerivedFlags) -> Callable[..., None]:
    """Returns the command with a parameter for each flag, as typer wants it."""
    by_argument = {argument_of(path): path for path in derived.find()}
    own = [parameter for parameter in inspect.signature(command).parameters.values() if parameter.name != "given"]
    parameters = [
        inspect.Parameter(
            argument, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(path, derived.alias(path))
        )
        for argument, path in by_argument.items()
    ]

    @functools.wraps(command)
    def with_given(**values: Any) -> None:
        typed = {path: values.pop(argument) for argument, path in by_argument.items()}
        command(**values, given={path: texts for path, texts in typed.items() if texts})

    signature = inspect.Signature(
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + parameters
    )
    with_given.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    vars(with_given)["__signature__"] = signature
    return with_given


def argument_of(path: str) -> str:
    """Returns the name of the parameter that stands for a flag."""
    return path.replace(".", "__")


def _option(path: str, alias: str | None) -> Any:
    # A list, so that a second use is seen and not silently preferred.
    return Annotated[list[str] | None, typer.Option(spelled(path), *([alias] if alias else []), show_default=False)]


def _defaults(holders: Sequence[Holder]) -> str:
    """Returns the default of these classes, or that of each."""
    by_default: dict[str, list[Holder]] = defaultdict(list)
    for holder in holders:
        by_default["required" if holder.default is None else holder.default].append(holder)
    if set(by_default) <= {"", "required"} and len(by_default) == 1:
        return "Required." if "required" in by_default else ""
    if len(by_default) == 1:
        return f"Default {next(iter(by_default))}."
    each = [f"{default or 'none'} for {', '.join(Flag('', tuple(of)).owners)}" for default, of in by_default.items()]
    return f"Default {', '.join(each)}."
