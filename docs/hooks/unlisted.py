"""Adds pages of objectives, metrics and data sets that the nav of mkdocs.yml does not list to their sections."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Called by mkdocs with its configuration."""
    entries = [entry for section in _sections(config.nav) for entry in section]
    pages_of = (list(entry.values()) if isinstance(entry, dict) else [entry] for entry in entries)
    listed = {page for pages in pages_of for page in pages if isinstance(page, str)}
    for section in list(_sections(config.nav)):
        for folder in ("objectives", "metrics", "datasets"):
            if f"{folder}/index.md" in section:
                pages = sorted(f"{folder}/{path.name}" for path in Path(config.docs_dir, folder).glob("*.md"))
                section += [page for page in pages if page not in listed]
    return config


def _sections(entries: list[Any]) -> Iterator[list[Any]]:
    """Yields every list of entries in the nav."""
    yield entries
    for entry in entries:
        for inner in entry.values() if isinstance(entry, dict) else ():
            if isinstance(inner, list):
                yield from _sections(inner)
