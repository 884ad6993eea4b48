"""The ELBO on images that are not trained on, as training goes on."""

import math
from collections.abc import Iterable, Sequence
from typing import final

import torch

from unbraid.errors import SpecError
from unbraid.models.trained.elbo import hard_elbo
from unbraid.precision import matrix_units
from unbraid.recipes.annotations import check_value
from unbraid.runs.scored_images import scored_images
from unbraid.runs.spec import RunSpec
from unbraid.training.fleet import Fleet

COLUMN = "held_out_elbo"
_MAX_IMAGES = 10_000


@final
class HeldOut:
    """Computes the ELBO of each member of a fleet on at most 10,000 of the images that their subset holds out, every so
    many steps. It reads the weights and changes nothing.
    """

    def __init__(self, spec: RunSpec, every: int, device: torch.device) -> None:
        self.every = every
        self._precision = spec.precision
        self._images = scored_images(spec, "test").open().streamed_to(device)

    def elbos(self, fleet: Fleet, alive: Sequence[bool]) -> list[float]:
        """Returns the ELBO of each member in nats per image; NaN of those that have failed."""
        with matrix_units(self._precision):
            return [
                hard_elbo(fleet.model(index), self._images, _MAX_IMAGES).value if is_alive else math.nan
                for index, is_alive in enumerate(alive)
            ]


def check_held_out(specs: Iterable[RunSpec], every: int | None) -> None:
    """Raises if the ELBO on held-out images was asked for and one of the specs has none."""
    if check_value(every, int | None, "held_out_every") is None or every is None:
        return
    if every < 1:
        raise SpecError(f"held_out_every is {every}; expected 1 or more steps.")
    for spec in specs:
        if spec.subset is None:
            raise SpecError(
                "The ELBO on held-out images (held_out_every) was asked for, and a spec holds none out. Give it a "
                "subset, such as RunSpec(subset=RandomSplit()) or --subset random-split; or leave it out."
            )
        if not spec.model.latents.has_density:
            raise SpecError(
                f"The ELBO on held-out images (held_out_every) was asked for, and {type(spec.model.latents).__name__} "
                "have no density, so that there is none. Leave it out."
            )
