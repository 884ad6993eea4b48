"""All images through the encoder, once."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from unbraid import draws
from unbraid.codes import Codes, Labels
from unbraid.data.dataset import Factor, FactorImages
from unbraid.distributions.posterior import Posterior
from unbraid.models.autoencoder import AutoencoderModule

_NUM_DRAWS = 16


@torch.no_grad()
def encode(model: AutoencoderModule, images: FactorImages, batch_size: int = 1024) -> Codes:
    """q(z | x) of every image, in the order of the images, streamed in batches. The codes lie where the images lie.

    Of continuous latents that are not Gaussian the codes hold draws, 16 of each image. They are the same whenever the image is encoded.
    """
    weights = next(model.parameters())
    posteriors, samples = [], []
    for rows in torch.arange(len(images), device=images.device).split(batch_size):
        posterior = model.encode(images.batch(rows).to(weights.dtype))
        posteriors.append(posterior)
        samples.append(_draws(posterior, rows, model.latents.num_noise))
    return Codes(
        mean=torch.cat([p.mean for p in posteriors]),
        std=_joined([p.std for p in posteriors]) if posteriors[0].covariance is None else None,
        covariance=_joined([p.covariance for p in posteriors]),
        samples=_joined(samples, dim=1),
        probabilities=tuple(torch.cat(tables) for tables in zip(*(p.probabilities for p in posteriors), strict=True)),
        groups=model.latents.groups if len(model.latents.groups) > 1 else (),
        factors=_labels(images.factors, images.factor_table),
        weights=None if images.weights is None else images.weights.to(weights.dtype),
    )


def _draws(posterior: Posterior, rows: Int64[Tensor, " image"], num_noise: int) -> Float[Tensor, "draw image latent"] | None:
    """Draws of the continuous latents, where neither std nor covariance says what they look like."""
    if posterior.std is not None or posterior.covariance is not None:
        return None
    # Every image has its own address, its row, so that the draws do not depend on the batch it comes in.
    noise = draws.normal(torch.zeros_like(rows), "encode", rows, (_NUM_DRAWS, num_noise)).to(posterior.mean.dtype)
    num_continuous = posterior.mean.shape[1]
    return torch.stack([posterior.rsample(each)[:, :num_continuous] for each in noise.unbind(dim=1)])


def _joined(parts: Sequence[Tensor | None], dim: int = 0) -> Tensor | None:
    tensors = [part for part in parts if part is not None]
    return torch.cat(tensors, dim=dim) if tensors else None


def _labels(values: Int[Tensor, "image factor"] | Float[Tensor, "image factor"], table: Sequence[Factor]) -> tuple[Labels, ...]:
    return tuple(
        Labels(factor.name, column.to(torch.int64) if factor.size else column, ordered=factor.ordered)
        for factor, column in zip(table, values.unbind(1), strict=True)
    )
