"""What every estimator of information returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64, Shaped
from torch import Tensor


@final
@dataclass(frozen=True)
class LatentInformation:
    """Holds what each latent says of the image and of each factor, in nats.

    The entropies of a latent are discrete if the estimator has bins and differential if it has not; a mutual
    information means the same in both. Where a factor is known in some images only, its columns speak of those images.
    A factor known in none has NaN.

    `entropy_given_value` is the mean of H(z_i | v_k = v) over the values v that occur, each counted once however
    frequent it is; `num_values` is how many occur. Both serve comparison with code that takes values for equally
    likely.
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
        """Returns I(x; z_i) = H(z_i) - H(z_i | x). Do & Tran, arXiv:1908.09961v4, section 3.1."""
        return self.entropy - self.entropy_given_image


def joined(parts: Sequence[LatentInformation]) -> LatentInformation:
    """Joins several estimates of the same factors, one after the other: continuous latents first, say, then discrete
    ones.
    """
    return LatentInformation(
        entropy=torch.cat([part.entropy for part in parts]),
        entropy_given_image=torch.cat([part.entropy_given_image for part in parts]),
        factor_entropy=parts[0].factor_entropy,
        joint_entropy=torch.cat([part.joint_entropy for part in parts]),
        mutual_information=torch.cat([part.mutual_information for part in parts]),
        entropy_given_value=torch.cat([part.entropy_given_value for part in parts]),
        num_values=parts[0].num_values,
    )


def entropy(masses: Float64[Tensor, "*axes value"]) -> Float64[Tensor, "*axes"]:
    """Returns H = -sum_v p_v log p_v over the last axis, in nats, where p is `masses` scaled to sum to one; NaN where
    all masses are zero.
    """
    total = masses.sum(dim=-1)
    return total.log() - torch.xlogy(masses, masses).sum(dim=-1) / total


def information_of_tables(
    marginal: Float64[Tensor, "latent bin"],
    joints: Sequence[Float64[Tensor, "latent bin _value"]],
    entropy_given_image: Float64[Tensor, " latent"],
) -> LatentInformation:
    """Returns the information from masses in bins: of each latent, and of each latent jointly with each factor."""
    factor_entropy = [entropy(joint[0].sum(dim=0)) for joint in joints]
    joint_entropy = [entropy(joint.flatten(1)) for joint in joints]
    # float64 throughout: H(a) + H(b) - H(a, b) cancels, and in float32 an independent pair could score below zero.
    mutual_information = [
        entropy(joint.sum(dim=2)) + h_y - h_zy
        for joint, h_y, h_zy in zip(joints, factor_entropy, joint_entropy, strict=True)
    ]
    return LatentInformation(
        entropy=entropy(marginal),
        entropy_given_image=entropy_given_image,
        factor_entropy=stacked(factor_entropy, marginal.new_zeros(0)),
        joint_entropy=stacked(joint_entropy, marginal.new_zeros(len(marginal), 0)),
        mutual_information=stacked(mutual_information, marginal.new_zeros(len(marginal), 0)),
        entropy_given_value=stacked(
            [_entropy_given_value(joint) for joint in joints], marginal.new_zeros(len(marginal), 0)
        ),
        num_values=stacked(
            [occurring_values(joint[0].sum(dim=0)).sum().double() for joint in joints], marginal.new_zeros(0)
        ),
    )


def occurring_values(masses: Float64[Tensor, " value"]) -> Bool[Tensor, " value"]:
    """Returns which values occur at all."""
    return masses > 0


def stacked(
    parts: Sequence[Shaped[Tensor, "*axes"]], empty: Shaped[Tensor, "*axes _none"]
) -> Shaped[Tensor, "*axes _factor"]:
    """Returns the factors' numbers side by side, along a new last axis; `empty` where there are no factors."""
    return torch.stack(tuple(parts), dim=-1) if parts else empty


def _entropy_given_value(joint: Float64[Tensor, "latent bin value"]) -> Float64[Tensor, " latent"]:
    return entropy(joint.transpose(1, 2))[:, occurring_values(joint[0].sum(dim=0))].mean(dim=1)
