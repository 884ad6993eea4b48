"""TraitReader: a net that is taught to read measurements off images, also off those that a model draws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from unbraid import draws
from unbraid.codes import Codes
from unbraid.data.dataset import FactorImages
from unbraid.distributions import GaussianLatents
from unbraid.models import Conv
from unbraid.models.architecture import Architecture
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.layers.seeded import seeded
from unbraid.recipes import Recipe

_HELD_OUT = 0.1
_AT_ONCE = 512


@final
@dataclass(frozen=True)
class TraitReader(Recipe):
    """How a net is taught to read all factors of images: by the squared error of standardised values, on all images but
    the last tenth. A factor of which it explains less than `min_explained` of the variance in that tenth is not
    counted; where it reads none, all are.
    """

    net: Architecture = field(default_factory=lambda: Conv(hidden=256))
    num_steps: int = 5_000
    batch_size: int = 128
    learning_rate: float = 1e-3
    min_explained: float = 0.5
    seed: int = 0

    def taught(self, images: FactorImages) -> "TaughtReader":
        """Returns the net as these images have taught it, where they lie."""
        values = images.values.to(torch.float32)
        num_taught = len(images) - max(1, round(_HELD_OUT * len(images)))
        mean, std = values[:num_taught].mean(dim=0), values[:num_taught].std(dim=0).clamp_min(1e-6)
        targets = (values - mean) / std
        num_traits = targets.shape[1]
        net = seeded(
            lambda: self.net.make_encoder(images.image_shape, GaussianLatents(num_traits)), self.seed, "trait reader"
        ).to(images.device)

        def read(x: Float[Tensor, "image channel height width"]) -> Float[Tensor, "image trait"]:
            found: Tensor = net(x)[:, :num_traits]
            return found

        self._teach(net, read, images, targets, num_taught)
        rows = torch.arange(num_taught, len(images), device=images.device)
        with torch.no_grad():
            seen = torch.cat([read(images.batch(block)) for block in rows.split(_AT_ONCE)])
        left = (targets[num_taught:] - seen).square().mean(dim=0) / targets[num_taught:].var(dim=0, correction=0)
        counted = left < 1 - self.min_explained
        names = tuple(factor.name for factor in images.factor_table)
        return TaughtReader(read, names, counted if bool(counted.any()) else torch.ones_like(counted))

    def _teach(
        self,
        net: nn.Module,
        read: Callable[[Tensor], Tensor],
        images: FactorImages,
        targets: Float[Tensor, "image trait"],
        num_taught: int,
    ) -> None:
        optimiser = torch.optim.Adam(net.parameters(), self.learning_rate)
        seed = torch.tensor([self.seed], device=images.device)
        for step in range(self.num_steps):
            rows = (draws.uniform(seed, "trait reader/rows", step, (self.batch_size,))[0] * num_taught).long()
            optimiser.zero_grad()
            (read(images.batch(rows)) - targets[rows]).square().mean().backward()
            optimiser.step()
        net.requires_grad_(False)


@final
@dataclass(frozen=True)
class TaughtReader:
    """Reads the standardised traits of images; `counted` says which it reads well enough to be counted."""

    read: Callable[[Float[Tensor, "image channel height width"]], Float[Tensor, "image trait"]]
    names: tuple[str, ...]
    counted: Bool[Tensor, " trait"]


@torch.no_grad()
def purities(
    model: AutoencoderModule, codes: Codes, reader: TaughtReader, latents: Sequence[int], reach: float, num_starts: int
) -> list[tuple[str, float]]:
    """Returns the main trait of each of these latents, and how purely the latent changes it: it is put at -reach and at
    reach in the codes of `num_starts` images, both are decoded and read, and of the squared changes of all traits,
    means over images, the largest is taken as a share of their sum. Between 1 / traits and 1; NaN where none changes.
    """
    rows = torch.linspace(0, len(codes) - 1, num_starts).long()
    device = reader.counted.device
    model, starts = model.to(device), codes.mean[rows].to(device=device, dtype=next(model.parameters()).dtype)
    names = [name for name, is_counted in zip(reader.names, reader.counted.tolist(), strict=True) if is_counted]
    found = []
    for latent in latents:
        ends = []
        for place in (-reach, reach):
            moved = starts.clone()
            moved[:, latent] = place
            ends.append(reader.read(model.decode(moved).float())[:, reader.counted].double())
        changes = (ends[1] - ends[0]).square().mean(dim=0)
        found.append((names[int(changes.argmax())], float(changes.max() / changes.sum())))
    return found
