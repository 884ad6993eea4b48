"""Makes the pages of the reference that mkdocs.yml lists, one for each public module. griffe reads the sources.

A name is on the page of the folder nearest to its definition, and folders above it link to it. Names of torch, numpy
and others are linked from a list in elsewhere.json, so that a build needs no network.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

_ROOT = Path(__file__).parents[2]
_HEADER = "| name | is |\n|---|---|"


@dataclass(frozen=True)
class Name:
    """A public name: the module that it is imported from, and its definition."""

    module: str
    definition: griffe.Object

    @property
    def path(self) -> str:
        """The path for mkdocstrings: that of the import, unless a file there has the same name."""
        path = f"{self.module}.{self.definition.name}"
        return self.definition.path if _found(path).is_module else path

    @property
    def about(self) -> str:
        return self.definition.docstring.value if self.definition.docstring else ""


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs with all files of the site."""
    for module, page in pages().items():
        files.append(File.generated(config, page, content=text_of(module)))
    for name, url in addresses().items():
        config.plugins["autorefs"].register_url(name, url)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Called by mkdocs with each page's text: the first page of the reference lists the others by group."""
    if page.file.src_uri != "reference/index.md":
        return markdown
    (reference,) = [entry["Reference"] for entry in config["nav"] if "Reference" in entry]
    modules = {path: module for module, path in pages().items()}
    parts = [markdown]
    for entry in reference:
        for group, inside in entry.items() if isinstance(entry, dict) else ():
            if isinstance(inside, list):
                paths = [path for listed in inside for path in listed.values()]
                rows = [
                    f"| [`{modules[path]}`]({Path(path).name}) | {_cell(_about(modules[path]))} |" for path in paths
                ]
                parts += [f"## {group}", "\n".join([_HEADER, *rows])]
    return "\n\n".join(parts) + "\n"


def on_page_content(content: str, page: Any, files: Files, **_: Any) -> str:
    """Called by mkdocs with each page's HTML: a page that a docstring names becomes a link to it."""

    def link(named: re.Match[str]) -> str:
        file = files.get_file_from_path(named[1])
        return f'<a href="{file.url_relative_to(page.file)}">docs/{named[1]}</a>' if file else named[0]

    return re.sub(r"docs/([\w/-]+\.md)", link, content) if page.file.src_uri.startswith("reference/") else content


def addresses() -> dict[str, str]:
    """Returns the address of each name of another package: the page of its site, at the anchor of the name."""
    sites = json.loads(Path(__file__).with_name("elsewhere.json").read_text(encoding="utf-8"))
    return {
        name: f"{site}{page}#{name}" for site, pages in sites.items() for page, names in pages.items() for name in names
    }


@cache
def pages() -> dict[str, str]:
    """Returns the page of each public module, in the order of mkdocs.yml."""
    settings = (_ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"- ([\w.]+): (reference/[\w.]+\.md)", settings)
    return {module if module == "unbraid" else f"unbraid.{module}": page for module, page in listed}


def text_of(module: str) -> str:
    """Returns the page of a module as Markdown: its docstring, a table of its names, and each of them."""
    listed = names()
    here = [listed[path] for path in _exported(module)]
    own = [name for name in here if name.module == module]
    others = [name for name in here if name.module != module]
    parts = [f"# {module}", _about(module), _table(own)]
    if others:
        parts += ["Names that are here too, and described where they are at home:" if own else "", _table(others)]
    parts += [f"::: {name.path}" for name in own]
    return "\n\n".join(part for part in parts if part) + "\n"


@cache
def names() -> dict[str, Name]:
    """Returns every public name by the path of its definition, with the nearest module that exports it."""
    found: dict[str, Name] = {}
    for module in sorted(pages()):
        for path in _exported(module):
            if path not in found or path.startswith(f"{module}."):  # deeper folders come later
                found[path] = Name(module, _found(path))
    return found


def _exported(module: str) -> list[str]:
    """Returns the definitions of the names of a module: what a folder imports `as` itself, or a file documents."""
    found = _found(module)
    if found.is_init_module:
        listed = re.findall(r"from (\S+) import (?:(\w+) as \2\b|\*)", found.source)
        each = ([_origin(f"{module}.{name}")] if name else _exported(home) for home, name in listed)
        return [path for paths in each for path in paths]
    return [each.path for each in found.members.values() if each.is_public and not each.is_alias and each.docstring]


def _origin(path: str) -> str:
    """Returns the path of the definition of a name that folders may import from each other."""
    module, _, name = path.rpartition(".")
    imported = _found(module).imports.get(name)
    return _origin(imported) if imported else path


def _found(path: str) -> griffe.Object:
    return _package()[path.split(".")[1:]] if path != "unbraid" else _package()


def _about(module: str) -> str:
    docstring = _found(module).docstring
    return docstring.value if docstring else ""


@cache
def _package() -> griffe.Module:
    return griffe.load("unbraid", search_paths=[_ROOT / "src"], allow_inspection=False)


def _table(listed: list[Name]) -> str:
    rows = [f"| [`{name.definition.name}`][{name.path}] | {_cell(name.about)} |" for name in listed]
    return "\n".join([_HEADER, *rows]) if rows else ""


def _cell(about: str) -> str:
    """Returns the first sentence of a docstring, as the cell of a table."""
    sentence = re.match(r".+?(?<!et al)[.?](?= [A-Z`(]|$)|.*", " ".join(about.partition("\n\n")[0].split()))
    escaped = re.sub(
        r"(`[^`]*`)|([*_<\[\]])", lambda found: found[1] or f"\\{found[2]}", sentence[0] if sentence else ""
    )
    return escaped.replace("|", "\\|")
