"""Metrics of what each latent says by itself and together with the others."""

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
from unbraid.metrics.reductions.sampled_entropies import SampledEntropies, sampled_entropies
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import SampledMetric, labels_aside


@final
@dataclass(frozen=True)
class Terms:
    """Holds I(x, z_i), I(x, z), I(x, z_not_i) and I(z_i, z_not_i), in nats."""

    each: Tensor
    joint: Tensor
    without: Tensor
    separability: Tensor

    @classmethod
    def of(cls, averages: Averages, *, clip: bool = False) -> "Terms":
        """Returns the terms from entropies. With `clip` none counts as less than 0, as in Do & Tran's code; a noisy
        estimate may be less.
        """
        each = averages["each"] - averages["each_given_image"]
        joint = averages["joint"] - averages["joint_given_image"]
        without = averages["without"] - averages["without_given_image"]
        separability = averages["each"] + averages["without"] - averages["joint"]
        found = (each, joint, without, separability)
        return cls(*(part.clamp(min=0) for part in found)) if clip else cls(*found)

    def shares(self) -> Tensor:
        """Returns rho_i = I(x, z_i) / sum_j I(x, z_j), from what is above 0; all 0 if nothing is."""
        positive = self.each.clamp(min=0)
        total = positive.sum()
        return torch.where(total > 0, positive / torch.where(total > 0, total, 1.0), 0.0)


@dataclass(frozen=True)
class SeparationMetric(SampledMetric):
    """A metric computed from `Terms`.

    `density_floor` is None, but for comparison with Do & Tran's code, which takes no density for less than 1e-8 and
    clips every information at 0: with more than about 15 latents that is an artifact, their Fig. 19. It needs
    conditional="mc", as their code has it.
    """

    density_floor: float | None = None
    """Smaller densities count as this one, as in Do & Tran's code; none for no such limit."""

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
        """Returns the terms, clipped at 0 where the densities are floored."""
        return Terms.of(averages, clip=self.density_floor is not None)

    @final
    def sampled(self, statistics: Statistics, groups: Groups | None = None) -> SampledEntropies:
        """Returns the entropies, with floors if asked for; of these groups in place of those of the codes, if given."""
        return sampled_entropies(statistics, self.estimator, self.conditional, self.density_floor, groups)


@dataclass(frozen=True)
class WeightedSeparation(SeparationMetric):
    """A number for each latent, averaged with the weights rho_i = I(x, z_i) / sum_j I(x, z_j); parts "NAME@k" are means
    of the k largest.

    `normalize_bins` divides each by H(z_i) in so many bins from -4 to 4, whose own error the interval leaves out.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    needs_factors: ClassVar[bool] = False

    normalize_bins: int | None = None
    """Bins from -4 to 4, whose entropy each number is divided by; none to leave them in nats."""

    @abstractmethod
    def of_latents(self, terms: Terms) -> Tensor:
        """Returns the number of each latent, in nats."""

    @abstractmethod
    def tables_of(self, terms: Terms) -> dict[str, Tensor]:
        """Returns what it was computed from, beside I(x, z_i)."""

    @final
    def entropies(self, statistics: Statistics) -> SampledEntropies:
        return with_normalizer(self.sampled(statistics), statistics, self.normalize_bins)

    @final
    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        terms = self.terms(averages)
        per_latent = normalized(self.of_latents(terms), averages)
        return {
            "value": terms.shares() @ per_latent,
            **ranked_means(per_latent, type(self).__name__),
            "per_latent": per_latent,
            "shares": terms.shares(),
            "informativeness": terms.each,
            **self.tables_of(terms),
        }


def ranked_means(per_latent: Tensor, name: str) -> dict[str, Tensor]:
    """Returns the mean of the k largest, for every k, as "NAME@k"."""
    ranked = per_latent.sort(descending=True).values
    means = ranked.cumsum(dim=0) / torch.arange(1, len(ranked) + 1, device=ranked.device)
    return {f"{name}@{k}": mean for k, mean in enumerate(means, start=1)}


def with_normalizer(entropies: SampledEntropies, statistics: Statistics, num_bins: int | None) -> SampledEntropies:
    """Returns the entropies with H(z_i) quantized in `num_bins` bins from -4 to 4, to divide by (taken as known); as
    they are if `num_bins` is None.
    """
    if num_bins is None:
        return entropies
    return entropies.with_constant("normalizer", Quantized(num_bins).information(labels_aside(statistics)).entropy)


def normalized(per_latent: Tensor, averages: Averages) -> Tensor:
    """Returns the numbers divided by the normalizer, if there is one; 0 for a latent that never leaves its bin."""
    if "normalizer" not in averages:
        return per_latent
    positive = averages["normalizer"] > 0
    return torch.where(positive, per_latent / torch.where(positive, averages["normalizer"], 1.0), 0.0)


def check_floor(name: str, density_floor: float | None, conditional: str) -> None:
    """Raises if the floor is not a finite number above 0, or if H(. | x) is in closed form, which knows no floors."""
    if density_floor is None:
        return
    if not (math.isfinite(density_floor) and density_floor > 0):
        raise SpecError(
            f"{name}: density_floor is {density_floor}; expected a number above 0 (Do & Tran's code has 1e-8), or "
            "None for no floor."
        )
    if conditional != "mc":
        raise SpecError(
            f"{name}: density_floor is for Do & Tran's numbers, whose H(z | x) is averaged over draws. Add "
            "conditional='mc'."
        )
