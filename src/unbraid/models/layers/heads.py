"""Heads of encoders with separate output layers for each latent or kind of parameter."""

from dataclasses import dataclass
from itertools import chain
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.errors import SpecError
from unbraid.models.distributions.posteriors.conditional import ConditionalLatents
from unbraid.models.distributions.posteriors.grouped import GroupedLatents
from unbraid.models.distributions.posteriors.latents import Latents


@final
@dataclass(frozen=True)
class LatentsHead:
    """Number and order of the parameters of one family of latents.

    Parameters of continuous latents are ordered by kind: all means, then all log-variances. Parameters of discrete
    latents are ordered by latent: all logits of the first latent, then all logits of the second latent.
    """

    num_latents: int
    numbers_each: int
    is_discrete: bool

    @property
    def num_parameters(self) -> int:
        return self.num_latents * self.numbers_each

    def in_order(self, outputs: Float[Tensor, "batch latent number"]) -> Float[Tensor, "batch parameter"]:
        """Reorders outputs (batch, latent, number) to the parameter order of the family."""
        return (outputs if self.is_discrete else outputs.transpose(1, 2)).flatten(1)


def heads(latents: Latents) -> tuple[LatentsHead, ...]:
    """Returns one head for each family of latents, in the order of their parameters."""
    if isinstance(latents, GroupedLatents):
        return tuple(chain.from_iterable(heads(part) for part in latents.parts))
    numbers_each, rest = divmod(latents.num_parameters, latents.num_latents)
    if rest or latents.num_discrete not in (0, latents.num_latents):
        raise SpecError(
            f"{type(latents).__name__} have {latents.num_parameters} parameters for {latents.num_latents} latents; "
            "expected the same number of parameters for each latent, because the net has one head per latent. Combine "
            "families with GroupedLatents, or use a net without heads, such as MLP or Conv."
        )
    return (LatentsHead(latents.num_latents, numbers_each, is_discrete=latents.num_discrete > 0),)


def layer_sizes(latents: Latents) -> list[int]:
    """Returns the sizes of the output layers of an encoder.

    There is one layer for each kind of parameter of a continuous family, such as means or log-variances, and one layer
    for the logits of each discrete latent.
    """
    if isinstance(latents, GroupedLatents):
        return list(chain.from_iterable(layer_sizes(part) for part in latents.parts))
    if isinstance(latents, ConditionalLatents):
        num_categories = latents.category.categories
        return [latents.style.size * num_categories] * 2 + [num_categories]
    size = latents.num_parameters // latents.num_latents if latents.num_discrete else latents.num_latents
    num_layers, rest = divmod(latents.num_parameters, size)
    return [size] * num_layers + [rest] * bool(rest)


@final
class Branched(nn.Module):
    """Head with separate branches for means, log-variances and logits (Esmaeili et al., arXiv:1804.02086v1).

    The branch of each kind of parameter of a continuous family has a hidden layer of `width` units, as in tables 3 to
    5. With `ConditionalLatents` the hidden layer also reads the category. Logits of discrete latents are linear in the
    features.
    """

    def __init__(self, num_features: int, width: int, latents: Latents) -> None:
        super().__init__()
        if isinstance(latents, ConditionalLatents):
            num_categories = latents.category.categories
            style = [PerCategory(num_features, width, latents.style.size, num_categories) for _ in range(2)]
            self.branches = nn.ModuleList([*style, nn.Linear(num_features, num_categories)])
        else:
            self.branches = nn.ModuleList(
                chain.from_iterable(_branches(num_features, width, head) for head in heads(latents))
            )

    def forward(self, features: Float[Tensor, "batch feature"]) -> Float[Tensor, "batch parameter"]:
        return torch.cat([branch(features) for branch in self.branches], dim=1)


@final
class PerCategory(nn.Module):
    """Branch that maps features and a category to one number for each latent, for every category.

    A hidden layer reads features and category, and a linear layer follows. The style heads in the examples of the
    library of Esmaeili et al. have the same layers.
    """

    def __init__(self, num_features: int, width: int, num_latents: int, num_categories: int) -> None:
        super().__init__()
        self.of_features = nn.Linear(num_features, width)
        self.of_category = nn.Linear(num_categories, width, bias=False)
        self.last = nn.Linear(width, num_latents)

    def forward(self, features: Float[Tensor, "batch feature"]) -> Float[Tensor, "batch parameter"]:
        hidden = self.of_features(features)[:, None, :] + self.of_category.weight.T
        return self.last(hidden.relu()).flatten(1)


def _branches(num_features: int, width: int, head: LatentsHead) -> list[nn.Module]:
    if head.is_discrete:
        return [nn.Linear(num_features, head.num_parameters)]
    return [
        nn.Sequential(nn.Linear(num_features, width), nn.ReLU(), nn.Linear(width, head.num_latents))
        for _ in range(head.numbers_each)
    ]
