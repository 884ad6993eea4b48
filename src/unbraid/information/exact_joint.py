"""Joint entropy of two latents by two-dimensional quadrature, for up to a thousand images.

The plane is divided into cells, which are halved until no cell is wider than two stds of a posterior that overlaps it.
On each cell a product of Gauss-Legendre rules integrates -q log q. Tests compare the sampled estimator with this one.
"""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.information.posteriors import Posteriors

# Maximum number of images.
MAX_JOINT_IMAGES = 1_000

# As in mixture_entropy.py: the mass beyond 8 stds is 1e-15, and the error of 16 points per two stds is below 1e-9 nats.
_REACH = 8.0
_NUM_POINTS = 16
_MAX_WIDTH = 2.0
# Cells are processed in blocks of neighbors, with 65 MB for a thousand correlated posteriors.
_CELLS_PER_BLOCK = 32


def exact_joint_entropy(posteriors: Posteriors) -> Float64[Tensor, ""]:
    """Returns the joint entropy H(z_1, z_2) = -int q log q of two Gaussian latents, in nats.

    q is the mixture of the posteriors of all images, which may be correlated. The error is below 1e-8 nats on ordinary
    codes.
    """
    if posteriors.mean.shape[1] != 2 or posteriors.probabilities or len(posteriors.mean) > MAX_JOINT_IMAGES:
        raise CodesError(
            f"The codes have {posteriors.mean.shape[1]} continuous latents, {len(posteriors.probabilities)} discrete "
            f"latents and {len(posteriors.mean):,} images; expected two continuous latents and at most "
            f"{MAX_JOINT_IMAGES:,} images for the exact joint entropy. Use the sampled estimator."
        )
    mean, std = posteriors.mean.double(), posteriors.std.double()
    # The std of each latent given the other latent, the width of a correlated posterior along an axis.
    narrow = std if posteriors.covariance is None else posteriors.precision.diagonal(dim1=1, dim2=2).rsqrt()
    start, stop = mean - _REACH * std, mean + _REACH * std
    left = start.amin(dim=0)
    todo = [(left[None], (stop.amax(dim=0) - left)[None])]
    total = posteriors.weights.new_zeros(())
    while todo:
        left, width = todo.pop()
        reached = ((start < (left + width)[:, None]) & (stop > left[:, None])).all(dim=2)
        # Width of each cell relative to the allowed width, by axis; 0 for cells that no posterior overlaps.
        excess = (width[:, None] / (_MAX_WIDTH * narrow)).masked_fill(~reached[:, :, None], 0.0).amax(dim=1)
        ready = (excess <= 1).all(dim=1) & (excess > 0).all(dim=1)
        if bool(ready.any()):
            total = total - _integral(posteriors, left[ready], width[ready], reached[ready])
        split = (excess > 1).any(dim=1)
        if bool(split.any()):
            halves = _halved(left[split], width[split], excess[split])
            todo.extend(zip(*(half.split(_CELLS_PER_BLOCK) for half in halves), strict=True))
    return total


def _halved(
    left: Float64[Tensor, "cell 2"], width: Float64[Tensor, "cell 2"], excess: Float64[Tensor, "cell 2"]
) -> tuple[Float64[Tensor, "half 2"], Float64[Tensor, "half 2"]]:
    """Halves each cell along the axis with the largest `excess`."""
    along = torch.nn.functional.one_hot(excess.argmax(dim=1), 2).to(width)
    half = width * (1 - along / 2)
    # Neighboring cells stay adjacent, so that few images overlap a block of cells.
    return torch.stack([left, left + width * along / 2], dim=1).flatten(0, 1), half.repeat_interleave(2, dim=0)


def _integral(
    posteriors: Posteriors,
    left: Float64[Tensor, "cell 2"],
    width: Float64[Tensor, "cell 2"],
    reached: Bool[Tensor, "cell image"],
) -> Float64[Tensor, ""]:
    """Returns the integral of q log q over the cells."""
    nodes, weights = (torch.from_numpy(part).to(left) for part in np.polynomial.legendre.leggauss(_NUM_POINTS))
    points = left[:, None] + width[:, None] * (nodes[:, None] + 1) / 2
    density = _density(posteriors, points, reached.any(dim=0))
    return torch.einsum("cpq,p,q,c->", torch.xlogy(density, density), weights, weights, width.prod(dim=1) / 4)


def _density(
    posteriors: Posteriors, points: Float64[Tensor, "cell point 2"], images: Bool[Tensor, " image"]
) -> Float64[Tensor, "cell point point"]:
    """Returns q on the grid of points of each cell, computed from the selected images."""
    deviation = points[:, :, None] - posteriors.mean[images].double()  # cell, point, image, axis
    weights = posteriors.weights[images] / (2 * math.pi)
    if posteriors.covariance is None:
        std = posteriors.std[images].double()
        first, second = (torch.exp(-0.5 * (deviation / std).square()) / std).unbind(dim=3)
        return (first * weights) @ second.transpose(1, 2)
    precision, log_det = posteriors.precision[images], posteriors.log_det[images]
    first, second = deviation[:, :, None, :, 0], deviation[:, None, :, :, 1]
    power = (
        precision[:, 0, 0] * first.square()
        + 2 * precision[:, 0, 1] * first * second
        + precision[:, 1, 1] * second.square()
    )
    return torch.exp(-0.5 * (power + log_det)) @ weights
