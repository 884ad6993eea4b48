"""Codes of images: encoding all images of a data set, or new images."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any, final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid._internal import draws
from unbraid._internal.precision import Precision, matrix_units
from unbraid.codes import Codes, Labels, LatentPrior
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pictures import fitted
from unbraid.datasets.user.from_arrays import unlabeled
from unbraid.errors import CodesError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.distributions.distribution import Posterior

_NUM_DRAWS = 16
_IMAGES_ON_A_CPU = 1024
# A GPU takes as many images at once as have so many pixels: enough to keep it busy with one model (16,384 of 64 x 64),
# and few enough for the outputs of a convolution, some eight times as much, to stay at 2 GB. Not a share of the memory
# that happens to be free: codes would depend on it.
_PIXELS_ON_A_GPU = 2**26


def encode(
    model: AutoencoderModule, images: FactorImages, batch_size: int | None = None, *, precision: Precision = "float32"
) -> Codes:
    """Returns q(z | x) of every image, in the order of the images, streamed in batches.

    The codes lie where the images lie.

    Of continuous latents that are not Gaussian the codes hold draws, 16 of each image. They are the same whenever the
    image is encoded. `batch_size` is 1024 on a CPU and larger on a GPU, unless it is given. With the `precision` "tf32"
    or "bf16" a GPU may round the inputs of products to TF32.
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
    """Returns the codes of each model, as `encode` gives them.

    The images are read, unpacked and moved once for all models.
    """
    found = [_Tables(len(images)) for _ in models]
    with matrix_units(precision, images.device):
        for rows in _batches(images, batch_size):
            x = images.batch(rows)
            # One model after the other: a batch this large keeps a GPU busy, and none has to hold what all of them put
            # out in between.
            for model, tables in zip(models, found, strict=True):
                tables.put(rows, _described(model, x, rows))
    return [tables.codes(model, images.weights, images.factors) for model, tables in zip(models, found, strict=True)]


def encoder_of(model: AutoencoderModule) -> Callable[[Any], Codes]:
    """Returns a function from images to their codes.

    Gray and color are converted; images of another size than the model takes are refused.
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
    """Returns what codes keep of the posteriors of these images, by name."""
    posterior = model.encode(x.to(next(model.parameters()).dtype))
    numbers = torch.arange(rows.start, rows.stop, device=x.device)
    known = {
        "mean": posterior.mean,
        "std": posterior.gaussian_std if posterior.covariance is None else None,
        "covariance": posterior.covariance,
        "samples": _draws(posterior, numbers, model.latents.num_noise),
        **{f"probabilities {latent}": table for latent, table in enumerate(posterior.probabilities)},
    }
    return {name: tensor for name, tensor in known.items() if tensor is not None}


@final
class _Tables:
    """Holds what is known of all images, filled batch by batch: nothing is held twice."""

    def __init__(self, num_images: int) -> None:
        self._num_images = num_images
        self._tensors: dict[str, Tensor] = {}

    def put(self, rows: slice, parts: dict[str, Tensor]) -> None:
        for name, part in parts.items():
            axis = 1 if name == "samples" else 0  # which have the draws first
            if name not in self._tensors:
                shape = [*part.shape[:axis], self._num_images, *part.shape[axis + 1 :]]
                self._tensors[name] = part.new_empty(shape)
            self._tensors[name].narrow(axis, rows.start, rows.stop - rows.start).copy_(part)

    def codes(
        self, model: AutoencoderModule, weights: Float[Tensor, " image"] | None, labels: tuple[Labels, ...]
    ) -> Codes:
        mean = self._tensors["mean"]
        return Codes(
            mean=mean,
            std=self._tensors.get("std"),
            covariance=self._tensors.get("covariance"),
            samples=self._tensors.get("samples"),
            probabilities=tuple(tensor for name, tensor in self._tensors.items() if name.startswith("probabilities")),
            groups=model.latents.groups if len(model.latents.groups) > 1 else (),
            factors=labels,
            weights=None if weights is None else weights.to(mean.dtype),
            prior=_prior(model),
        )


def _prior(model: AutoencoderModule) -> LatentPrior | None:
    """Returns the prior of the model; None if it has degenerated and is no longer a prior. The codes are kept."""
    try:
        return model.prior.for_codes(model.latents.num_latents)
    except CodesError:
        return None


def _draws(
    posterior: Posterior, rows: Int64[Tensor, " image"], num_noise: int
) -> Float[Tensor, "draw image latent"] | None:
    """Returns draws of the continuous latents, where neither std nor covariance describes them."""
    if posterior.gaussian_std is not None or posterior.covariance is not None:
        return None
    # Every image has its own address, its row, so that the draws do not depend on the batch it comes in.
    noise = draws.normal(torch.zeros_like(rows), "encode", rows, (_NUM_DRAWS, num_noise)).to(posterior.mean.dtype)
    num_continuous = posterior.mean.shape[1]
    return torch.stack([posterior.rsample(each)[:, :num_continuous] for each in noise.unbind(dim=1)])
