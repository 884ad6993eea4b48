"""Links names of torch, numpy and others to their sites, from a list that is kept here: building needs no network."""

import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import Files


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs with all files of the site."""
    for name, url in addresses().items():
        config.plugins["autorefs"].register_url(name, url)
    return files


def addresses() -> dict[str, str]:
    """Returns where each name is described: by its package's site and the page on it, at the anchor of its name."""
    sites = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return {
        name: f"{site}{page}#{name}" for site, pages in sites.items() for page, names in pages.items() for name in names
    }
