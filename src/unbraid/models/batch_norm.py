"""BatchNorm with batch statistics in training and statistics of all images afterwards."""

from typing import Any, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from unbraid._internal import draws
from unbraid._internal.device import widest
from unbraid._internal.precision import widened
from unbraid.datasets.dataset import FactorImages
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.categories import with_categories


def make_batch_norm_stateless(net: nn.Module) -> None:
    """Replaces every BatchNorm layer of a net by a layer without running averages, which `vmap` does not support.

    Names and values of the weights do not change.
    """
    for parent in list(net.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, _BatchNorm):
                setattr(parent, name, StatelessBatchNorm(layer))


@final
class StatelessBatchNorm(nn.Module):
    """BatchNorm layer without running averages.

    On a GPU the layer computes the formula with elementary operations, which the compiler fuses. torch's layer requires
    a memory layout that the outputs of our convolutions do not have under `vmap`.
    """

    def __init__(self, layer: _BatchNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = layer.weight, layer.bias, layer.eps

    def forward(self, x: Tensor) -> Tensor:
        if x.is_cuda:
            return normalized(x, self.weight, self.bias, self.eps)
        return nn.functional.batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)


def normalized(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Normalizes each channel (axis 1) to mean 0 and variance 1 over all other axes, then applies weight and bias."""
    axes, wide = [axis for axis in range(x.ndim) if axis != 1], widened(x)
    centered = wide - wide.mean(dim=axes, keepdim=True)
    normal = centered * torch.rsqrt(centered.square().mean(dim=axes, keepdim=True) + eps)
    along = (1, -1, *[1] * (x.ndim - 2))
    scaled = normal if weight is None else normal * weight.reshape(along)
    return (scaled if bias is None else scaled + bias.reshape(along)).to(x.dtype)


def has_batch_norm(model: AutoencoderModule) -> bool:
    """Returns whether the model has BatchNorm layers."""
    return any(isinstance(module, _BatchNorm) for module in model.modules())


@torch.no_grad()
def set_population_statistics(
    model: AutoencoderModule, images: FactorImages, seed: int, batch_size: int = 1024, *, generates: bool = False
) -> None:
    """Sets the running mean and variance of every BatchNorm layer to the statistics of its inputs over all images.

    The statistics are computed in one pass, in batches of at least `batch_size` images. Batches are normalized
    separately, as in training. The order of images and the codes are drawn from `seed`. The order is random because
    images are often sorted by factor, so batches of consecutive images would differ from training batches. Weighted
    images are drawn with replacement, as in training. If the model `generates`, the decoder reads draws from the prior
    and its noise inputs.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    moments = [_Moments(layer) for layer in layers]
    model.train()
    dtype = next(model.parameters()).dtype
    seeds = torch.full((1,), seed, device=images.device)
    try:
        # tensor_split makes no small last batch, because a single image has no variance.
        for step, rows in enumerate(_rows(images, seeds).tensor_split(max(1, len(images) // batch_size))):
            posterior = model.encode(images.batch(rows).to(dtype))
            shape = (len(rows), model.latents.num_noise)
            noise = draws.normal(seeds, "population statistics", step, shape)[0].to(images.device, dtype)
            model.decoder(
                _generator_inputs(model, seeds, step, noise)
                if generates
                else model.decoder_input(posterior.rsample(noise))
            )
    finally:
        for of_layer in moments:
            of_layer.hook.remove()
        model.eval()
    for of_layer in moments:
        of_layer.settle()


def _generator_inputs(
    model: AutoencoderModule, seeds: Int64[Tensor, "1"], step: int, like: Tensor
) -> Float[Tensor, "batch input"]:
    """Draws a code from the prior and the noise inputs of the decoder for each row of `like`."""
    num_columns = model.latents.num_columns
    drawn = draws.normal(seeds, "population codes", step, (len(like), num_columns + model.noise_inputs))[0].to(like)
    code = model.prior.sample(drawn[:, :num_columns])
    code = with_categories(code, model.latents.widths, model.latents.hard_latents)
    return torch.cat([code, drawn[:, num_columns:]], dim=1)


def _rows(images: FactorImages, seeds: Int64[Tensor, "1"]) -> Int64[Tensor, " row"]:
    """Returns a permutation of the image indices, or draws in proportion to the weights of images."""
    if images.weights is None:
        return draws.permutation(seeds, "population order", 0, len(images))[0]
    return draws.by_weight(seeds, "population order", 0, images.weights.double().cumsum(0), len(images))[0]


@final
class _Moments:
    """Running sums of the inputs of a layer. `settle` writes their mean and variance to the layer."""

    def __init__(self, layer: _BatchNorm) -> None:
        self._layer = layer
        self.hook = layer.register_forward_pre_hook(self._add)
        self._count = 0
        # float64: the mean of squares minus the square of the mean cancels.
        self._sums: Float64[Tensor, "2 channel"] | None = None

    def _add(self, layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        del layer
        x = widest(inputs[0]).transpose(0, 1).flatten(1)
        sums = torch.stack([x.sum(dim=1), x.square().sum(dim=1)])
        self._sums = sums if self._sums is None else self._sums + sums
        self._count += x.shape[1]

    def settle(self) -> None:
        if self._sums is None or self._layer.running_mean is None or self._layer.running_var is None:
            return
        mean, square = self._sums / self._count
        self._layer.running_mean.copy_(mean)
        self._layer.running_var.copy_((square - mean.square()).clamp_min(0))
