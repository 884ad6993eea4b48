"""The figures of docs/figures.md, made by the code that the page shows.

python -m examples.figure_gallery            writes docs/figures/*.svg and the csv beside each
python -m examples.figure_gallery FOLDER     writes them into another folder, as PNG too, to look at
"""

import contextlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from unbraid import figures
from unbraid._internal import files

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "figures.md"
FOLDER = ROOT / "docs" / "figures"


def blocks() -> list[str]:
    """Returns the Python code of the page, block by block."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def make(folder: Path, *, skip: tuple[str, ...] = (), png: bool = False) -> None:
    """Runs the code blocks of the page, except blocks with a text of `skip`, and saves the figures into a folder."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        Path("evidence").symlink_to(ROOT / "evidence")
        for block in blocks():
            if not any(text in block for text in skip):
                exec(block, names)  # noqa: S102 - the page is ours
                if png and "figures.save" in block:
                    _save_as_png(names)
        for path in sorted(Path().glob("*.*")):
            if path.suffix in (".svg", ".csv", ".png"):
                files.write_bytes(folder / path.name, path.read_bytes())


def _save_as_png(names: dict[str, Any]) -> None:
    newest = max(Path().glob("*.svg"), key=lambda path: path.stat().st_mtime_ns)
    figures.save(
        names["panels" if newest.stem in ("designs", "code-curves", "code-map") else "axes"], newest.with_suffix(".png")
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]).absolute() if sys.argv[1:] else FOLDER, png=bool(sys.argv[1:]))
