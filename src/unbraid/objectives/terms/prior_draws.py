"""The check of objectives that read draws from the prior."""

import torch

from unbraid.errors import SpecError
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.objective import Objective


def check_fixed_prior(objective: Objective, model: Autoencoder) -> None:
    """Refuses a learned prior: no part of the loss has a gradient for it."""
    with torch.device("meta"):
        prior = model.latents.make_prior()
    if any(True for _ in prior.parameters()):
        raise SpecError(
            f"{type(objective).__name__} draws from the prior and compares, so a learned prior would stay as it "
            f"began. Give {type(model.latents).__name__} "
            "a prior without weights, such as StandardNormalPrior or, if discrete, UniformCategories."
        )
