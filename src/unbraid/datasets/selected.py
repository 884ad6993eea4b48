"""Some of the images of a data set, and images that are not all equally likely. No pixel is copied."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float32, Int, Int64, UInt8
from torch import Tensor

from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pixels.pixels import Pixels, Raw
from unbraid.datasets.subsets import Subset
from unbraid.datasets.weights import Joint, image_weights
from unbraid.errors import DataError

_IMAGES_AT_ONCE = 4096


@final
@dataclass(frozen=True)
class SelectedPixels(Pixels):
    """Holds the images of these rows of others. What is memory-mapped stays so."""

    source: Raw | Pixels
    rows: Int64[Tensor, " row"]

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self.rows), *self.source.shape[1:]))

    @property
    def device(self) -> torch.device:
        return self.source.device

    @property
    def nbytes(self) -> int:
        if isinstance(self.source, Pixels):
            return self.source.nbytes + self.rows.nbytes
        return self.shape.numel() * self.source.element_size() + self.rows.nbytes

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."] | Float32[Tensor, "..."]:
        return self.source[self.rows[rows]]

    def to(self, device: torch.device | str) -> "SelectedPixels":
        """Returns the images on another device. Only the selected ones are there, unless what they are selected from is
        packed: that moves whole.
        """
        place = torch.empty(0, device=device).device
        if place == self.device:
            return self
        if isinstance(self.source, Pixels):
            return SelectedPixels(self.source.to(place), self.rows.to(place))
        moved = torch.empty(self.shape, dtype=self.source.dtype, device=place)
        for start in range(0, len(self), _IMAGES_AT_ONCE):
            block = slice(start, start + _IMAGES_AT_ONCE)
            moved[block] = self[block].to(place)
        return SelectedPixels(moved, torch.arange(len(self), device=place))


def subset_of(images: FactorImages, subset: Subset) -> FactorImages:
    """Returns the images of the subset, in their order. Weights are scaled to sum to one again."""
    rows = subset.rows(images.factor_table, images.values)
    if images.weights is not None and not float(images.weights[rows].double().sum()) > 0:
        raise DataError(
            f"{type(subset).__name__}: all {len(rows):,} images of the {subset.part} part have the weight 0. "
            "Choose others."
        )
    return rows_of(images, rows)


def rows_of(images: FactorImages, rows: Int64[Tensor, " row"]) -> FactorImages:
    """Returns the images of these rows, which are in order. Weights are scaled to sum to one again."""
    weights = None if images.weights is None else images.weights[rows].double()
    return replace(
        images,
        pixels=_selected(images.pixels, rows),
        factors=tuple(labels[rows] for labels in images.factors),
        weights=None if weights is None else weights / weights.sum(),
    )


def weighted(images: FactorImages, joint: Joint) -> FactorImages:
    """Returns the same images, drawn so that some factors have this joint distribution. Weights that they have already
    count within each combination.
    """
    return replace(images, weights=image_weights(joint, images.factor_table, images.values, images.weights))


def _selected(
    pixels: Raw | Pixels, rows: Int64[Tensor, " row"]
) -> UInt8[Tensor, "row channel height width"] | Float32[Tensor, "row channel height width"] | Pixels:
    first, last = int(rows[0]), int(rows[-1])
    if isinstance(pixels, Tensor) and last - first + 1 == len(rows):
        return pixels[first : last + 1]  # a view: rows that follow one another need no list
    return SelectedPixels(pixels, rows.to(pixels.device))
