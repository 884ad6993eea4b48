"""Makes the explorers that pages embed, of what models they hold and of the scripts as they are now; and gives the home
page, which shows one, the whole width.
"""

import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from unbraid.explorer.explorer import render


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs with all files of the site."""
    for content in sorted(Path(config["docs_dir"]).glob("live/*.json")):
        page = render(json.loads(content.read_text()))
        files.append(File.generated(config, f"live/{content.stem}.html", content=page))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with each page's text."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    return markdown
