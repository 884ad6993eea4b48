"""Mutual information from nearest neighbors."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, Self, final

import scipy
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.information.latent_information import LatentInformation, stacked
from unbraid.metrics.estimators.estimator import Deviations, Estimator
from unbraid.metrics.metric import Feature, Score
from unbraid.metrics.reductions.statistics import Statistics

Reads = Literal["draw", "mean"]
Estimated = tuple[LatentInformation, tuple[Deviations, ...]]
"""The information of each unit about each factor, and the influence of each image on this information."""

Counter = Callable[[Tensor, int], tuple[Tensor, Tensor, Tensor]]
"""A function of a subset of the points and k. It returns whether the distance of each point to its k-th nearest
neighbor in the subset is above 0, and the numbers of points in the subset and of all points within this distance."""

_MAX_SHARE_OF_FEW = 0.05


@dataclass(frozen=True)
class NeighborEstimator(Estimator):
    """Base class of estimators from the `k` nearest neighbors of each image."""

    has_entropies: ClassVar[bool] = False
    units: ClassVar[str] = "nearest neighbors"
    k: int = 3
    """Number of nearest neighbors of an image."""

    @abstractmethod
    def estimate(self, statistics: Statistics) -> Estimated:
        """Returns the information and its deviations."""

    @property
    def resolution(self) -> int:
        return self.k

    def finer(self) -> Self | None:
        return None if self.k == 1 else replace(self, k=self.k // 2)

    def sample(self, statistics: Statistics) -> Statistics:
        """Returns all images, because a sample may contain an image twice, which would be its own nearest neighbor."""
        return statistics

    def information(self, statistics: Statistics) -> LatentInformation:
        return statistics.once(self, partial(self.estimate, statistics))[0]

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        return statistics.once(self, partial(self.estimate, statistics))[1]

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score, with a note if many images have fewer than `k` candidate neighbors."""
        codes = self.seen(statistics).codes
        few = [labels.name for labels in codes.factors if _share_of_few(labels, self.k) > _MAX_SHARE_OF_FEW]
        if not few:
            return score
        note = (
            f"k is {self.k}, but many images have fewer than k other images with the same value of {', '.join(few)}; "
            "all of these images were used. Use a smaller k, or more images."
        )
        return replace(score, notes=(*score.notes, note))


@final
@dataclass(frozen=True)
class Neighbors(NeighborEstimator):
    """Nearest-neighbor estimator of mutual information, without bins and also for deterministic codes.

    Discrete factors: Ross, PLoS ONE 9(2), e87357 (2014). Continuous factors: the first estimator of Kraskov et al.,
    Phys. Rev. E 69, 066138 (2004), with latent and factor scaled to a variance of 1. If the distance to the k-th
    neighbor is 0, points are counted as in Gao et al., arXiv:1709.06212v3. Values with a single image are left out.
    """

    accepts: ClassVar[frozenset[Feature]] = frozenset(
        {
            "continuous factors",
            "missing labels",
            "means without std",
            "draws without densities",
            "correlated posteriors",
        }
    )

    seed: int = 0
    """Seed of the draws, and of the selection of images if there are more than num_samples."""
    reads: Reads = "draw"
    """Point of each posterior: a draw, or the mean."""
    num_samples: int | None = None
    """Maximum number of images, drawn at random; None for all."""

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples, self.seed)

    def estimate(self, statistics: Statistics) -> Estimated:
        codes = self.seen(statistics).codes
        z = codes.mean.double() if self.reads == "mean" else points(codes, self.seed)
        return neighbor_information(z.split(1, dim=1), codes.factors, self.k)


def points(codes: Codes, seed: int) -> Float64[Tensor, "image latent"]:
    """Returns one point of each posterior: a new draw, or without a std the first draw of the codes or the mean."""
    std = codes.marginal_std
    if std is None:
        return (codes.mean if codes.samples is None else codes.samples[0]).double()
    noise = row_draws.randn(tuple(codes.mean.shape), seed, "neighbours/noise").to(std.device)
    return codes.mean.double() + std.double() * noise


def neighbor_information(
    units: Sequence[Float64[Tensor, "image _dimension"]], factors: Sequence[Labels], k: int
) -> Estimated:
    """Returns the information of each unit about each factor, with its deviations. A unit is one or more latents."""
    z = units[0]
    surprises = stacked([_surprise(labels, z) for labels in factors], z[:, 0:0])
    terms = stacked([_terms(units, labels, k) for labels in factors], z.new_zeros(len(z), len(units), 0))
    averages, none = (surprises.nanmean(dim=0), terms.nanmean(dim=0)), z.new_full((len(units),), torch.nan)
    found = LatentInformation(
        entropy=none,
        entropy_given_image=none,
        factor_entropy=averages[0],
        joint_entropy=torch.full_like(averages[1], torch.nan),
        mutual_information=averages[1],
        entropy_given_value=torch.full_like(averages[1], torch.nan),
        num_values=stacked([z.new_tensor(float(len(f.values[f.is_known].unique()))) for f in factors], none[:0]),
    )
    deviations = {"factor_entropy": _deviations(surprises), "mutual_information": _deviations(terms)}
    return found, ((deviations, float(len(z))),)


def _share_of_few(labels: Labels, k: int) -> float:
    """Returns the fraction of images with fewer than `k` candidate neighbors.

    Candidates are all other images for a continuous factor, and the other images with the same value for a discrete
    factor.
    """
    known = labels.is_known
    if labels.is_continuous:
        return float(int(known.sum()) <= k)
    values = labels.assignment()
    sizes = torch.bincount(values[values >= 0])
    return float(sizes[sizes <= k].sum() / sizes.sum())


def _deviations(terms: Float64[Tensor, "image ..."]) -> Float64[Tensor, "image ..."]:
    """Returns the influence of each image on the average over the terms that are not NaN."""
    share = (~terms.isnan()).double().mean(dim=0)
    away = terms - terms.nanmean(dim=0)
    return torch.where(away.isnan(), 0.0, away / share)


def _terms(
    units: Sequence[Float64[Tensor, "image _dimension"]], labels: Labels, k: int
) -> Float64[Tensor, "image unit"]:
    """Returns the term of each image in the mutual information of each unit and a factor; NaN for excluded images."""
    z = units[0]
    terms = z.new_full((len(z), len(units)), torch.nan)
    if labels.is_continuous:
        counted = labels.is_known.to(z.device)
        values = labels.values.to(z)
    else:
        values = labels.assignment().to(z.device)
        counted = (values >= 0) & (torch.bincount(values[values >= 0], minlength=1)[values.clamp(min=0)] > 1)
    for place, unit in enumerate(units):
        if labels.is_continuous:
            terms[counted, place] = _continuous_terms(unit[counted].squeeze(1), values[counted], k)
        else:
            terms[counted, place] = discrete_terms(unit[counted], values[counted], k)
    return terms


def _surprise(labels: Labels, z: Float64[Tensor, "image latent"]) -> Float64[Tensor, " image"]:
    """Returns -log p of the value of each image: NaN if unknown, and infinite for a continuous factor that varies."""
    known, unknown = labels.is_known.to(z.device), torch.full_like(z[:, 0], torch.nan)
    if labels.is_continuous:
        return torch.where(known, math.inf if len(labels.values[labels.is_known].unique()) > 1 else 0.0, unknown)
    values = labels.assignment().to(z.device).clamp(min=0)
    counts = torch.bincount(values[known], minlength=int(values.max()) + 1).double()
    return torch.where(known, (counts.sum() / counts).log()[values], unknown)


def discrete_terms(
    z: Float64[Tensor, "image dimension"], values: Int[Tensor, " image"], k: int
) -> Float64[Tensor, " image"]:
    """Returns the terms psi(N) + psi(k) - psi(N_v) - psi(m) of I(z; v), where N_v images have the value v.

    m is the number of images within the Euclidean distance to the k-th nearest neighbor with the same value. Each value
    must occur at least twice.
    """
    terms, total = z.new_zeros(len(z)), z.new_tensor(float(len(z)))
    count = _counter_on_a_line(z) if z.shape[1] == 1 else _counter_in_space(z)
    for value in values.unique():
        own = z[values == value]
        is_positive, inside, everyone = count(own, min(k, len(own) - 1))
        size = total.new_tensor(float(len(own)))
        terms[values == value] = torch.where(
            is_positive,
            total.digamma() + (inside - 1).digamma() - size.digamma() - (everyone - 1).digamma(),
            (total * inside / size / everyone).log(),
        )
    return terms


def _counter_on_a_line(z: Float64[Tensor, "image 1"]) -> Counter:
    """Returns a counter for scalar latents, which uses sorting."""
    around = z[:, 0].sort().values

    def count(own: Float64[Tensor, "own 1"], k: int) -> tuple[Tensor, Tensor, Tensor]:
        own = own[:, 0]
        ordered = own.sort().values
        # The distance to the k-th neighbor is the minimum over k + 1 consecutive sorted points that include the point.
        place = torch.searchsorted(ordered, own)
        first = (place[:, None] - torch.arange(k + 1, device=z.device)).clamp(0, len(ordered) - 1 - k)
        radius = torch.maximum(own[:, None] - ordered[first], ordered[first + k] - own[:, None]).amin(dim=1)
        return radius > 0, _num_within(own, ordered, radius), _num_within(own, around, radius)

    return count


def _counter_in_space(z: Float64[Tensor, "image dimension"]) -> Counter:
    """Returns a counter for vectors, which uses k-d trees."""
    around = scipy.spatial.KDTree(z.cpu().numpy())
    slack = 4 * torch.finfo(torch.float64).eps * float(z.abs().max()) * math.sqrt(z.shape[1])

    def count(own: Float64[Tensor, "own dimension"], k: int) -> tuple[Tensor, Tensor, Tensor]:
        points = own.cpu().numpy()
        of_own = scipy.spatial.KDTree(points)
        radius = of_own.query(points, k=k + 1)[0][:, -1]
        inside, everyone = (
            torch.from_numpy(tree.query_ball_point(points, radius + slack, return_length=True)).to(z)
            for tree in (of_own, around)
        )
        return torch.from_numpy(radius).to(z) > slack, inside, everyone

    return count


def _continuous_terms(
    z: Float64[Tensor, " image"], values: Float64[Tensor, " image"], k: int
) -> Float64[Tensor, " image"]:
    """Returns the terms psi(N) + psi(k) - psi(n_z) - psi(n_v) of I(z; v).

    The distance to the k-th neighbor is the maximum of the distances in z and in v. n_z and n_v are the numbers of
    images, including the image itself, that are closer than this distance in z and in v.
    """
    if len(z) < 2:
        return torch.full_like(z, torch.nan)
    both = [part / std if (std := part.std(correction=0)) > 0 else part for part in (z, values)]
    points = torch.stack(both, dim=1).cpu().numpy()
    tree, k = scipy.spatial.KDTree(points), min(k, len(z) - 1)
    radius = torch.from_numpy(tree.query(points, k=k + 1, p=math.inf)[0][:, -1]).to(z)
    joint = torch.full_like(z, float(k))
    if bool((same := radius == 0).any()):
        here = tree.query_ball_point(points[same.cpu().numpy()], 0.0, p=math.inf, return_length=True)
        joint[same] = torch.from_numpy(here).to(z)
    first, second = (_num_within(part, part.sort().values, radius, strictly=True) for part in both)
    total = z.new_tensor(float(len(z)))
    return torch.where(
        same,
        (total * joint / first / second).log(),
        total.digamma() + joint.digamma() - first.digamma() - second.digamma(),
    )


def _num_within(
    z: Float64[Tensor, " image"],
    ordered: Float64[Tensor, " other"],
    radius: Float64[Tensor, " image"],
    *,
    strictly: bool = False,
) -> Float64[Tensor, " image"]:
    """Returns the number of points in `ordered` within the radius of each image, including the image itself.

    Distances that differ by rounding errors are treated as equal.
    """
    slack = 4 * torch.finfo(torch.float64).eps * ordered.abs().max()
    reach = torch.where(radius > 0, radius - slack, slack) if strictly else radius + slack
    found = torch.searchsorted(ordered, z + reach, right=True) - torch.searchsorted(ordered, z - reach)
    return found.double().clamp(min=1)
