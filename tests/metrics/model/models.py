"""Models and images that the tests of model scores share."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from tests.training.squares import Squares
from unbraid.metrics.metric import Score
from unbraid.metrics.model import ModelScore, Trained, measure
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import ConcreteLatents, GaussianLatents, GroupedLatents

IMAGES = Squares().load()
ALL = torch.arange(36)
CONTINUOUS = GaussianLatents(2)
MIXED = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))


def model(latents: Any = CONTINUOUS, **fields: Any) -> Any:
    return (
        Autoencoder(MLP((8,), (8,)), latents=latents, **fields)
        .build((1, 8, 8), seed=0)
        .double()
        .eval()
        .requires_grad_(False)
    )


def scored(score: ModelScore, net: Any, weights: Any = None, images: Any = IMAGES) -> Score:
    """Returns the score of this model on the images."""
    return measured({"it": score}, net, weights, images)["it"]


def measured(scores: Mapping[str, ModelScore], net: Any, weights: Any = None, images: Any = IMAGES) -> dict[str, Score]:
    return measure(scores, Trained(net, replace(images, weights=weights), "float64"))
