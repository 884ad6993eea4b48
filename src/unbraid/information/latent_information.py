"""Result of the information estimators, and entropies of tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float64, Shaped
from torch import Tensor


@final
@dataclass(frozen=True)
class LatentInformation:
    """Entropies of each latent, and mutual information of each latent with each factor, in nats.

    Entropies of latents are discrete if the estimator uses bins, and differential otherwise. The columns of a factor
    are computed from the images with a known value, and are NaN if there are none. `entropy_given_value` is the
    unweighted mean of H(z_i | v_k = v) over the `num_values` occurring values v, for comparison with code that assumes
    equally likely values.
    """

    entropy: Float64[Tensor, " latent"]
    entropy_given_image: Float64[Tensor, " latent"]
    factor_entropy: Float64[Tensor, " factor"]
    joint_entropy: Float64[Tensor, "latent factor"]
    mutual_information: Float64[Tensor, "latent factor"]
    entropy_given_value: Float64[Tensor, "latent factor"]
    num_values: Float64[Tensor, " factor"]

    @property
    def informativeness(self) -> Float64[Tensor, " latent"]:
        """Mutual information I(x; z_i) = H(z_i) - H(z_i | x). Do & Tran, arXiv:1908.09961v4, section 3.1."""
        return self.entropy - self.entropy_given_image


def joined(parts: Sequence[LatentInformation]) -> LatentInformation:
    """Concatenates the information of several groups of latents on the same factors."""
    of_latents = ("entropy", "entropy_given_image", "joint_entropy", "mutual_information", "entropy_given_value")
    return replace(parts[0], **{name: torch.cat([getattr(part, name) for part in parts]) for name in of_latents})


def entropy(masses: Float64[Tensor, "*axes value"]) -> Float64[Tensor, "*axes"]:
    """Returns the entropy -sum_v p_v log p_v over the last axis, in nats; NaN where all masses are zero.

    p is `masses` scaled to sum to one.
    """
    total = masses.sum(dim=-1)
    return total.log() - torch.xlogy(masses, masses).sum(dim=-1) / total


def information_of_tables(
    marginal: Float64[Tensor, "latent bin"],
    joints: Sequence[Float64[Tensor, "latent bin _value"]],
    entropy_given_image: Float64[Tensor, " latent"],
) -> LatentInformation:
    """Computes the information from the masses in bins of each latent and in bins of each latent and factor."""
    of_values = [joint[0].sum(dim=0) for joint in joints]
    factor_entropy = [entropy(masses) for masses in of_values]
    joint_entropy = [entropy(joint.flatten(1)) for joint in joints]
    # float64, because H(a) + H(b) - H(a, b) cancels: in float32, independent pairs could have negative information.
    mutual_information = [
        entropy(joint.sum(dim=2)) + h_y - h_zy
        for joint, h_y, h_zy in zip(joints, factor_entropy, joint_entropy, strict=True)
    ]
    given_value = [
        entropy(joint.transpose(1, 2))[:, occurring_values(masses)].mean(dim=1)
        for joint, masses in zip(joints, of_values, strict=True)
    ]
    no_factors = marginal.new_zeros(len(marginal), 0)
    return LatentInformation(
        entropy=entropy(marginal),
        entropy_given_image=entropy_given_image,
        factor_entropy=stacked(factor_entropy, no_factors[0]),
        joint_entropy=stacked(joint_entropy, no_factors),
        mutual_information=stacked(mutual_information, no_factors),
        entropy_given_value=stacked(given_value, no_factors),
        num_values=stacked([occurring_values(masses).sum().double() for masses in of_values], no_factors[0]),
    )


def occurring_values(masses: Float64[Tensor, " value"]) -> Bool[Tensor, " value"]:
    """Returns a mask of the values with positive mass."""
    return masses > 0


def stacked(
    parts: Sequence[Shaped[Tensor, "*axes"]], empty: Shaped[Tensor, "*axes _none"]
) -> Shaped[Tensor, "*axes _factor"]:
    """Stacks the tensors of all factors along a new last axis; returns `empty` if there are none."""
    return torch.stack(tuple(parts), dim=-1) if parts else empty
