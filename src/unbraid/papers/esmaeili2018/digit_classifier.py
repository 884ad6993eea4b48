"""An independent classifier of digits: it says which digit a decoded image shows. No model that is judged knows it."""

import functools
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from unbraid import draws
from unbraid.data import MNIST
from unbraid.data.dataset import FactorImages
from unbraid.data.selected import rows_of
from unbraid.models.layers.seeded import seeded

_SEED = 20_180_406
"""The seed of its weights and of the order of its images."""
_BATCH_SIZE, _NUM_EPOCHS, _LEARNING_RATE = 128, 4, 1e-3
_IMAGES_AT_ONCE = 1024


@final
@dataclass(frozen=True)
class DigitClassifier:
    """A trained classifier, and the share of test digits that it tells right."""

    net: nn.Module
    accuracy: float

    @torch.no_grad()
    def digits(self, images: Float[Tensor, "image 1 height width"]) -> Int64[Tensor, " image"]:
        """Returns which digit each image shows."""
        return torch.cat([self.net(block.float()).argmax(dim=1) for block in images.split(_IMAGES_AT_ONCE)])


@functools.cache
def digit_classifier(num_images: int | None = None) -> DigitClassifier:
    """Returns the classifier of a fixed recipe: two convolutions of 16 and 32 channels (5 by 5, stride 2) and one
    linear layer, four epochs of Adam over the training part of MNIST in batches of 128, on the CPU. With `num_images`
    it sees that many alone, and is tested on as many: for tests.
    """
    train, test = (MNIST(split=split).load() for split in ("train", "test"))
    if num_images is not None:
        train, test = (rows_of(images, torch.arange(num_images)) for images in (train, test))
    return trained_on(train, test)


def trained_on(train: FactorImages, test: FactorImages) -> DigitClassifier:
    """Returns the classifier that learns from these images, with its accuracy on those."""
    net = seeded(_net, _SEED)
    with torch.enable_grad():
        _fit(net, train)
    trained = DigitClassifier(net.eval().requires_grad_(False), 0.0)
    is_right = trained.digits(test.batch(slice(None))) == test.values[:, 0]
    return replace(trained, accuracy=float(is_right.double().mean()))


def _net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    )


def _fit(net: nn.Module, images: FactorImages) -> None:
    optimiser = torch.optim.Adam(net.parameters(), lr=_LEARNING_RATE)
    for epoch in range(_NUM_EPOCHS):
        order = draws.permutation(torch.tensor([_SEED]), "digit classifier", epoch, len(images))[0]
        for rows in order.split(_BATCH_SIZE):
            optimiser.zero_grad()
            cross_entropy(net(images.batch(rows)), images.values[rows, 0]).backward()
            optimiser.step()
