"""Mutual information from nearest neighbors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import scipy
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.information.latent_information import LatentInformation, stacked
from unbraid.metrics.estimators.neighbor_estimator import Estimated, NeighborEstimator
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics

Reads = Literal["draw", "mean"]


@final
@dataclass(frozen=True)
class Neighbors(NeighborEstimator):
    """Compares, around each image, how far its `k` nearest neighbors are with how many images lie within that
    distance.

    Discrete factors: Ross, PLoS ONE 9(2), e87357 (2014). Continuous ones: Kraskov et al., Phys. Rev. E 69, 066138
    (2004), their first estimator, with latent and factor scaled to a variance of 1. It needs no bins and takes
    deterministic codes: it reads one point of each image, the mean where there is no width, else what `reads` says: a
    draw made with `seed` (the first of the draws that the codes carry), or the mean all the same. Where the k nearest
    coincide with the image it counts, as do Gao et al., arXiv:1709.06212v3. Mutual information only: there are no
    entropies of latents. A value that a single image has is left out.
    """

    seed: int = 0
    """Which draw of each posterior is read, and which images, where not all are looked at."""
    reads: Reads = "draw"
    """Which point of a posterior with a width is read: a draw from it, or its mean."""
    num_samples: int | None = None
    """How many images are looked at, at most, drawn at random; without it all."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return frozenset(
            {
                "continuous factors",
                "missing labels",
                "means without std",
                "draws without densities",
                "correlated posteriors",
            }
        )

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples, self.seed)

    def estimate(self, statistics: Statistics) -> Estimated:
        codes = self.seen(statistics).codes
        z = codes.mean.double() if self.reads == "mean" else points(codes, self.seed)
        return neighbor_information(z.split(1, dim=1), codes.factors, self.k)


def points(codes: Codes, seed: int) -> Float64[Tensor, "image latent"]:
    """Returns one point of each posterior: the mean where there is no width, the first of the draws that the codes
    carry, or a draw.
    """
    std = codes.marginal_std
    if std is None:
        return (codes.mean if codes.samples is None else codes.samples[0]).double()
    noise = row_draws.normal(tuple(codes.mean.shape), seed, "neighbours/noise").to(std.device)
    return codes.mean.double() + std.double() * noise


def neighbor_information(
    units: Sequence[Float64[Tensor, "image _dimension"]], factors: Sequence[Labels], k: int
) -> Estimated:
    """Returns what each unit, a latent or a vector of several, says of each factor, and what each image adds to it."""
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


def _deviations(terms: Float64[Tensor, "image ..."]) -> Float64[Tensor, "image ..."]:
    """Returns what each image adds to the average over those that are not NaN."""
    share = (~terms.isnan()).double().mean(dim=0)
    away = terms - terms.nanmean(dim=0)
    return torch.where(away.isnan(), 0.0, away / share)


def _terms(
    units: Sequence[Float64[Tensor, "image _dimension"]], labels: Labels, k: int
) -> Float64[Tensor, "image unit"]:
    """Returns what each image says of the mutual information of each unit with a factor; NaN where it does not
    count.
    """
    z = units[0]
    terms = z.new_full((len(z), len(units)), torch.nan)
    if labels.is_continuous:
        counted = labels.is_known.to(z.device)
        values = labels.values.to(z)
    else:
        values = labels.assignment().to(z.device)
        counted = (values >= 0) & (torch.bincount(values[values >= 0], minlength=1)[values.clamp(min=0)] > 1)
    of_latent = continuous_terms if labels.is_continuous else discrete_terms
    for place, unit in enumerate(units):
        of_unit = of_latent if unit.shape[1] == 1 else vector_terms
        terms[counted, place] = of_unit(unit[counted].squeeze(1), values[counted], k)
    return terms


def _surprise(labels: Labels, z: Float64[Tensor, "image latent"]) -> Float64[Tensor, " image"]:
    """Returns -log p of the value in each image, NaN where it is not known; infinite for a continuous factor that
    varies.
    """
    known, unknown = labels.is_known.to(z.device), torch.full_like(z[:, 0], torch.nan)
    if labels.is_continuous:
        return torch.where(known, math.inf if len(labels.values[labels.is_known].unique()) > 1 else 0.0, unknown)
    values = labels.assignment().to(z.device).clamp(min=0)
    counts = torch.bincount(values[known], minlength=int(values.max()) + 1).double()
    return torch.where(known, (counts.sum() / counts).log()[values], unknown)


def discrete_terms(z: Float64[Tensor, " image"], values: Int[Tensor, " image"], k: int) -> Float64[Tensor, " image"]:
    """Returns what each image says of I(z; v): psi(N) + psi(k) - psi(N_v) - psi(m), for N_v images of its value, of
    which the k-th nearest is as near as m of all images. Each value occurs twice or more.
    """
    around, terms = z.sort().values, torch.zeros_like(z)
    total = z.new_tensor(float(len(z)))
    for value in values.unique():
        own = z[values == value]
        kin = own.sort().values
        radius = _distance_to_neighbor(own, kin, min(k, len(own) - 1))
        inside, everyone = _num_within(own, kin, radius), _num_within(own, around, radius)
        size = total.new_tensor(float(len(own)))
        terms[values == value] = torch.where(
            radius > 0,
            total.digamma() + (inside - 1).digamma() - size.digamma() - (everyone - 1).digamma(),
            (total * inside / size / everyone).log(),
        )
    return terms


def vector_terms(
    z: Float64[Tensor, "image dimension"], values: Int[Tensor, " image"], k: int
) -> Float64[Tensor, " image"]:
    """Returns the same as `discrete_terms` of vectors, by Euclidean distances."""
    points, terms = z.cpu().numpy(), z.new_zeros(len(z))
    around, total = scipy.spatial.KDTree(points), z.new_tensor(float(len(z)))
    slack = 4 * torch.finfo(torch.float64).eps * float(z.abs().max()) * math.sqrt(z.shape[1])
    for value in values.unique():
        own = points[(values == value).cpu().numpy()]
        kin = scipy.spatial.KDTree(own)
        radius = kin.query(own, k=min(k, len(own) - 1) + 1)[0][:, -1]
        inside, everyone = (
            torch.from_numpy(tree.query_ball_point(own, radius + slack, return_length=True)).to(z)
            for tree in (kin, around)
        )
        size = total.new_tensor(float(len(own)))
        terms[values == value] = torch.where(
            torch.from_numpy(radius).to(z) > slack,
            total.digamma() + (inside - 1).digamma() - size.digamma() - (everyone - 1).digamma(),
            (total * inside / size / everyone).log(),
        )
    return terms


def continuous_terms(
    z: Float64[Tensor, " image"], values: Float64[Tensor, " image"], k: int
) -> Float64[Tensor, " image"]:
    """Returns what each image says of I(z; v): psi(N) + psi(k) - psi(n_z) - psi(n_v), where n counts the images, with
    itself, that are nearer in z, or in v, than the k-th neighbor is in the larger of the two.
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


def _distance_to_neighbor(
    z: Float64[Tensor, " image"], ordered: Float64[Tensor, " image"], k: int
) -> Float64[Tensor, " image"]:
    """Returns the distance to the k-th nearest: the least that a run of k + 1 neighbors in order reaches."""
    place = torch.searchsorted(ordered, z)
    first = (place[:, None] - torch.arange(k + 1, device=z.device)).clamp(0, len(ordered) - 1 - k)
    reach = torch.maximum(z[:, None] - ordered[first], ordered[first + k] - z[:, None])
    return reach.amin(dim=1)


def _num_within(
    z: Float64[Tensor, " image"],
    ordered: Float64[Tensor, " other"],
    radius: Float64[Tensor, " image"],
    *,
    strictly: bool = False,
) -> Float64[Tensor, " image"]:
    """Returns how many of `ordered` lie within the radius, each image itself among them. What differs by rounding
    coincides.
    """
    slack = 4 * torch.finfo(torch.float64).eps * ordered.abs().max()
    reach = torch.where(radius > 0, radius - slack, slack) if strictly else radius + slack
    found = torch.searchsorted(ordered, z + reach, right=True) - torch.searchsorted(ordered, z - reach)
    return found.double().clamp(min=1)
