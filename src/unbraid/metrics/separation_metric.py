"""Base classes of metrics of the information in single latents and in all latents together."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta_method import Averages
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.estimators.sampled import Groups
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import SampledEntropies, SampledMetric, labels_aside, sampled_entropies


@final
@dataclass(frozen=True)
class Terms:
    """Information terms I(x, z_i), I(x, z), I(x, z_not_i) and I(z_i, z_not_i), in nats."""

    each: Tensor
    joint: Tensor
    without: Tensor
    separability: Tensor

    @classmethod
    def of(cls, averages: Averages, *, clip: bool = False) -> "Terms":
        """Computes the terms from entropies.

        With `clip`, negative terms, which are due to noise, are set to 0, as in Do & Tran's code.
        """
        each = averages["each"] - averages["each_given_image"]
        joint = averages["joint"] - averages["joint_given_image"]
        without = averages["without"] - averages["without_given_image"]
        separability = averages["each"] + averages["without"] - averages["joint"]
        found = (each, joint, without, separability)
        return cls(*(part.clamp(min=0) for part in found)) if clip else cls(*found)

    def shares(self) -> Tensor:
        """Returns rho_i = I(x, z_i) / sum_j I(x, z_j), where negative terms are set to 0; 0 if no term is positive."""
        positive = self.each.clamp(min=0)
        total = positive.sum()
        return torch.where(total > 0, positive / torch.where(total > 0, total, 1.0), 0.0)


@dataclass(frozen=True)
class SeparationMetric(SampledMetric):
    """Base class of metrics computed from `Terms`.

    `density_floor` is for comparison with Do & Tran's code, which clips densities to at least 1e-8 and information to
    at least 0. With more than about 15 latents, this floor causes the artifact in their Fig. 19. A floor requires
    conditional="mc".
    """

    density_floor: float | None = None
    """Minimum density, as in Do & Tran's code; None for no minimum."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_floor(type(self).__name__, self.density_floor, self.conditional)

    @property
    @final
    def accepts(self) -> frozenset[Feature]:
        everything = super().accepts
        return everything if self.density_floor is None else everything - {"correlated posteriors", "discrete latents"}

    @final
    def terms(self, averages: Averages) -> Terms:
        """Computes the terms, clipped to at least 0 if there is a density floor."""
        return Terms.of(averages, clip=self.density_floor is not None)

    @final
    def sampled(self, statistics: Statistics, groups: Groups | None = None) -> SampledEntropies:
        """Estimates the entropies, with `groups` of latents, by default the groups of the codes."""
        return sampled_entropies(statistics, self.estimator, self.conditional, self.density_floor, groups)


@dataclass(frozen=True)
class WeightedSeparation(SeparationMetric):
    """Base class of weighted means of a quantity per latent, with the weights rho_i = I(x, z_i) / sum_j I(x, z_j).

    The parts "NAME@k" are means of the k largest values.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    needs_factors: ClassVar[bool] = False

    normalize_bins: int | None = None
    """Number of bins from -4 to 4 for H(z_i), by which each value is divided; None for values in nats."""

    @abstractmethod
    def of_latents(self, terms: Terms) -> Tensor:
        """Returns the quantity of each latent, in nats."""

    @abstractmethod
    def tables_of(self, terms: Terms) -> dict[str, Tensor]:
        """Returns additional tables by name."""

    @final
    def entropies(self, statistics: Statistics) -> SampledEntropies:
        entropies = self.sampled(statistics)
        if self.normalize_bins is None:
            return entropies
        binned = Quantized(self.normalize_bins).information(labels_aside(statistics))
        return entropies.with_constant("normalizer", binned.entropy)

    @final
    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        terms = self.terms(averages)
        per_latent = self.of_latents(terms)
        if "normalizer" in averages:
            # The value of a latent with only one occupied bin is 0.
            positive = averages["normalizer"] > 0
            per_latent = torch.where(positive, per_latent / torch.where(positive, averages["normalizer"], 1.0), 0.0)
        ranked = per_latent.sort(descending=True).values
        means = ranked.cumsum(dim=0) / torch.arange(1, len(ranked) + 1, device=ranked.device)
        return {
            "value": terms.shares() @ per_latent,
            **{f"{type(self).__name__}@{k}": mean for k, mean in enumerate(means, start=1)},
            "per_latent": per_latent,
            "shares": terms.shares(),
            "informativeness": terms.each,
            **self.tables_of(terms),
        }


def check_floor(name: str, density_floor: float | None, conditional: str) -> None:
    """Raises SpecError unless the floor is a finite number > 0 and conditional is "mc"."""
    if density_floor is None:
        return
    if not (math.isfinite(density_floor) and density_floor > 0):
        raise SpecError(
            f"{name}: density_floor is {density_floor}; expected a finite number > 0, or None. Pass e.g. 1e-8, as in "
            "Do & Tran's code."
        )
    if conditional != "mc":
        raise SpecError(f"{name}: conditional is {conditional!r}; expected 'mc' with a density_floor. Pass 'mc'.")
