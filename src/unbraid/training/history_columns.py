"""Optional columns of the history: the ELBO on held-out images, and the information of each latent."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch

from unbraid._internal.device import widest
from unbraid._internal.precision import matrix_units
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import SpecError
from unbraid.information.aggregate import log_aggregate, log_weights
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.elbo import CodedImages, hard_elbo
from unbraid.training.batches import Batches
from unbraid.training.fleet import Fleet
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.history import latent_column
from unbraid.training.runs.run_scores import scored_images
from unbraid.training.runs.spec import RunSpec

_MAX_HELD_OUT_IMAGES = 10_000


@final
@dataclass(frozen=True)
class ExtraColumns:
    """Optional columns of the history, computed about every `every` steps from the current weights.

    `compute` returns the values of the columns for a member of the fleet, given its index.
    """

    every: int
    names: tuple[str, ...]
    compute: Callable[[int], list[float]]

    def values(self, alive: Sequence[bool], *, is_due: bool) -> dict[str, list[float]]:
        """Returns the values of all members by column: NaN for failed members, or for all members if not `is_due`."""
        unknown = [math.nan] * len(self.names)
        rows = [self.compute(index) if is_due and is_alive else unknown for index, is_alive in enumerate(alive)]
        return {name: list(column) for name, column in zip(self.names, zip(*rows, strict=True), strict=True)}


def extra_columns(fleet: Fleet, images: FactorImages, options: TrainingOptions) -> list[ExtraColumns]:
    """Returns the requested optional columns for a fleet and its training images."""
    columns = []
    if options.held_out_every is not None:
        columns.append(_held_out_elbo(fleet, images.device, options.held_out_every))
    if options.latent_information_every is not None:
        columns.append(_latent_information(fleet, images, options.latent_information_every))
    return columns


def check_columns(spec: RunSpec, options: TrainingOptions) -> None:
    """Raises an error if the requested columns cannot be computed for a run of this spec."""
    if options.held_out_every and spec.subset is None:
        raise SpecError(
            f"held_out_every is {options.held_out_every}, but a spec has no held-out images. Give the spec a subset, "
            "e.g. RunSpec(subset=RandomSplit()) or --subset random-split, or omit held_out_every."
        )
    for every in ("held_out_every", "latent_information_every"):
        if getattr(options, every) and not spec.model.latents.has_density:
            raise SpecError(
                f"{every} is not supported for {type(spec.model.latents).__name__}, which have no density. Omit "
                f"{every}."
            )


def _held_out_elbo(fleet: Fleet, device: torch.device, every: int) -> ExtraColumns:
    """Returns a column with the ELBO in nats per image, on at most 10,000 held-out images."""
    spec = fleet.members[0].spec
    held_out = scored_images(spec, "test").open().streamed_to(device)

    def compute(index: int) -> list[float]:
        with matrix_units(spec.precision, device):
            return [hard_elbo(fleet.model(index), held_out, _MAX_HELD_OUT_IMAGES).value]

    return ExtraColumns(every, ("held_out_elbo",), compute)


def _latent_information(fleet: Fleet, images: FactorImages, every: int) -> ExtraColumns:
    """Returns a column for each latent with its information in nats, estimated from the current batch."""
    spec = fleet.members[0].spec
    seeds = torch.tensor([member.seed for member in fleet.members], device=images.device)
    batches = Batches(seeds, len(images), spec.batch_size, images.weights)

    def compute(index: int) -> list[float]:
        rows = batches.rows(fleet.step - 1)[index]
        with matrix_units(spec.precision, images.device), torch.no_grad():
            return batch_information(fleet.model(index), images, rows, fleet.step)

    return ExtraColumns(every, tuple(map(latent_column, range(spec.model.latents.num_latents))), compute)


def batch_information(model: AutoencoderModule, images: FactorImages, rows: torch.Tensor, seed: int = 0) -> list[float]:
    """Estimates I(x; z_d) of each latent d in nats: the mean over a batch of log q(z_d | x) - log q^(z_d).

    q^ is the estimate of Esmaeili et al., arXiv:1804.02086v1, eq. 13. Estimates near 0 may be slightly negative.
    No estimate exceeds log N for N images.
    """
    coded = CodedImages(model, images, rows)
    z = coded.code(seed)
    weights = None if images.weights is None else (images.weights / images.weights.sum())[rows].to(z)
    table = log_weights("stratified_pairs", len(rows), len(images), weights, dtype=z.dtype, device=z.device)
    log_q = log_aggregate(coded.posterior.pairwise_log_prob(z), table)
    information: list[float] = widest(coded.posterior.log_prob(z) - log_q).mean(dim=0).tolist()
    return information
