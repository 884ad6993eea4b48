"""What each image adds to the quantized entropies: their influence functions.

For H = -sum_s Q(s) log Q(s) with Q = sum_n p(n) Q(. | n), a small increase of p(n) changes H by -sum_s Q(s | n) log
Q(s) - H, and the other entropies alike. Averaged over images these deviations are 0; their spread is the uncertainty of
the entropies for images seen as an iid sample.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid.information.latent_information import entropy, occurring_values, stacked
from unbraid.information.quantized import QuantizedStatistics

# H(v_k), H(z_i, v_k), I(z_i; v_k) and H(z_i | v), averaged over values, of one factor.
_OfFactor = tuple[
    Float64[Tensor, " row"], Float64[Tensor, "row latent"], Float64[Tensor, "row latent"], Float64[Tensor, "row latent"]
]


def influences(
    masses: Float[Tensor, "row latent bin"],
    assignments: Sequence[Float[Tensor, "row _value"]],
    weights: Float64[Tensor, " row"],
    sums: QuantizedStatistics,
) -> dict[str, Float64[Tensor, "row ..."]]:
    """Returns the deviations of some images, by the names of the fields of `LatentInformation`.

    `masses` is Q(s | n) and `assignments` p(v_k | n), zeros where a factor is not known; `weights` is N p(n).
    `sums` are over all images. A factor known in none of them has NaN.
    """
    masses = masses.double()
    of_factors = [
        _of_factor(masses, value.double(), joint) for value, joint in zip(assignments, sums.joints, strict=True)
    ]
    factor, joint, information, given_value = zip(*of_factors, strict=True) if of_factors else ((), (), (), ())
    none = masses.new_zeros(*masses.shape[:2], 0)
    deviations = {
        "entropy": _surprise(masses, sums.marginal) - entropy(sums.marginal),
        "entropy_given_image": entropy(masses) - sums.entropy_given_image,
        "factor_entropy": stacked(factor, none[:, 0]),
        "joint_entropy": stacked(joint, none),
        "mutual_information": stacked(information, none),
        "entropy_given_value": stacked(given_value, none),
    }
    return {
        name: deviation * weights.reshape(-1, *[1] * (deviation.ndim - 1)) for name, deviation in deviations.items()
    }


def _of_factor(
    masses: Float64[Tensor, "row latent bin"],
    value: Float64[Tensor, "row value"],
    joint: Float64[Tensor, "latent bin value"],
) -> _OfFactor:
    of_values = joint[0].sum(dim=0)
    share = of_values.sum()
    # What is averaged over the images in which the factor is known is a ratio: its denominator deviates too.
    known = value.sum(dim=1)
    h_y = value @ -_log(of_values / share) - known * entropy(of_values)
    surprise = torch.einsum("nls,lsv->nlv", masses, -_log(joint / share))
    h_zy = torch.einsum("nlv,nv->nl", surprise, value) - known[:, None] * entropy(joint.flatten(1))
    h_z = (_surprise(masses, joint.sum(dim=2) / share) - entropy(joint.sum(dim=2))) * known[:, None]
    # H(z | v): the surprise at z, given v, is that at both less that at v.
    occur = occurring_values(of_values)
    of_value = surprise[:, :, occur] + _log(of_values[occur] / share) - entropy(joint.transpose(1, 2)[:, occur])
    given_value = torch.einsum("nlv,nv->nl", of_value, value[:, occur] / of_values[occur]) / occur.sum()
    return h_y / share, h_zy / share, (h_z + h_y[:, None] - h_zy) / share, given_value


def _surprise(
    masses: Float64[Tensor, "row latent bin"], table: Float64[Tensor, "latent bin"]
) -> Float64[Tensor, "row latent"]:
    """Returns -sum_s Q(s | n) log Q(s)."""
    return -torch.einsum("nls,ls->nl", masses, _log(table))


def _log(table: Float64[Tensor, "*axes"]) -> Float64[Tensor, "*axes"]:
    # Where a table is 0, so is every mass that would meet its logarithm.
    return torch.where(table > 0, table.clamp(min=torch.finfo(torch.float64).tiny).log(), 0.0)
