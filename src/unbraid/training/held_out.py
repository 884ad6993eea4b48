"""The ELBO on held-out images during training."""

import math
from collections.abc import Sequence
from typing import final

import torch

from unbraid._internal.precision import matrix_units
from unbraid.errors import SpecError
from unbraid.models.trained.elbo import hard_elbo
from unbraid.training.fleet import Fleet
from unbraid.training.runs.scored_images import scored_images
from unbraid.training.runs.spec import RunSpec

COLUMN = "held_out_elbo"
_MAX_IMAGES = 10_000


@final
class HeldOut:
    """Computes the ELBO of each member of a fleet on held-out images, every so many steps.

    At most 10,000 of the images that the subset holds out are used. It reads the weights and changes nothing.
    """

    def __init__(self, spec: RunSpec, every: int, device: torch.device) -> None:
        self.every = every
        self._precision = spec.precision
        self._images = scored_images(spec, "test").open().streamed_to(device)

    def elbos(self, fleet: Fleet, alive: Sequence[bool]) -> list[float]:
        """Returns the ELBO of each member in nats per image; NaN of those that have failed."""
        with matrix_units(self._precision, self._images.device):
            return [
                hard_elbo(fleet.model(index), self._images, _MAX_IMAGES).value if is_alive else math.nan
                for index, is_alive in enumerate(alive)
            ]


def check_held_out(spec: RunSpec) -> None:
    """Raises if the spec has no ELBO on held-out images."""
    if spec.subset is None:
        raise SpecError(
            "The ELBO on held-out images (held_out_every) was asked for, and a spec holds none out. Give it a subset, "
            "such as RunSpec(subset=RandomSplit()) or --subset random-split; or leave it out."
        )
    if not spec.model.latents.has_density:
        raise SpecError(
            f"The ELBO on held-out images (held_out_every) was asked for, and {type(spec.model.latents).__name__} have "
            "no density, so that there is none. Leave it out."
        )
