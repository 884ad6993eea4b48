"""Makes the pages of the reference, one for each folder that exports names, from the sources: nothing is imported.

A name is on the page of the folder nearest to where it is defined, and on no other: folders above it link to it.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_ROOT = Path(__file__).parents[2]
_SOURCE = _ROOT / "src"
# What the command line and the pages are made of; no code of a user's own calls it.
_INTERNAL = ("unbraid.cli", "unbraid.show.pages")
# Modules that are public as they are: what they define without an underscore.
_MODULES = (
    "unbraid._internal.device",
    "unbraid.datasets.weights",
    "unbraid.errors",
    "unbraid.metrics.evaluate",
    "unbraid.metrics.published",
    "unbraid.metrics.score_table",
    "unbraid.metrics.scorecard",
    "unbraid.metrics.scoring",
    "unbraid.metrics.top_latents",
    "unbraid.metrics.reductions.statistics",
    "unbraid._internal.precision",
    "unbraid._internal.progress",
    "unbraid.config.schedule",
    "unbraid.training.presets",
    "unbraid._internal.table",
)
# The groups of the navigation, by how the name of a module begins; the last takes what no other does.
_GROUPS = {
    "First of all": ("unbraid",),
    "Learn": ("datasets", "models", "objectives", "training"),
    "Measure": ("codes", "diagnose", "information", "metrics"),
    "Show": ("figures", "show"),
    "Study": ("studies",),
    "Extend": ("config", "integrations", "_internal"),
    "Everything else": ("",),
}

_HEADER = "| name | is |\n|---|---|"


@dataclass(frozen=True)
class Name:
    """Is a public name: where it is imported from, and where it is defined."""

    room: str
    name: str
    defined: str

    @property
    def path(self) -> str:
        """Returns what the reference calls it: where it is imported from, unless a file there has the same name."""
        is_file = _file(f"{self.room}.{self.name}").exists()
        return self.defined if is_file else f"{self.room}.{self.name}"


@dataclass(frozen=True)
class Room:
    """Is a page: a module, the names that it is the home of, and those that it hands on from below."""

    module: str
    about: str
    names: tuple[Name, ...]
    handed_on: tuple[Name, ...]

    @property
    def page(self) -> str:
        return f"reference/{self.module.removeprefix('unbraid').removeprefix('.') or 'unbraid'}.md"


def on_config(config: Any, **_: Any) -> Any:
    """Called by mkdocs with its settings: puts the pages into the navigation."""
    (reference,) = [entry["Reference"] for entry in config["nav"] if "Reference" in entry]
    for group, found in grouped().items():
        entries = [{room.module.removeprefix("unbraid."): room.page} for room in found]
        reference += entries if len(entries) == 1 else [{group: entries}]
    return config


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs with all files of the site."""
    for room in rooms():
        files.append(File.generated(config, room.page, content=text_of(room)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with each page's text: the first page of the reference lists the others."""
    return f"{markdown}\n{tables()}" if page.file.src_uri == "reference/index.md" else markdown


def on_page_content(content: str, page: Any, files: Files, **_: Any) -> str:
    """Called by mkdocs with each page's HTML: a page that a docstring names becomes a link to it."""

    def link(named: re.Match[str]) -> str:
        file = files.get_file_from_path(named[1])
        return f'<a href="{file.url_relative_to(page.file)}">docs/{named[1]}</a>' if file else named[0]

    return re.sub(r"docs/([\w/-]+\.md)", link, content) if page.file.src_uri.startswith("reference/") else content


def grouped() -> dict[str, list[Room]]:
    """Returns the pages by the groups of the navigation."""
    groups: dict[str, list[Room]] = {group: [] for group in _GROUPS}
    for room in rooms():
        inside = room.module.removeprefix("unbraid.")
        groups[next(group for group, starts in _GROUPS.items() if inside.startswith(starts))].append(room)
    return groups


@cache
def rooms() -> tuple[Room, ...]:
    """Returns every page, in the order of the modules' names."""
    exports = {module: _exported(module) for module in _packages()} | {module: _defined(module) for module in _MODULES}
    exports = {module: names for module, names in exports.items() if names}
    homes: dict[str, str] = {}
    for module, names in exports.items():
        for defined in names.values():
            homes[defined] = max(homes.get(defined, ""), module, key=lambda home: _shared(home, defined))
    return tuple(
        Room(
            module,
            ast.get_docstring(tree(module)) or "",
            tuple(Name(module, name, defined) for name, defined in names.items() if homes[defined] == module),
            tuple(Name(homes[defined], name, defined) for name, defined in names.items() if homes[defined] != module),
        )
        for module, names in sorted(exports.items())
    )


def tables() -> str:
    """Returns what each page is about, by group."""
    parts = []
    for group, found in grouped().items():
        rows = [f"| [`{room.module}`]({Path(room.page).name}) | {_cell(room.about)} |" for room in found]
        parts += [f"## {group}", "\n".join([_HEADER, *rows])]
    return "\n\n".join(parts) + "\n"


def text_of(room: Room) -> str:
    """Returns the page as Markdown: what the module is, a table of its names, and each of them."""
    parts = [f"# {room.module}", room.about, *_table(room.names)]
    if room.handed_on:
        parts += ["Names that are here too, and described where they are at home:" if room.names else ""]
        parts += _table(room.handed_on)
    parts += [f"::: {name.path}" for name in room.names]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(names: tuple[Name, ...]) -> list[str]:
    rows = [f"| [`{name.name}`][{name.path}] | {_cell(about(name.defined))} |" for name in names]
    return ["\n".join([_HEADER, *rows])] if rows else []


def _cell(about: str) -> str:
    """Returns the first sentence of a docstring, as the cell of a table."""
    sentence = re.match(r".+?(?<!et al)[.?](?= [A-Z`(]|$)|.*", " ".join(about.partition("\n\n")[0].split()))
    escaped = re.sub(
        r"(`[^`]*`)|([*_<\[\]])", lambda found: found[1] or f"\\{found[2]}", sentence[0] if sentence else ""
    )
    return escaped.replace("|", "\\|")


def _shared(module: str, defined: str) -> int:
    """Returns how many parts of its name a module shares with the place of a definition; none, if it is beside it."""
    return len(module) if defined.startswith(f"{module}.") else 0


def _packages() -> Iterator[str]:
    for file in sorted(_SOURCE.glob("unbraid/**/__init__.py")):
        module = ".".join(file.parent.relative_to(_SOURCE).parts)
        if not any(f"{module}.".startswith(f"{internal}.") for internal in _INTERNAL):
            yield module


def _exported(module: str) -> dict[str, str]:
    """Returns the names that a folder exports, `from x import y as y`, and where each is defined."""
    lines = [node for node in ast.walk(tree(module)) if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: _origin(f"{line.module}.{alias.name}")
        for line in lines
        for alias in line.names
        if alias.asname == alias.name and (alias.name[0] != "_" or alias.name == "__version__")
    }


def _defined(module: str) -> dict[str, str]:
    """Returns the names that a module defines and says something of."""
    return {name: f"{module}.{name}" for name, about in _definitions(module).items() if about and name[0] != "_"}


def _origin(path: str) -> str:
    """Returns where a name is defined that may have been handed on."""
    module, _, name = path.rpartition(".")
    handed_on = _exported(module) if _file(module).name == "__init__.py" else {}
    return handed_on.get(name, path)


def about(defined: str) -> str:
    module, _, name = defined.rpartition(".")
    return _definitions(module).get(name, "")


@cache
def _definitions(module: str) -> dict[str, str]:
    """Returns what a module defines at its top, and what it says of each."""
    found: dict[str, str] = {}
    body = tree(module).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            about = following.value.value if _is_text(following) else ""
            found |= {target.id: about for target in targets if isinstance(target, ast.Name)}
    return found


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text(encoding="utf-8"))


def _file(module: str) -> Path:
    path = _SOURCE.joinpath(*module.split("."))
    init = path / "__init__.py"
    return init if init.exists() else path.with_suffix(".py")
