"""Functions that write figures to files, with a .csv file of the drawn numbers."""

import io
from pathlib import Path
from typing import Any

from unbraid._internal import files
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import Axes, data_of

_FORMATS = (".svg", ".pdf", ".png")
# Text is not converted to paths, and the same figure has the same bytes.
_RULES = {"svg.fonttype": "none", "svg.hashsalt": "unbraid", "pdf.fonttype": 42}
_NO_DATE: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}


def save(axes: Axes | tuple[Axes, ...], path: Path | str, *, overwrite: bool = False) -> Path:
    """Writes the figure of these axes as .svg, .pdf or .png, according to the suffix of `path`. Returns the path.

    The drawn numbers are written to a .csv file with the same name. Raises UnbraidError if a file exists, unless
    `overwrite` is True.
    """
    first = axes[0] if isinstance(axes, tuple) else axes
    path = Path(path)
    numbers = data_of(first).to_csv()
    check_figure_place(path, overwrite=overwrite, numbers=numbers)
    content = rendered(first, path.suffix.lower())
    files.write_text(path.with_suffix(".csv"), numbers)
    files.write_bytes(path, content)
    return path


def check_figure_place(path: Path, *, overwrite: bool = False, numbers: str | None = None) -> None:
    """Raises UnbraidError if `path` is not a valid file for a figure. A .csv file with the same numbers may exist."""
    if path.suffix.lower() not in _FORMATS:
        raise UnbraidError(f"Expected a file that ends in {', '.join(_FORMATS)}, got {path.name}. Change the suffix.")
    for each in (path, path.with_suffix(".csv")):
        if each.exists() and not overwrite and not (each != path and _holds(each, numbers)):
            raise UnbraidError(f"{each} exists. Choose another name, or overwrite it with overwrite=True (--force).")
        files.check_writable(each)


def _holds(path: Path, numbers: str | None) -> bool:
    return numbers is not None and files.read_bytes(path) == numbers.encode()


def rendered(axes: Axes, suffix: str = ".png") -> bytes:
    """Returns the content of a file of the figure of these axes, in the format of this suffix."""
    import matplotlib as mpl

    stream = io.BytesIO()
    with mpl.rc_context(_RULES):
        axes.figure.savefig(
            stream, format=suffix[1:], dpi=200, bbox_inches="tight", pad_inches=0.03, metadata=_NO_DATE[suffix]
        )
    return stream.getvalue()
