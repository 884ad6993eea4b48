"""All images through the encoder, once."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unbraid.codes import Codes, Labels
from unbraid.data.dataset import Factor, FactorImages
from unbraid.distributions.diagonal_gaussian import DiagonalGaussian
from unbraid.errors import CodesError
from unbraid.models.autoencoder import AutoencoderModule


@torch.no_grad()
def encode(model: AutoencoderModule, images: FactorImages, batch_size: int = 1024) -> Codes:
    """q(z | x) of every image, in the order of the images, streamed in batches. The codes lie where the images lie."""
    weights = next(model.parameters())
    means, stds = [], []
    for rows in torch.arange(len(images), device=images.pixels.device).split(batch_size):
        posterior = model.encode(images.batch(rows).to(weights.dtype))
        if not isinstance(posterior, DiagonalGaussian):
            raise CodesError(f"encode makes codes of Gaussian posteriors; this model's are {type(posterior).__name__}.")
        means.append(posterior.mean)
        stds.append(posterior.std)
    return Codes(
        mean=torch.cat(means),
        std=torch.cat(stds),
        factors=_labels(images.factors, images.factor_table),
        weights=None if images.weights is None else images.weights.to(weights.dtype),
    )


def _labels(values: Int[Tensor, "image factor"] | Float[Tensor, "image factor"], table: Sequence[Factor]) -> tuple[Labels, ...]:
    return tuple(
        Labels(factor.name, column.to(torch.int64) if factor.size else column, ordered=factor.ordered)
        for factor, column in zip(table, values.unbind(1), strict=True)
    )
