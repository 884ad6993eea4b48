"""Pictures of a model for reports: computed from the model, or read from a file if its classes are missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, final

import torch
from jaxtyping import Float, Int64
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from unbraid._internal import draws
from unbraid.codes import Codes
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import RunError
from unbraid.figures.traversal import Strip, Traversal
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.categories import likeliest
from unbraid.models.trained.traverse import NUM_FRAMES, traverse

PICTURES = "pictures.safetensors"
NUM_SAMPLES, NUM_IMAGES = 16, 8
_MOST_LATENTS = 32  # number of latents with stored pictures: those with the largest variance of means


class Pictures(Protocol):
    """Interface of the pictures of a model."""

    def traversal(self, latents: Sequence[int], num_frames: int = NUM_FRAMES) -> Traversal:
        """Returns a traversal with a row of frames for each of these latents."""

    def samples(self) -> Float[Tensor, "image channel height width"]:
        """Returns `NUM_SAMPLES` images decoded from draws of the prior."""

    def reconstructions(self) -> Float[Tensor, "2 image channel height width"]:
        """Returns training images and their reconstructions."""


@final
@dataclass(frozen=True)
class ModelPictures:
    """Pictures computed from a model, its codes and its images."""

    model: AutoencoderModule
    codes: Codes
    images: FactorImages

    def traversal(self, latents: Sequence[int], num_frames: int = NUM_FRAMES) -> Traversal:
        return traverse(self.model, self.codes, latents=latents, num_frames=num_frames)

    def samples(self) -> Float[Tensor, "image channel height width"]:
        return self.model.sample(NUM_SAMPLES)

    @torch.no_grad()
    def reconstructions(self) -> Float[Tensor, "2 image channel height width"]:
        rows = some_rows(len(self.images), NUM_IMAGES)
        decoded = self.model.decode(likeliest(self.codes, rows, self.model.latents.widths))
        return torch.stack([self.images.batch(rows).to(decoded), decoded])

    @torch.no_grad()
    def to_tensors(self) -> dict[str, Tensor]:
        """Returns the pictures as tensors for `StoredPictures`."""
        continuous = self.codes.mean.var(dim=0).argsort(descending=True).tolist()
        discrete = range(len(continuous), self.codes.num_latents)
        made = self.traversal(sorted([*continuous, *discrete][:_MOST_LATENTS]))
        strips = {
            f"{kind}_{strip.latent}": values
            for strip in made.strips
            for kind, values in (("frames", strip.frames.half()), ("positions", torch.tensor(strip.positions)))
        }
        starts = torch.tensor([made.strips[0].start])
        whole = {"samples": self.samples().half(), "reconstructions": self.reconstructions().half(), "start": starts}
        return strips | whole


@final
@dataclass(frozen=True)
class StoredPictures:
    """Pictures read from the file that training writes."""

    path: Path
    tensors: dict[str, Tensor]
    num_continuous: int

    @classmethod
    def open(cls, path: Path, num_continuous: int) -> "StoredPictures":
        try:
            return cls(path, load_file(path), num_continuous)
        except (OSError, SafetensorError) as error:
            raise RunError(f"{path} cannot be read ({error}). Restore the file, or define the user classes.") from None

    def traversal(self, latents: Sequence[int], num_frames: int = NUM_FRAMES) -> Traversal:
        """Returns the stored rows of these latents, with at most `num_frames` frames per continuous latent."""
        kept = [latent for latent in latents if f"frames_{latent}" in self.tensors]
        return Traversal(tuple(self._strip(latent, num_frames) for latent in kept))

    def samples(self) -> Float[Tensor, "image channel height width"]:
        return self._tensor("samples")

    def reconstructions(self) -> Float[Tensor, "2 image channel height width"]:
        return self._tensor("reconstructions")

    def _strip(self, latent: int, num_frames: int) -> Strip:
        frames, positions = self._tensor(f"frames_{latent}"), self._tensor(f"positions_{latent}")
        is_discrete = latent >= self.num_continuous
        count = len(frames) if is_discrete else min(num_frames, len(frames))
        chosen = torch.linspace(0, len(frames) - 1, count).round().long()
        start = int(self._tensor("start")[0])
        return Strip(f"z{latent}", latent, start, tuple(positions[chosen].tolist()), is_discrete, frames[chosen])

    def _tensor(self, name: str) -> Tensor:
        if name not in self.tensors:
            raise RunError(f"{self.path} has no {name}. Restore the file, or define the user classes of the run.")
        return self.tensors[name].float()


def some_rows(num_images: int, count: int) -> Int64[Tensor, " row"]:
    """Returns fixed pseudo-random row numbers. In equally spaced rows of a grid, some factors would be constant."""
    return draws.permutation(torch.tensor([0]), "reconstructions", 0, num_images)[0, :count]
