"""What the variants of dSprites share: its sprites, its factors, and something random in every image that is none of
them.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.drawing import sprites
from unbraid.datasets.drawing.painted_sprites import Paint, PaintedSprites
from unbraid.datasets.synthetic.dsprites import DSprites
from unbraid.errors import SpecError


@dataclass(frozen=True)
class DSpritesVariant(FactorDataset):
    """dSprites in color. All fields but `seed` are those of `DSprites`; what is random in image n is drawn from (seed,
    n).
    """

    origin: ClassVar = "drawn"

    resolution: int = 64
    """Height and width of the images, in pixels; the sprites are scaled with them."""
    shapes: tuple[str, ...] = sprites.SHAPES
    """Which shapes: square, ellipse, heart."""
    num_scales: int = 6
    """How many sizes, from half to full."""
    num_orientations: int = 40
    """How many angles, from 0 to a full turn with both ends."""
    num_positions: int = 32
    """How many places in either direction."""
    root: str | None = None
    """The official file, or its folder, to be read instead of drawing."""
    seed: int = 0
    """Where the colors and patches of all images start."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.seed < 2**63:
            raise SpecError(f"{type(self).__name__}: seed is {self.seed!r}; give a whole number from 0 to 2**63 - 1.")
        object.__setattr__(self, "root", self.sprites.root)

    @property
    def sprites(self) -> DSprites:
        """Returns the same images in black and white."""
        return DSprites(
            self.resolution, self.shapes, self.num_scales, self.num_orientations, self.num_positions, self.root
        )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return self.sprites.factors

    @property
    def num_images(self) -> int:
        return self.sprites.num_images

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, self.resolution, self.resolution)

    @abstractmethod
    def paint(self) -> Paint:
        """Returns the paint, which makes the difference."""

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns all images: the sprites as bits, from the cache of `DSprites`, painted when they are asked for."""
        paint = self.paint()  # first: what is wrong with it shows before any sprite is drawn
        sprites = self.sprites.open(verify=verify)
        return replace(sprites, pixels=PaintedSprites(sprites.pixels, paint))
