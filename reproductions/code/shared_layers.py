"""Which layers of an encoder latents share, measured by gradients (figure 1 of the split encoder)."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from unbraid import Autoencoder
from unbraid.models.distributions import GaussianLatents

ENCODERS = ("baseline", "correlated noise", "sharing", "sharing of equal size", "split", "split of equal size", "small kernels")
_SHAPE, _NUM_LATENTS = (1, 64, 64), 10


def compute_layers(nets: Mapping[str, Any]) -> Callable[[str, int], dict[str, float]]:
    """Returns what counts layers and weights of an encoder, and those that move one latent alone."""

    def compute(label: str, seed: int) -> dict[str, float]:
        model = Autoencoder(nets[label], latents=GaussianLatents(_NUM_LATENTS)).build(_SHAPE, seed)
        encoder, x = model.encoder, torch.linspace(0, 1, 2 * 64 * 64).reshape(2, *_SHAPE)
        with torch.no_grad():
            for weight in encoder.parameters():
                weight.abs_()  # so that no ReLU is silent, and a gradient of 0 means that there is no path
        of_modules = (list(module.parameters(recurse=False)) for module in encoder.modules())
        weights = [parameters for parameters in of_modules if parameters]
        influences = [_influence(encoder, x, latent, weights) for latent in range(_NUM_LATENTS)]
        by_layer = [torch.stack([of_latent[layer] for of_latent in influences]) for layer in range(len(weights))]
        moved_by_one = [(layer > 0).sum(dim=0) == 1 for layer in by_layer]
        others = [float(layer.sort(dim=0).values[-2].max()) for layer in by_layer]  # of each weight, the second latent
        return {
            "layers": len(weights),
            "layers_of_one_latent": sum(bool(layer.all()) for layer in moved_by_one),
            "weights": sum(layer.numel() for layer in moved_by_one),
            "weights_of_one_latent": sum(int(layer.sum()) for layer in moved_by_one),
            "gradient_between_latents": max(others[-3 if label.startswith("split") else -1 :]),
        }

    return compute


def _influence(encoder: nn.Module, x: Tensor, latent: int, weights: list[list[nn.Parameter]]) -> list[Tensor]:
    """Returns the size of the gradient of the mean and the log-variance of a latent with respect to every weight."""
    outputs = encoder(x)
    total = outputs[:, latent].sum() + outputs[:, _NUM_LATENTS + latent].sum()
    flat = [parameter for layer in weights for parameter in layer]
    gradients = iter(torch.autograd.grad(total, flat, materialize_grads=True))
    return [torch.cat([next(gradients).abs().flatten() for _ in layer]) for layer in weights]
