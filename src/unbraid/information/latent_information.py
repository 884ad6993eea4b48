"""What every estimator of information returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor


@final
@dataclass(frozen=True)
class LatentInformation:
    """What each latent says of the image and of each factor, in nats.

    The entropies of a latent are discrete if the estimator has bins and differential if it has not; a mutual information means the same in both.
    Where a factor is known in some images only, its columns speak of those images. A factor known in none has NaN.
    """

    entropy: Float64[Tensor, " latent"]
    entropy_given_image: Float64[Tensor, " latent"]
    factor_entropy: Float64[Tensor, " factor"]
    joint_entropy: Float64[Tensor, "latent factor"]
    mutual_information: Float64[Tensor, "latent factor"]

    @property
    def informativeness(self) -> Float64[Tensor, " latent"]:
        """I(x; z_i) = H(z_i) - H(z_i | x). Do & Tran, arXiv:1908.09961v4, section 3.1."""
        return self.entropy - self.entropy_given_image


def entropy(masses: Float64[Tensor, "*axes value"]) -> Float64[Tensor, "*axes"]:
    """H = -sum_v p_v log p_v over the last axis, in nats, where p is `masses` scaled to sum to one. NaN where all masses are zero."""
    total = masses.sum(dim=-1)
    return total.log() - torch.xlogy(masses, masses).sum(dim=-1) / total


def information_of_tables(
    marginal: Float64[Tensor, "latent bin"],
    joints: Sequence[Float64[Tensor, "latent bin _value"]],
    entropy_given_image: Float64[Tensor, " latent"],
) -> LatentInformation:
    """From masses in bins: of each latent, and of each latent jointly with each factor."""
    factor_entropy = [entropy(joint[0].sum(dim=0)) for joint in joints]
    joint_entropy = [entropy(joint.flatten(1)) for joint in joints]
    # float64 throughout: H(a) + H(b) - H(a, b) cancels, and in float32 an independent pair could score below zero.
    mutual_information = [
        entropy(joint.sum(dim=2)) + h_y - h_zy for joint, h_y, h_zy in zip(joints, factor_entropy, joint_entropy, strict=True)
    ]
    num_latents = len(marginal)
    return LatentInformation(
        entropy=entropy(marginal),
        entropy_given_image=entropy_given_image,
        factor_entropy=torch.stack(factor_entropy) if joints else marginal.new_zeros(0),
        joint_entropy=torch.stack(joint_entropy, dim=1) if joints else marginal.new_zeros(num_latents, 0),
        mutual_information=torch.stack(mutual_information, dim=1) if joints else marginal.new_zeros(num_latents, 0),
    )
