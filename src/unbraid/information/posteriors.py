"""Posteriors q(z | x) of all images, with their entropies and draws."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid.errors import CodesError

_HALF_LOG_TWO_PI_E = 0.5 * math.log(2 * math.pi * math.e)
# Points have a relative rounding error of 1e-16. With a std below this fraction of the points, the error of an entropy
# would exceed 1e-6 nats.
_MIN_RELATIVE_STD = 1e-10


@final
@dataclass(frozen=True)
class Draws:
    """Draws from posteriors: `z[s]` and `categories[s]` are drawn from q(z | x_n) with n = `image[s]`."""

    z: Float[Tensor, "draw latent"]
    image: Int64[Tensor, " draw"]
    categories: Int64[Tensor, "draw discrete_latent"]

    @classmethod
    def of(cls, z: Float[Tensor, "draw latent"], image: Int64[Tensor, " draw"]) -> "Draws":
        """Creates draws without discrete latents."""
        return cls(z, image, image.new_zeros(len(image), 0))

    def __len__(self) -> int:
        return len(self.image)

    def rows(self, rows: Int64[Tensor, " row"]) -> "Draws":
        return Draws(self.z[rows], self.image[rows], self.categories[rows])

    def of_latents(self, latents: Sequence[int]) -> "Draws":
        """Selects latents. Continuous latents come first in the result."""
        num_continuous = self.z.shape[1]
        continuous = [latent for latent in latents if latent < num_continuous]
        discrete = [latent - num_continuous for latent in latents if latent >= num_continuous]
        return Draws(self.z[:, continuous], self.image, self.categories[:, discrete])


@final
class PosteriorEntropies(NamedTuple):
    """Entropies H(. | x) of each latent, of all latents, and of all latents except one, in nats."""

    each: Float64[Tensor, "*row latent"]
    joint: Float64[Tensor, "*row"]
    without: Float64[Tensor, "*row latent"]


@final
@dataclass(frozen=True)
class Posteriors:
    """Posteriors of Gaussian latents (`std` or full `covariance`) and of discrete latents (`probabilities`).

    `weights` is p(n) and sums to one. Discrete latents have higher indices than continuous latents. Given the image,
    discrete latents are independent of all other latents.
    """

    mean: Float[Tensor, "image latent"]
    std: Float[Tensor, "image latent"]
    weights: Float64[Tensor, " image"]
    covariance: Float[Tensor, "image latent latent"] | None = None
    probabilities: tuple[Float[Tensor, "image _category"], ...] = ()

    def __post_init__(self) -> None:
        check_std(self.mean, self.std)

    @property
    def num_latents(self) -> int:
        return self.mean.shape[1] + len(self.probabilities)

    def entropy(self) -> PosteriorEntropies:
        """Returns the conditional entropies H(. | x) = sum_n p(n) H(. | x_n) in closed form."""
        return PosteriorEntropies(*(self.weights @ part for part in self.entropy_of_images()))

    def entropy_of_images(self, rows: Int64[Tensor, " row"] | slice = slice(None)) -> PosteriorEntropies:
        """Returns the entropies H(. | x_n) of the images in `rows`."""
        gaussian = self.std[rows].double().log() + _HALF_LOG_TWO_PI_E
        tables = [p[rows].double() for p in self.probabilities]
        each = torch.cat([gaussian, *(-torch.xlogy(p, p).sum(dim=1, keepdim=True) for p in tables)], dim=1)
        joint = each.sum(dim=1)
        if self.covariance is None:
            return PosteriorEntropies(each, joint, joint[:, None] - each)
        # For correlated latents, the joint entropy depends on log det of the covariance, and the variance of a latent
        # given the others is 1 / precision.
        shared = joint - gaussian.sum(dim=1)
        log_det, precision = self._log_det_and_precision(rows)
        joint = shared + 0.5 * log_det + gaussian.shape[1] * _HALF_LOG_TWO_PI_E
        given_others = _HALF_LOG_TWO_PI_E - 0.5 * precision.diagonal(dim1=1, dim2=2).log()
        given_others = torch.cat([given_others, each[:, gaussian.shape[1] :]], dim=1)
        return PosteriorEntropies(each, joint, joint[:, None] - given_others)

    def entropy_of_group(
        self, group: Sequence[int], rows: Int64[Tensor, " row"] | slice = slice(None)
    ) -> Float64[Tensor, " row"]:
        """Returns the joint entropy H(z_group | x_n) of the images in `rows`."""
        each = self.entropy_of_images(rows).each
        if self.covariance is None:
            return each[:, list(group)].sum(dim=1)
        gaussian = [i for i in group if i < self.mean.shape[1]]
        discrete = [i for i in group if i >= self.mean.shape[1]]
        log_det = torch.linalg.slogdet(self.covariance[rows][:, gaussian][:, :, gaussian].double())[1]
        return 0.5 * log_det + len(gaussian) * _HALF_LOG_TWO_PI_E + each[:, discrete].sum(dim=1)

    def draw(
        self,
        image: Int64[Tensor, " draw"],
        noise: Float[Tensor, "draw latent"],
        uniform: Float[Tensor, "draw discrete_latent"],
    ) -> Draws:
        """Draws continuous latents from standard normal noise and categories from uniform numbers."""
        mean, noise = self.mean[image].double(), noise.double()
        if self.covariance is None:
            z = mean + self.std[image].double() * noise
        else:
            z = mean + torch.einsum("dij,dj->di", self._cholesky_factors(image), noise)
        categories = [_category(p[image].double(), uniform[:, k].double()) for k, p in enumerate(self.probabilities)]
        return Draws(z, image, torch.stack(categories, dim=1) if categories else image.new_zeros(len(image), 0))

    @cached_property
    def precision(self) -> Float64[Tensor, "image latent latent"]:
        """Inverse covariance of each image."""
        return self._log_det_and_precision(slice(None))[1]

    @cached_property
    def log_det(self) -> Float64[Tensor, " image"]:
        """Log-determinant of the covariance of each image."""
        return self._log_det_and_precision(slice(None))[0]

    def _log_det_and_precision(self, rows: Int64[Tensor, " row"] | slice) -> tuple[Tensor, Tensor]:
        assert self.covariance is not None
        factor = self._cholesky_factors(rows)
        return 2 * factor.diagonal(dim1=1, dim2=2).log().sum(dim=1), torch.cholesky_inverse(factor)

    def _cholesky_factors(self, rows: Int64[Tensor, " row"] | slice) -> Float64[Tensor, "row latent latent"]:
        """Returns the Cholesky factors of the images in `rows`, computing each factor once."""
        assert self.covariance is not None
        if isinstance(rows, slice):
            return _cholesky(self.covariance[rows])
        images, place = rows.unique(return_inverse=True)
        return _cholesky(self.covariance[images])[place]


def check_std(mean: Float[Tensor, "image latent"], std: Float[Tensor, "image latent"]) -> None:
    """Raises an error if a std is 0, negative, or too small for integration in float64."""
    if mean.shape != std.shape:
        raise CodesError(
            f"std has shape {tuple(std.shape)}; expected {tuple(mean.shape)}, the shape of mean. Pass one std per mean."
        )
    if std.numel() == 0:
        return
    extent = (mean.abs().amax(dim=0) + std.amax(dim=0)).double()
    narrow = std.double().amin(dim=0) <= _MIN_RELATIVE_STD * extent
    if bool(narrow.any()):
        raise CodesError(
            f"The std of latents {narrow.nonzero()[:, 0].tolist()} is 0, negative or too small in some images (minimum "
            f"{float(std.min()):g}, with means up to {float(mean.abs().max()):g}); expected a std above "
            f"{_MIN_RELATIVE_STD:g} times the means. Use the quantized estimator, which supports a std of 0."
        )


def _cholesky(covariance: Float[Tensor, "image latent latent"]) -> Float64[Tensor, "image latent latent"]:
    factor, failed = torch.linalg.cholesky_ex(covariance.double())
    if bool((failed != 0).any()):
        raise CodesError(
            f"The covariances of {int((failed != 0).sum())} of {len(failed)} images are singular or indefinite; "
            "expected positive definite matrices. Pass matrices of full rank, or a std for each latent."
        )
    return factor


def _category(
    probabilities: Float64[Tensor, "draw category"], uniform: Float64[Tensor, " draw"]
) -> Int64[Tensor, " draw"]:
    cumulative = probabilities.cumsum(dim=1)
    reached = (uniform[:, None] * cumulative[:, -1:] >= cumulative).sum(dim=1)
    return reached.clamp(max=probabilities.shape[1] - 1)
