"""Flags of config fields: their names, help texts and values.

Each field has a flag: `num_steps` has `--num-steps`. A field that holds a config takes the name of a config,
`--objective beta-tcvae`. The fields of this config follow after a dot, `--objective.beta 6`, or after colons
(`unbraid.config.text`). The texts are read from a file, so that help is printed without importing torch.
`flag_tables` makes the texts from the classes, and `build` makes configs from the given values.
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
"""The given texts by the path of the field, such as "objective.beta"."""

TABLES = Path(__file__).with_name("flags.json")
"""The texts as JSON, made from the classes and not kept in git."""


class FieldTexts(TypedDict):
    """The texts of a field: its meaning, its placeholder, and its default.

    `default` is an empty text for a default of None, and None if the field is required. `configs` maps the names of
    the configs that the field may hold to their texts. A field that always holds a config of one class has this class
    under the name "".
    """

    meaning: str
    metavar: str
    default: str | None
    configs: dict[str, "ConfigTexts"]


class ConfigTexts(TypedDict):
    """The first line of the docstring of a config class, and the texts of its fields by name."""

    summary: str
    fields: dict[str, FieldTexts]


Fields = Mapping[str, FieldTexts]


@functools.cache
def known_fields(table: str) -> Fields:
    """Returns the fields of a spec ("train"), of a metric and a scoring ("score"), or of a "model_scores" field."""
    if not TABLES.exists() or _is_outdated():
        from unbraid.cli.flag_tables import flag_tables  # imports torch

        tables = flag_tables()
        with contextlib.suppress(OSError):  # such as a read-only installation, where they are made each time
            files.write_json(TABLES, tables)
    else:
        tables = files.read_json(TABLES)
    return tables[table]


def _is_outdated() -> bool:
    """Returns whether the package is a checkout in which code has changed since the tables were written."""
    package = TABLES.parents[1]
    if not (package.parents[1] / "pyproject.toml").is_file():
        return False
    written = TABLES.stat().st_mtime_ns
    return any(path.stat().st_mtime_ns > written for path in package.rglob("*.py"))


@final
@dataclass(frozen=True)
class Flag:
    """Command-line flag of a config field.

    `holders` has a pair for each config class with the field: the name of the class, and the texts of the field there.
    `is_shared` is true if all classes in question have the field.
    """

    path: str
    holders: tuple[tuple[str, FieldTexts], ...]
    is_shared: bool

    @property
    def configs(self) -> dict[str, str]:
        """The valid config names, each with the summary of its config."""
        return {name: config["summary"] for _, field in self.holders for name, config in field["configs"].items()}

    @property
    def metavar(self) -> str:
        words = dict.fromkeys(word for _, field in self.holders for word in field["metavar"].split("|"))
        # Where some classes take any whole number and others a few, INTEGER covers all.
        return "|".join(word for word in words if not (word.isdigit() and "INTEGER" in words))

    @property
    def help(self) -> str:
        """The meaning of the field, with its default or the names to choose from; by class where they differ."""
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
    """Returns the flags of the fields and of their possible configs, by path.

    If `given` is set, only the configs named in `given` and the default configs have flags.
    """
    holders: dict[str, list[tuple[str, FieldTexts]]] = defaultdict(list)
    named: dict[str, set[str]] = defaultdict(set)
    for path, owner, field, names in _walked(fields, given, "", ""):
        named[path].update(names)
        if (owner, field) not in holders[path]:
            holders[path].append((owner, field))
    return {
        path: Flag(path, tuple(found), named[path.rpartition(".")[0]] <= {owner for owner, _ in found})
        for path, found in holders.items()
    }


def _walked(
    fields: Fields, given: Given | None, prefix: str, owner: str
) -> Iterator[tuple[str, str, FieldTexts, list[str]]]:
    """Yields the path of each field, the name of its class, its texts, and the names of its configs."""
    for name, field in fields.items():
        path, configs = prefix + name, field["configs"]
        if "" in configs:
            yield from _walked(configs[""]["fields"], given, f"{path}.", owner)
            continue
        if given is None:
            names = list(configs)
        else:
            names = [name_in(text) for text in given[path]] if path in given else [field["default"] or ""]
        yield path, owner, field, names if configs else []
        for each in configs:
            if each in names:
                yield from _walked(configs[each]["fields"], given, f"{path}.", each)


def spelled(path: str) -> str:
    """Returns the flag of a path: `objective.analytic_kl` is `--objective.analytic-kl`."""
    return "--" + path.replace("_", "-")


def name_in(text: str) -> str:
    """Returns the normalized name of a config: `beta-tcvae` for `Beta_TCVAE:beta=6`."""
    return text.partition(":")[0].strip().lower().replace("_", "-")


def typed_in(arguments: Sequence[str], first: str = "") -> dict[str, list[str]]:
    """Returns the values of each flag among the arguments, by the path of its field.

    `first` is the path of the field that the first argument sets, if there is one.
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

    The values of these flags are passed to the command as `given`. In the help, the first part of the path of a flag
    selects its panel. `alias` returns a second name of a flag by its path. `argument` is the path of the field that the
    first argument of the command sets, if there is one: this field has no flag.
    """

    fields: Callable[[], Fields]
    panels: Mapping[str, str]
    alias: Callable[[str], str | None] = lambda path: None
    argument: str = ""

    def __call__(self, command: Callable[..., None]) -> Callable[..., None]:
        """Decorates a command."""
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
