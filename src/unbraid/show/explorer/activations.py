"""Activations, known by what they do to a range of numbers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from unbraid.models.distributions.likelihoods.continuous_bernoulli import ContinuousBernoulliLikelihood

_NUM_VALUES = 241


@final
@dataclass(frozen=True)
class Activation:
    """Holds an activation by the name that decoder.js has for it, and its settings."""

    kind: str
    settings: Mapping[str, float] = field(default_factory=dict)


def recognized_activation(apply: Callable[[Tensor], Tensor], like: Tensor) -> Activation | None:
    """Returns the activation that `apply` is for tensors like this one; None if it is none that the page has.

    Every number must come out as it would anywhere else in the tensor, so a softmax is not taken for one.
    """
    rounds = max(1, -(-_NUM_VALUES // like.numel()))  # a small tensor is given one part of the range after the other
    x = torch.linspace(-6, 6, _NUM_VALUES, dtype=like.dtype).repeat(-(-rounds * like.numel() // _NUM_VALUES))
    x = x[: rounds * like.numel()].reshape(rounds, *like.shape)
    y = torch.stack([apply(part) for part in x])
    lowest, below = float(x.min()), float(y.flatten()[x.argmin()])
    slopes = {"leaky": below / lowest, "elu": below / math.expm1(lowest)}
    for kind, function in _FUNCTIONS.items():
        settings = {"slope": slopes[kind]} if kind in slopes else {}
        if torch.allclose(y, function(x, *settings.values()), rtol=1e-7, atol=1e-9):
            return Activation(kind, settings)
    return None


_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "leaky": functional.leaky_relu,
    "elu": functional.elu,
    "continuous_bernoulli": lambda x: ContinuousBernoulliLikelihood().mean(x.reshape(1, 1, 1, -1)).reshape(x.shape),
}
