"""The mutual information of each latent and the image during training."""

import math
from collections.abc import Sequence
from typing import final

import torch

from unbraid._internal.precision import matrix_units
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import SpecError
from unbraid.information.aggregate import log_aggregate, log_weights
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.coded_images import CodedImages
from unbraid.training.batches import Batches
from unbraid.training.fleet import Fleet
from unbraid.training.runs.history import latent_column
from unbraid.training.runs.spec import RunSpec


@final
class LatentInformationOfBatches:
    """Estimates I(x; z_d) of each member and latent from the current batch, every so many steps.

    Esmaeili et al., arXiv:1804.02086v1, eq. 13. It reads the weights and changes nothing.
    """

    def __init__(self, fleet: Fleet, spec: RunSpec, images: FactorImages, every: int) -> None:
        self.every = every
        self.columns = tuple(map(latent_column, range(spec.model.latents.num_latents)))
        self._precision, self._images = spec.precision, images
        seeds = torch.tensor([member.seed for member in fleet.members], device=images.device)
        self._batches = Batches(seeds, len(images), spec.batch_size, images.weights)

    def of(self, fleet: Fleet, alive: Sequence[bool]) -> list[list[float]]:
        """Returns the information of each latent in nats, member by member; NaN for those that have failed."""
        rows = self._batches.rows(fleet.step - 1)
        unknown = [math.nan] * len(self.columns)
        with matrix_units(self._precision, self._images.device), torch.no_grad():
            return [
                batch_information(fleet.model(index), self._images, rows[index], fleet.step) if is_alive else unknown
                for index, is_alive in enumerate(alive)
            ]


def batch_information(model: AutoencoderModule, images: FactorImages, rows: torch.Tensor, seed: int = 0) -> list[float]:
    """Returns the mean over a batch of log q(z_d | x) - log q^(z_d) for each latent d, in nats.

    q^ is the estimate of eq. 13. An estimate of 0 may be a little below it, and none is above log N of N images.
    """
    coded = CodedImages(model, images, rows)
    z = coded.code(seed)
    weights = None if images.weights is None else (images.weights / images.weights.sum())[rows].to(z)
    table = log_weights("stratified_pairs", len(rows), len(images), weights, dtype=z.dtype, device=z.device)
    log_q = log_aggregate(coded.posterior.pairwise_log_prob(z), table)
    information: list[float] = (coded.posterior.log_prob(z) - log_q).double().mean(dim=0).tolist()
    return information


def check_latent_information(spec: RunSpec) -> None:
    """Raises if the latents of the spec have no density."""
    if not spec.model.latents.has_density:
        raise SpecError(
            "The information of each latent (latent_information_every) was asked for, and "
            f"{type(spec.model.latents).__name__} have no density to estimate it from. Leave it out."
        )
