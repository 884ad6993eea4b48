"""Panels: figures 2, 3 and 4 show dSprites and faces; the faces have a stand-in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict, final

from unbraid.papers.chen2018.bench import (
    BASEL_FILE,
    FACE_CHOICES,
    SPRITE_CHOICES,
    Bench,
    basel_faces,
    shaded_faces,
    sprites,
)
from unbraid.papers.item import Choice, Scale


class About(TypedDict):
    """What an item says of its data."""

    id: str
    data: str
    needs: str
    stand_in: str
    stands_in_for: str


@final
@dataclass(frozen=True)
class Panel:
    """A panel of a figure: on which images, and which file they need. One with `note` stands in for the original."""

    key: str
    letter: str
    data: str
    bench: Callable[[Scale], Bench]
    choices: tuple[Choice, ...]
    needs: str = ""
    note: str = ""

    def about(self, figure: int) -> About:
        """Returns what the item of this figure says of its data."""
        original = f"chen2018/figure{figure}{self.letter}"
        stand_in = f"{original}-stand-in"
        return {
            "id": stand_in if self.note else original,
            "data": self.data,
            "needs": self.needs,
            "stand_in": stand_in if self.needs else "",
            "stands_in_for": original if self.note else "",
        }


STAND_IN = (
    " These are drawn faces with the factors and the number of images of the paper's; their numbers say nothing of the "
    "original."
)
SPRITES = Panel("sprites", "a", "dSprites", sprites, SPRITE_CHOICES)
BASEL = Panel("basel-faces", "b", "3D faces", basel_faces, FACE_CHOICES, needs=BASEL_FILE)
SHADED = Panel("shaded-faces", "b", "shaded faces", shaded_faces, FACE_CHOICES, note=STAND_IN)
