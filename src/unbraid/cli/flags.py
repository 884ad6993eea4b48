"""Flags of config fields: their names, help texts and values.

Each field has a flag, such as `--num-steps` for `num_steps`. The value of a field that holds a config is the name of a
config, such as `--objective beta-tcvae`. The fields of this config have flags with a dot, `--objective.beta 6`, or
follow its name after colons (`unbraid.config.text`). The help texts are read from a file, so that help is printed
without importing torch. `flag_tables` collects the texts from the classes. `build` makes configs from the given values.
"""

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, final

from unbraid._internal import files

Given = Mapping[str, Sequence[str]]
"""The values given on the command line, as text, by the path of the field, such as "objective.beta"."""

TABLES = Path(__file__).with_name("flags.json")
"""The file of the help texts, generated from the classes and not part of the repository."""


class FieldTexts(TypedDict):
    """Help texts of a field.

    `meaning` describes the field, and `metavar` is the placeholder of its value. `default` is an empty text if the
    default is None, and None if the field is required. `configs` has the texts of each config that the field may hold,
    by name; the name is "" if the field accepts only one class.
    """

    meaning: str
    metavar: str
    default: str | None
    configs: dict[str, "ConfigTexts"]


class ConfigTexts(TypedDict):
    """Help texts of a config class: the first line of its docstring, and the texts of its fields by name."""

    summary: str
    fields: dict[str, FieldTexts]


Fields = Mapping[str, FieldTexts]


@functools.cache
def known_fields(table: str) -> Fields:
    """Returns the help texts of one table: "train" (RunSpec), "score" (Metric, Scoring) or "model_scores"."""
    if not TABLES.exists() or _is_outdated():
        from unbraid.cli.flag_tables import flag_tables  # imports torch

        tables = flag_tables()
        with contextlib.suppress(OSError):  # in a read-only installation, the tables are made in each process
            files.write_json(TABLES, tables)
    else:
        tables = files.read_json(TABLES)
    return tables[table]


def _is_outdated() -> bool:
    """Returns whether a source file is newer than the file of help texts. Only checked in a checkout."""
    package = TABLES.parents[1]
    if not (package.parents[1] / "pyproject.toml").is_file():
        return False
    written = TABLES.stat().st_mtime_ns
    return any(path.stat().st_mtime_ns > written for path in package.rglob("*.py"))


@final
@dataclass(frozen=True)
class Flag:
    """Command-line flag of a config field.

    `holders` has the command-line name of each config class with this field, and the help texts of the field in that
    class. `is_shared` is true if all possible config classes have the field.
    """

    path: str
    holders: tuple[tuple[str, FieldTexts], ...]
    is_shared: bool

    @property
    def configs(self) -> dict[str, str]:
        """The names of the configs that the field accepts, each with the first line of its docstring."""
        return {name: config["summary"] for _, field in self.holders for name, config in field["configs"].items()}

    @property
    def metavar(self) -> str:
        words = dict.fromkeys(word for _, field in self.holders for word in field["metavar"].split("|"))
        # INTEGER includes the numbers that other classes list as choices.
        return "|".join(word for word in words if not (word.isdigit() and "INTEGER" in words))

    @property
    def help(self) -> str:
        """The help text: the meaning of the field, and its default or the valid names, per class if classes differ."""
        owners: dict[str, list[str]] = defaultdict(list)
        if self.configs:
            defaults = {field["default"] for _, field in self.holders}
            names = [f"{name} (default)" if name in defaults else name for name in self.configs]
            meanings = dict.fromkeys(field["meaning"] for _, field in self.holders if field["meaning"])
            return " ".join([*meanings, f"One of {', '.join(names)}."])
        for name, field in self.holders:
            default = {None: "Required.", "": ""}.get(field["default"], f"Default {field['default']}.")
            owners[f"{field['meaning']} {default}".strip()].append(name)
        if self.is_shared and len(owners) == 1:
            return next(iter(owners))
        return " ".join(f"{', '.join(names)}: {text}" for text, names in owners.items())


def flags_of(fields: Fields, given: Given | None = None) -> dict[str, Flag]:
    """Returns the flags of fields, and of the fields of the configs that they accept, by path.

    If `given` is not None, configs that are neither named in `given` nor defaults are left out.
    """
    holders: dict[str, list[tuple[str, FieldTexts]]] = defaultdict(list)
    named: dict[str, set[str]] = defaultdict(set)
    for path, owner, field, names in _iterate_fields(fields, given, "", ""):
        named[path].update(names)
        if (owner, field) not in holders[path]:
            holders[path].append((owner, field))
    return {
        path: Flag(path, tuple(found), named[path.rpartition(".")[0]] <= {owner for owner, _ in found})
        for path, found in holders.items()
    }


def _iterate_fields(
    fields: Fields, given: Given | None, prefix: str, owner: str
) -> Iterator[tuple[str, str, FieldTexts, list[str]]]:
    """Yields the path of each field, the name of its class, its help texts, and the names of the configs it accepts."""
    for name, field in fields.items():
        path, configs = prefix + name, field["configs"]
        if "" in configs:
            yield from _iterate_fields(configs[""]["fields"], given, f"{path}.", owner)
            continue
        if given is None:
            names = list(configs)
        else:
            names = [config_name(text) for text in given[path]] if path in given else [field["default"] or ""]
        yield path, owner, field, names if configs else []
        for each in configs:
            if each in names:
                yield from _iterate_fields(configs[each]["fields"], given, f"{path}.", each)


def flag_name(path: str) -> str:
    """Returns the flag of a field, such as `--objective.analytic-kl` for the path `objective.analytic_kl`."""
    return "--" + path.replace("_", "-")


def config_name(text: str) -> str:
    """Returns the normalized name in the text of a config, such as `beta-tcvae` in `Beta_TCVAE:beta=6`."""
    return text.partition(":")[0].strip().lower().replace("_", "-")


def flag_values(arguments: Sequence[str], first: str = "") -> dict[str, list[str]]:
    """Returns the values of each flag in the arguments of a command, by the path of its field.

    `first` is the path of the field that is set by the first positional argument, or "".
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
class ConfigFlags:
    """Decorator that adds flags for config fields to a command.

    The command receives the values of these flags as its argument `given`. `panels` maps the first part of the path of
    a flag to the title of its panel in the help. `alias` returns a second name of the flag of a path, or None.
    `argument` is the path of the field that is set by the first positional argument instead of a flag, or "".
    """

    fields: Callable[[], Fields]
    panels: Mapping[str, str]
    alias: Callable[[str], str | None] = lambda path: None
    argument: str = ""

    def __call__(self, command: Callable[..., None]) -> Callable[..., None]:
        """Attaches these flags to a command."""
        vars(command)["config_flags"] = self
        return command

    def flags(self, given: Given | None = None) -> dict[str, Flag]:
        fields = self.fields()
        if given is not None and self.argument and self.argument not in given:
            given = {**given, self.argument: list(fields[self.argument]["configs"])}
        return {path: flag for path, flag in flags_of(fields, given).items() if path != self.argument}

    def panel(self, path: str) -> str:
        first, dot, _ = path.partition(".")
        return self.panels.get(first + dot, self.panels[""])
