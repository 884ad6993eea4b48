"""Figure 1: which layers of an encoder the latents share."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid import figures, sampling
from unbraid.distributions import GaussianLatents
from unbraid.models import Autoencoder
from unbraid.papers.calculation import Calculation
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.split2020.nets import BASELINE, SHARING, SHARING_EQUAL, SPLIT, SPLIT_EQUAL, encoders
from unbraid.studies.claims import Within
from unbraid.studies.study_scores import StudyScores

_IMAGE = (1, 64, 64)
_NUM_LATENTS = 10
# How many layers, counted from the last, the figure draws as no latent's but one: of the sharing encoder, which it does
# not draw, the last layer is looked at as well.
_LAST_LAYERS = {BASELINE: 1, SHARING: 1, SHARING_EQUAL: 1, SPLIT: 3, SPLIT_EQUAL: 3}


def _compute(scale: Scale, label: str, seed: int) -> Mapping[str, float]:
    """Returns how many layers and weights an encoder has, of how many only one latent hears, and how much the last
    layers are shared.
    """
    model = Autoencoder(encoders(scale)[label], latents=GaussianLatents(_NUM_LATENTS)).build(_IMAGE, seed)
    encoder, x = model.encoder, sampling.uniform((2, *_IMAGE), seed, "images").float()
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.abs_()  # so that no ReLU is silent, and a gradient of 0 means that there is no path
    weights = _weights_by_layer(encoder)
    influences = [_influence(encoder, x, latent, weights) for latent in range(_NUM_LATENTS)]
    by_layer = [torch.stack([of_latent[layer] for of_latent in influences]) for layer in range(len(weights))]
    heard_by_one = [(layer > 0).sum(dim=0) == 1 for layer in by_layer]
    # Of each weight the second largest influence: that on a latent which is not its own.
    others = [float(layer.sort(dim=0).values[-2].max()) for layer in by_layer]
    return {
        "layers": len(weights),
        "layers_of_one_latent": sum(bool(layer.all()) for layer in heard_by_one),
        "weights": sum(layer.numel() for layer in heard_by_one),
        "weights_of_one_latent": sum(int(layer.sum()) for layer in heard_by_one),
        "gradient_between_latents": max(others[-_LAST_LAYERS[label] :]),
    }


def _weights_by_layer(encoder: nn.Module) -> list[list[nn.Parameter]]:
    """Returns the parameters of each layer that has any, from the image on."""
    of_modules = (list(module.parameters(recurse=False)) for module in encoder.modules())
    return [parameters for parameters in of_modules if parameters]


def _influence(
    encoder: nn.Module, x: Tensor, latent: int, weights: list[list[nn.Parameter]]
) -> list[Float[Tensor, " weight"]]:
    """Returns the size of the gradient of the mean and the log-variance of a latent with respect to every weight."""
    outputs = encoder(x)
    total = outputs[:, latent].sum() + outputs[:, _NUM_LATENTS + latent].sum()
    flat = [parameter for layer in weights for parameter in layer]
    gradients = iter(torch.autograd.grad(total, flat, materialize_grads=True))
    return [torch.cat([next(gradients).abs().flatten() for _ in layer]) for layer in weights]


def _work(scale: Scale) -> Calculation:
    split = (SPLIT, SPLIT_EQUAL)
    claims = (
        Within("Latents share all layers of the baseline but the last.", "layers_of_one_latent", (BASELINE,), 1, 1),
        Within("The last three layers of the split encoder are not shared.", "layers_of_one_latent", split, 3, 3),
        Within("No weight of a branch moves another latent.", "gradient_between_latents", (BASELINE, *split), 0, 0),
        Within(
            "The sharing encoder shares its last layer too.", "layers_of_one_latent", (SHARING, SHARING_EQUAL), 0, 0
        ),
        Within("The split encoder is as deep as the baseline.", "layers", (BASELINE, *split), 6, 6),
    )
    return Calculation(
        name="split2020-figure1",
        cases=dict.fromkeys(_LAST_LAYERS, (0,)),
        metrics={
            "layers": None,
            "layers_of_one_latent": None,
            "weights": None,
            "weights_of_one_latent": None,
            "gradient_between_latents": None,
        },
        compute=functools.partial(_compute, scale),
        claims=claims,
        size=scale,
    )


def _draw(scores: StudyScores) -> Any:
    rows = {label: scores.of_seeds(label, "weights") for label in scores.settings}
    return figures.sorted_bars(
        {label: values[0] for label, values in rows.items() if values}, label="weights of the encoder"
    )


FIGURE1 = Item(
    id="split2020/figure1",
    title="The baseline and the split encoder",
    claim=(
        "In the baseline the last layer alone is each latent's own; the split encoder, no deeper, has a convolution "
        "and two fully connected layers of its own for each latent."
    ),
    work={"smoke": lambda: _work("smoke"), "paper": lambda: _work("paper")},
    data="none",
    seconds={"paper": 10},
    choices=(
        Choice(
            "kernels, widths",
            "not stated",
            "those of Conv(hidden=256): widths of disentanglement_lib, 4 x 4 throughout",
        ),
        Choice("latents", "not stated", "10"),
    ),
    draw=_draw,
    trains=False,
    notes=(
        "Measured by gradients: weights are made positive, so that no ReLU is silent, and a weight belongs to one "
        "latent if it moves that one alone. The split encoder has 8.7 times the weights of its baseline, of which the "
        "paper says nothing; the equal-size control has as many as the baseline, and is compared wherever the split "
        "encoder is."
    ),
)
