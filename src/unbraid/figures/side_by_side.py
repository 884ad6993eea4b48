"""Traversals of several models beside each other, in rows that belong together."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from unbraid._internal import files
from unbraid.errors import CodesError
from unbraid.figures.labeled_sheet import beside
from unbraid.figures.traversal import Traversal

if TYPE_CHECKING:
    from PIL import Image


@final
@dataclass(frozen=True, eq=False)
class SideBySide:
    """Holds a traversal for each model, by its name.

    Row r of each shows the latent that is matched with that of row r of the first; a row without a partner is blank. In
    a notebook it shows itself.
    """

    traversals: Mapping[str, Traversal]

    def __len__(self) -> int:
        return len(self.traversals)

    def image(self) -> "Image.Image":
        """Returns a picture (of Pillow): the name of each model, and its rows below."""
        return beside([each.image() for each in self.traversals.values()], list(self.traversals))

    def png(self) -> bytes:
        """Returns the picture as a PNG file."""
        stream = io.BytesIO()
        self.image().save(stream, format="PNG", optimize=True)
        return stream.getvalue()

    def save(self, path: Path | str) -> Path:
        """Writes the picture as a .png file, and returns its path."""
        path = Path(path)
        if path.suffix.lower() != ".png":
            raise CodesError(f"Traversals side by side were to be saved as {path.name}; its name may end in .png.")
        files.write_bytes(path, self.png())
        return path

    def _repr_png_(self) -> bytes:
        return self.png()
