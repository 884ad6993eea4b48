"""Codes of images: encoding all images of a dataset, or new images."""

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
# Pixels in a batch on a GPU: enough to keep it busy with one model (16,384 images of 64 x 64), and few enough for the
# outputs of a convolution, about eight times as much, to stay at 2 GB. Not a share of the free memory: codes would
# depend on it.
_PIXELS_ON_A_GPU = 2**26


def encode(
    model: AutoencoderModule, images: FactorImages, batch_size: int | None = None, *, precision: Precision = "float32"
) -> Codes:
    """Returns q(z | x) of every image, in the order and on the device of the images, streamed in batches.

    Codes of images on MPS are on the CPU. For continuous latents that are not Gaussian the codes hold 16 draws of each
    image. Draws of an image are the same in every call. `batch_size` is by default 1024 on a CPU and larger on a GPU.
    With the `precision` "tf32" or "bf16" a GPU may round the inputs of products to TF32.
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
    """Returns the codes of each model, as `encode` does. Images are read and moved once for all models."""
    found: list[dict[str, list[Tensor]]] = [{} for _ in models]
    with matrix_units(precision, images.device):
        for rows in _batches(images, batch_size):
            x = images.batch(rows)
            # One model after the other: a batch this large keeps a GPU busy, and the outputs of one model fit.
            for model, blocks in zip(models, found, strict=True):
                for name, block in _described(model, x, rows).items():
                    blocks.setdefault(name, []).append(block)
    return [_codes(model, blocks, images) for model, blocks in zip(models, found, strict=True)]


def encoder_of(model: AutoencoderModule) -> Callable[[Any], Codes]:
    """Returns a function from new images to their codes.

    Gray and color images are converted. Images whose size differs from that of the model raise an error.
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
    """Returns the tensors of `Codes` for the posteriors of these images, by name."""
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
    # Draws come first in the samples. Blocks are freed name by name, so that little is held twice.
    tables = {name: torch.cat(blocks.pop(name), dim=1 if name == "samples" else 0) for name in list(blocks)}
    try:
        prior = model.prior.for_codes(model.latents.num_latents)
    except CodesError:  # A prior that has degenerated is no prior; the codes are kept.
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
    """Returns draws of the continuous latents, unless std or covariance describes them."""
    if posterior.gaussian_std is not None or posterior.covariance is not None:
        return None
    # The row of an image addresses its draws, so that they do not depend on its batch.
    noise = draws.normal(torch.zeros_like(rows), "encode", rows, (_NUM_DRAWS, num_noise)).to(posterior.mean)
    num_continuous = posterior.mean.shape[1]
    return torch.stack([posterior.rsample(each)[:, :num_continuous] for each in noise.unbind(dim=1)])
