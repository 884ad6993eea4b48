"""Makes the explorers that pages embed, of what models they hold and of the scripts as they are now."""

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
