"""A trained encoder for images that it was not trained on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unbraid.codes import Codes
from unbraid.datasets.pictures import fitted
from unbraid.datasets.user.from_arrays import unlabeled
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encode


def encoder_of(model: AutoencoderModule) -> Callable[[Any], Codes]:
    """Returns a function from images to their codes.

    Gray and color are converted; images of another size than the model takes are refused.
    """

    def encoder(images: Any) -> Codes:
        read = unlabeled(images)
        return encode(model, replace(read, pixels=fitted(read, model.image_shape, "An image")))

    return encoder
