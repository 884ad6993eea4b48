"""BatchNorm after training: the statistics of all images instead of those of a batch."""

from typing import Any, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from unbraid._internal import draws
from unbraid.datasets.dataset import FactorImages
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.posteriors.categories import with_categories


def has_batch_norm(model: AutoencoderModule) -> bool:
    """Returns whether the model has layers that need the statistics of all images."""
    return any(isinstance(module, _BatchNorm) for module in model.modules())


@torch.no_grad()
def set_population_statistics(
    model: AutoencoderModule, images: FactorImages, seed: int, batch_size: int = 1024, *, generates: bool = False
) -> None:
    """Sets the mean and variance of every BatchNorm layer to those over all images.

    They are those of its inputs when all images are encoded and their codes decoded.

    It takes one pass, in batches of at least `batch_size` (or of all images), each normalized by itself as in training.
    Order and codes are draws, from this seed: images come sorted by their factors, and a batch of neighbors would not
    look like the batches that the weights were trained on. Images with weights are drawn with replacement, as in
    training. Where the model `generates`, the decoder sees draws of the prior and of its noise inputs instead, which it
    was trained on. A model without such layers is left as it is.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    moments = [_Moments(layer) for layer in layers]
    model.train()
    weights = next(model.parameters())
    seeds = torch.tensor([seed], device=images.device)
    # Rather fewer batches than one too small: of a single image no layer could take the variance.
    for step, rows in enumerate(_rows(images, seeds).tensor_split(max(1, len(images) // batch_size))):
        posterior = model.encode(images.batch(rows).to(weights.dtype))
        noise = draws.normal(seeds, "population statistics", step, (len(rows), model.latents.num_noise))[0].to(
            weights.dtype
        )
        model.decoder(_generators(model, seeds, step, noise) if generates else _decoders(model, posterior, noise))
    for of_layer in moments:
        of_layer.settle()
    model.eval()


def _decoders(model: AutoencoderModule, posterior: Posterior, noise: Tensor) -> Float[Tensor, "batch input"]:
    """Returns what a decoder sees of draws of the codes of images."""
    return model.decoder_input(posterior.rsample(noise))


def _generators(
    model: AutoencoderModule, seeds: Int64[Tensor, "1"], step: int, like: Tensor
) -> Float[Tensor, "batch input"]:
    """Returns what a generator sees: as many draws of the prior and of its noise inputs."""
    num_columns = model.latents.num_columns
    drawn = draws.normal(seeds, "population codes", step, (len(like), num_columns + model.noise_inputs))[0].to(like)
    code = model.prior.sample(drawn[:, :num_columns])
    seen = with_categories(code, model.latents.widths, model.latents.hard_latents)
    return torch.cat([seen, drawn[:, num_columns:]], dim=1)


def _rows(images: FactorImages, seeds: Int64[Tensor, "1"]) -> Int64[Tensor, " row"]:
    """Returns as many rows as there are images: each once, or drawn by their weights."""
    if images.weights is None:
        return draws.permutation(seeds, "population order", 0, len(images))[0]
    return draws.by_weight(seeds, "population order", 0, images.weights.double().cumsum(0), len(images))[0]


@final
class _Moments:
    """Gathers mean and variance of all that comes into a layer, until `settle` gives them to it."""

    def __init__(self, layer: _BatchNorm) -> None:
        self._layer = layer
        self._hook = layer.register_forward_pre_hook(self._add)
        self._count = 0
        # float64: the mean of squares minus the square of the mean cancels.
        self._sums: Float64[Tensor, "2 channel"] | None = None

    def _add(self, layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        del layer
        x = inputs[0].double().transpose(0, 1).flatten(1)
        sums = torch.stack([x.sum(dim=1), x.square().sum(dim=1)])
        self._sums = sums if self._sums is None else self._sums + sums
        self._count += x.shape[1]

    def settle(self) -> None:
        self._hook.remove()
        if self._sums is None or self._layer.running_mean is None or self._layer.running_var is None:
            return
        mean, square = self._sums / self._count
        self._layer.running_mean.copy_(mean)
        self._layer.running_var.copy_((square - mean.square()).clamp_min(0))
