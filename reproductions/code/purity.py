"""TraitReader: a net that is taught to read measurements off images, and how purely latents change one of them."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from reproductions.item import Numbers
from unbraid import Codes, Conv, Run
from unbraid.models.distributions import GaussianLatents

_HELD_OUT, _AT_ONCE = 0.1, 512
_MIN_STD, _NUM_STARTS, _REACHES = 0.05, 64, (2.0, 4.0, 6.0)
PURITIES = tuple(f"purity at {reach:g}" for reach in _REACHES)


@dataclass(frozen=True)
class TraitReader:
    """How a net is taught to read all factors of images: by the squared error of standardized values, on all images but
    the last tenth. A factor of which it explains less than `min_explained` of the variance in that tenth is not
    counted; where it reads none, all are.
    """

    net: Any = field(default_factory=lambda: Conv(hidden=256))
    num_steps: int = 5_000
    batch_size: int = 128
    learning_rate: float = 1e-3
    min_explained: float = 0.5
    seed: int = 0

    def taught(self, images: Any) -> "TaughtReader":
        """Returns the net as these images have taught it, on their device."""
        values = images.values.to(torch.float32)
        num_taught = len(images) - max(1, round(_HELD_OUT * len(images)))
        mean, std = values[:num_taught].mean(dim=0), values[:num_taught].std(dim=0).clamp_min(1e-6)
        targets = (values - mean) / std
        num_traits = targets.shape[1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            net = self.net.make_encoder(images.image_shape, GaussianLatents(num_traits))
        net = net.to(images.device)

        def read(x: Tensor) -> Tensor:
            found: Tensor = net(x)[:, :num_traits]
            return found

        optimizer = torch.optim.Adam(net.parameters(), self.learning_rate)
        generator = torch.Generator().manual_seed(self.seed)
        for _ in range(self.num_steps):
            rows = torch.randint(num_taught, (self.batch_size,), generator=generator).to(images.device)
            optimizer.zero_grad()
            (read(images.batch(rows)) - targets[rows]).square().mean().backward()
            optimizer.step()
        net.requires_grad_(False)
        held_out = torch.arange(num_taught, len(images), device=images.device)
        with torch.no_grad():
            seen = torch.cat([read(images.batch(block)) for block in held_out.split(_AT_ONCE)])
        left = (targets[num_taught:] - seen).square().mean(dim=0) / targets[num_taught:].var(dim=0, correction=0)
        counted = left < 1 - self.min_explained
        names = tuple(factor.name for factor in images.factor_table)
        return TaughtReader(read, names, counted if bool(counted.any()) else torch.ones_like(counted))


@dataclass(frozen=True)
class TaughtReader:
    """Reads the standardized traits of images; `counted` marks those it reads well enough."""

    read: Callable[[Tensor], Tensor]
    names: tuple[str, ...]
    counted: Tensor


@torch.no_grad()
def purities(model: Any, codes: Codes, reader: TaughtReader, latents: Sequence[int], reach: float, num_starts: int) -> list[tuple[str, float]]:
    """Returns the main trait of each of these latents, and how purely the latent changes it: it is put at -reach and at
    reach in the codes of `num_starts` images, both are decoded and read, and of the squared changes of all traits,
    means over images, the largest is taken as a share of their sum.
    """
    rows = torch.linspace(0, len(codes.mean) - 1, num_starts).long()
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


@functools.cache
def _taught(reader: TraitReader, dataset: Any, device: torch.device) -> TaughtReader:
    """Returns the reader that these images have taught on this device, once for all models."""
    return reader.taught(dataset.open().to(device))


def _purity(run: Run, device: torch.device) -> Numbers:
    """Returns how purely the live latents of a model change one trait: on average, and at each reach. The reader has the
    net of the encoder, and is taught no longer than the model.
    """
    codes, taught_by = run.codes(), run.spec
    latents = (codes.mean.std(dim=0) >= _MIN_STD).nonzero()[:, 0].tolist()
    if not latents:
        return dict.fromkeys(("purity", *PURITIES), math.nan)
    reader = TraitReader(taught_by.model.encoder, min(TraitReader.num_steps, taught_by.num_steps))
    taught = _taught(reader, taught_by.dataset, device)
    shares = {
        name: fmean(share for _, share in purities(run.model(), codes, taught, latents, reach, _NUM_STARTS))
        for name, reach in zip(PURITIES, _REACHES, strict=True)
    }
    return {"purity": fmean(shares.values()), **shares}


def purity_of(runs: Mapping[int, Run], device: torch.device) -> Mapping[int, Numbers]:
    """Returns the purity of each run."""
    return {seed: _purity(run, device) for seed, run in runs.items()}
