"""Codes of the images of a dataset or of new images."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid._internal import draws
from unbraid._internal.device import wide_device
from unbraid._internal.precision import Precision, matrix_units
from unbraid.codes import Codes
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pictures import fitted
from unbraid.datasets.user.from_arrays import unlabeled
from unbraid.errors import CodesError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.distributions.distribution import Posterior

_NUM_DRAWS = 16
_IMAGES_ON_A_CPU = 1024
# Pixels in a batch on a GPU: 16,384 images of 64 x 64, enough for full utilization with one model. The outputs of a
# convolution then take about 2 GB. The number is fixed, because codes would otherwise depend on the free memory.
_PIXELS_ON_A_GPU = 2**26


def encode(
    model: AutoencoderModule, images: FactorImages, batch_size: int | None = None, *, precision: Precision = "float32"
) -> Codes:
    """Encodes images to codes q(z | x), in batches.

    The codes have the order and the device of the images; codes of images on MPS are on the CPU. For continuous latents
    that are not Gaussian, the codes contain 16 draws of each image, which are the same in every call. The default
    `batch_size` is 1024 on a CPU and larger on a GPU. With `precision` "tf32" or "bf16", a GPU may round the inputs of
    products to TF32.
    """
    return encode_all([model], images, batch_size, precision=precision)[0]


@torch.no_grad()
def encode_all(
    models: Sequence[AutoencoderModule],
    images: FactorImages,
    batch_size: int | None = None,
    *,
    precision: Precision = "float32",
) -> list[Codes]:
    """Encodes images with several models, as `encode` does. Each batch is loaded once for all models."""
    found: list[dict[str, list[Tensor]]] = [{} for _ in models]
    with matrix_units(precision, images.device):
        for rows in _batches(images, batch_size):
            x = images.batch(rows)
            # One model after the other: a large batch fully uses a GPU, and only the outputs of one model fit.
            for model, blocks in zip(models, found, strict=True):
                for name, block in _described(model, x, rows).items():
                    blocks.setdefault(name, []).append(block)
    return [_codes(model, blocks, images) for model, blocks in zip(models, found, strict=True)]


def encoder_of(model: AutoencoderModule) -> Callable[[Any], Codes]:
    """Returns a function that encodes new images.

    The function converts between gray and color images, and raises an error if the image size differs from the model's.
    """

    def encoder(images: Any) -> Codes:
        read = unlabeled(images)
        return encode(model, replace(read, pixels=fitted(read, model.image_shape, "An image")))

    return encoder


def _batches(images: FactorImages, batch_size: int | None) -> Iterator[slice]:
    if batch_size is None:
        on_a_gpu = max(_IMAGES_ON_A_CPU, _PIXELS_ON_A_GPU // prod(images.image_shape))
        batch_size = _IMAGES_ON_A_CPU if images.device.type == "cpu" else on_a_gpu
    for begin in range(0, len(images), batch_size):
        yield slice(begin, min(begin + batch_size, len(images)))


def _described(
    model: AutoencoderModule, x: Float[Tensor, "batch channel height width"], rows: slice
) -> dict[str, Tensor]:
    """Encodes a batch and returns the tensors of `Codes` by name."""
    posterior = model.encode(x.to(next(model.parameters()).dtype))
    numbers = torch.arange(rows.start, rows.stop, device=x.device)
    known = {
        "mean": posterior.mean,
        "std": posterior.gaussian_std if posterior.covariance is None else None,
        "covariance": posterior.covariance,
        "samples": _draws(posterior, numbers, model.latents.num_noise),
        **{f"probabilities {latent}": table for latent, table in enumerate(posterior.probabilities)},
    }
    return {name: tensor.to(wide_device(x.device)) for name, tensor in known.items() if tensor is not None}


def _codes(model: AutoencoderModule, blocks: dict[str, list[Tensor]], images: FactorImages) -> Codes:
    # The first axis of samples is the draw. Blocks are freed name by name to limit the memory in use.
    tables = {name: torch.cat(blocks.pop(name), dim=1 if name == "samples" else 0) for name in list(blocks)}
    try:
        prior = model.prior.for_codes(model.latents.num_latents)
    except CodesError:  # a degenerate learned prior is omitted, and the codes are returned without it
        prior = None
    mean, groups = tables["mean"], model.latents.groups
    return Codes(
        mean=mean,
        std=tables.get("std"),
        covariance=tables.get("covariance"),
        samples=tables.get("samples"),
        probabilities=tuple(table for name, table in tables.items() if name.startswith("probabilities")),
        groups=groups if len(groups) > 1 else (),
        factors=images.factors,
        weights=None if images.weights is None else images.weights.to(mean.dtype),
        prior=prior,
    )


def _draws(
    posterior: Posterior, rows: Int64[Tensor, " image"], num_noise: int
) -> Float[Tensor, "draw image latent"] | None:
    """Returns draws of the continuous latents, or None if a std or covariance describes the latents."""
    if posterior.gaussian_std is not None or posterior.covariance is not None:
        return None
    # Draws are addressed by the row of the image, so that they do not depend on the batch.
    noise = draws.normal(torch.zeros_like(rows), "encode", rows, (_NUM_DRAWS, num_noise)).to(posterior.mean)
    num_continuous = posterior.mean.shape[1]
    return torch.stack([posterior.rsample(each)[:, :num_continuous] for each in noise.unbind(dim=1)])
