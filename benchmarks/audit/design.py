"""Design: codes whose truth is known because they are drawn to have it."""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from benchmarks.audit.synthetic_codes import merged, places, turned
from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.errors import SpecError

Values = Literal["all", "measured", "halves", "folded"]
# Means of equal values lie this far apart, so that no two images have the same code.
_JITTER = 0.02
_NUM_BINS = 4


@final
@dataclass(frozen=True)
class Design:
    """Codes of drawn factors. As it is, each factor has one latent, which is nearly sure of its value, and one more
    latent is unused; each field spoils one thing.
    """

    grid: tuple[int, ...] = (4, 8, 8)
    """How many values each factor has."""
    degrees: float = 0.0
    """By how much the latents of the last two factors are turned against each other."""
    std: float = 0.1
    """The width of the posteriors; means have a variance of about 1."""
    copied: int = 0
    """How many factors have a second latent that says the same."""
    dropped: int = 0
    """How many factors, from the first on, have no latent."""
    merged: int = 0
    """How many pairs of factors, from the first on, share one latent, which is as sure of both as two would be."""
    noise: int = 0
    """How many latents are sure of something that has nothing to do with any factor."""
    unused: int = 1
    """How many latents say nothing of the image."""
    dependence: float = 0.0
    """The correlation of the last two factors, as of the normal numbers that they come from."""
    values: Values = "all"
    """What is known of a factor: its value; a measurement; or one of two values, which are the lower and the upper half
    of its latent, or (folded) the inner and the outer.
    """

    def __post_init__(self) -> None:
        if len(self.grid) < 2 or any(size < 2 or size % _NUM_BINS for size in self.grid):
            raise SpecError(f"Design: grid is {self.grid}; expected two sizes or more, each a multiple of {_NUM_BINS}.")
        if not 0 <= self.dropped <= len(self.grid) or not 0 <= self.copied <= len(self.grid):
            raise SpecError(f"Design: dropped and copied are from 0 to {len(self.grid)}, the number of factors.")
        if not (self.std > 0 and -1 < self.dependence < 1):
            raise SpecError("Design: expected a std above 0 and a dependence between -1 and 1.")
        if not 0 <= 2 * self.merged <= len(self.grid):
            raise SpecError(f"Design: merged is from 0 to {len(self.grid) // 2}, the number of pairs.")
        if self.merged and (self.degrees or self.dropped or self.copied or self.values == "measured"):
            raise SpecError("Design: merged latents are neither turned, dropped nor copied, nor of measured factors.")

    @property
    def words(self) -> str:
        """Returns what differs from perfect codes, such as "degrees 45"; of those themselves, "perfect"."""
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return ", ".join(f"{name} {_text(value)}" for name, value in changed.items()) or "perfect"

    def draw(self, num_images: int, seed: int) -> Codes:
        """Returns codes of so many images; another seed draws other images, and other noise."""
        normal = row_draws.randn((num_images, len(self.grid)), seed, "factors of drawn codes")
        rest = math.sqrt(1 - self.dependence**2)
        normal[:, -1] = self.dependence * normal[:, -2] + rest * normal[:, -1]
        share = torch.special.ndtr(normal).clamp(0.0, 1 - 1e-12)
        values = (share * torch.tensor(self.grid)).long()
        at = 2 * math.sqrt(3) * (share - 0.5) if self.values == "measured" else places(values, self.grid)
        jitter = row_draws.randn((num_images, 2 * len(self.grid)), seed, "jitter of drawn codes") * _JITTER
        held = turned(at, float(self.degrees))[:, self.dropped :]
        if self.merged:
            held = merged(values, self.grid, self.merged)
        used = torch.cat([held, held[:, : self.copied]], dim=1)
        scale = self._scale(used.shape[1])
        used = used + jitter[:, : used.shape[1]] * scale
        noise = self._noise(num_images, seed)
        unused = torch.zeros(num_images, self.unused, dtype=torch.float64)
        narrow = self.std * torch.cat([scale, torch.ones(self.noise, dtype=torch.float64)]).repeat(num_images, 1)
        return Codes(
            torch.cat([used, noise, unused], dim=1),
            torch.cat([narrow, unused + 1.0], dim=1),
            factors=tuple(
                Labels(f"factor_{k}", self._labels(values[:, k], share[:, k], size)) for k, size in enumerate(self.grid)
            ),
        )

    def _scale(self, num_used: int) -> Float64[Tensor, " used"]:
        """Returns how narrow each used latent is, relative to those of one factor: the values of a merged pair lie
        closer together.
        """
        scale = torch.ones(num_used, dtype=torch.float64)
        for pair in range(self.merged):
            scale[pair] = 1 / self.grid[2 * pair]
        return scale

    def _noise(self, num_images: int, seed: int) -> Float64[Tensor, "image noise"]:
        """Returns latents that look like those of factors, of values that are drawn by themselves: what tells the two
        apart is their relation to the labels alone.
        """
        sizes = [self.grid[place % len(self.grid)] for place in range(self.noise)]
        share = row_draws.rand((num_images, self.noise), seed, "noise latents of drawn codes")
        jitter = row_draws.randn((num_images, self.noise), seed, "jitter of noise latents") * _JITTER
        return places((share * torch.tensor(sizes)).long(), sizes) + jitter

    def _labels(
        self, values: Int64[Tensor, " image"], share: Float64[Tensor, " image"], size: int
    ) -> Int64[Tensor, " image"] | Float64[Tensor, " image"]:
        if self.values == "all":
            return values
        if self.values == "measured":
            return share
        quarter = values * _NUM_BINS // size
        return torch.tensor([0, 0, 1, 1] if self.values == "halves" else [1, 0, 0, 1])[quarter]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return f"{value:g}" if isinstance(value, float | int) else str(value)


PERFECT = Design()
NOTHING = replace(PERFECT, dropped=len(PERFECT.grid), noise=len(PERFECT.grid))
"""As many latents as factors, which look like those of perfect codes and have nothing to do with any factor."""
MIDDLE = replace(PERFECT, degrees=20.0, std=0.2, dropped=1)
"""Codes of middling quality, at which noise and settings are looked at: nothing is at its limit."""
UNTURNED = replace(PERFECT, dropped=MIDDLE.dropped)
"""The same without their turn and their width: a metric that calls them as good does not see what is middling."""
