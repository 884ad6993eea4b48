"""Gap of Lemma 2: whether latents contain isolated information."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.delta_method import Averages
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import SampledEntropies, SampledMetric, sampled_entropies
from unbraid.metrics.settings import check_seed

_LEFT = "left side: "


@final
@dataclass(frozen=True)
class Lemma2Gap(SampledMetric):
    """I(x, z_S) - sum_i I(x, z_i) over latents i of a subset S, in nats (Lemma 2 of the split-encoder paper, eq. 6).

    The gap equals E_x KL(q(z_S|x) || prod_i q(z_i|x)) - KL(q(z_S) || prod_i q(z_i)), and is 0 if the latents of S
    contain isolated information. The paper is an anonymous submission to ICLR 2020. S is a subset of the latents, by
    default all. The part "posterior_dependence" is the first term, which is computed from the covariances and is 0 for
    uncorrelated posteriors. The part "minus_total_correlation" is the second term with its sign. The terms may cancel,
    so check both parts. `per_latent` is the error of eq. 3 and 4 (Lemma 1), I(x, z_j | z_S-j) - I(x, z_j), where S-j is
    S without j.
    """

    latents: tuple[int, ...] = ()
    """Indices of the latents of S; empty for all."""
    left_side_seed: int | None = None
    """Seed of independent draws for the part "left_side"; None to omit this part."""

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    quantity: ClassVar[str] = "gap of Lemma 2"
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.latents)) < len(self.latents):
            raise SpecError(f"Lemma2Gap: latents is {self.latents}; expected different latents. Remove duplicates.")
        object.__setattr__(self, "latents", tuple(sorted(self.latents)))
        if self.left_side_seed is not None:
            check_seed("Lemma2Gap: left_side_seed", self.left_side_seed)
            if self.left_side_seed == self.estimator.seed:
                raise SpecError(
                    f"Lemma2Gap: left_side_seed is {self.left_side_seed}; expected a seed other than the estimator's, "
                    "because both sides need independent draws. Pass another seed."
                )

    def entropies(self, statistics: Statistics) -> SampledEntropies:
        num_latents = statistics.codes.num_latents
        chosen = self.latents or tuple(range(num_latents))
        part = statistics.of_latents(chosen)
        found = sampled_entropies(part, self.estimator, self.conditional)
        if self.left_side_seed is not None:
            other = replace(self.estimator, seed=self.left_side_seed)
            found = found.beside(sampled_entropies(part, other, self.conditional), _LEFT)
        is_chosen = statistics.weights.new_zeros(num_latents)
        is_chosen[list(chosen)] = 1
        return found.with_constant("is_chosen", is_chosen)

    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        # Below 1e-12 nats, the dependence is the rounding error between the sum over latents and the joint entropy.
        dependence = averages["each_given_image"].sum() - averages["joint_given_image"]
        dependence = torch.where(dependence.abs() < 1e-12, 0.0 * dependence, dependence)
        total_correlation = averages["each"].sum() - averages["joint"]
        each, joint, without = _information(averages)
        found = {
            "value": dependence - total_correlation,
            "posterior_dependence": dependence,
            "minus_total_correlation": -total_correlation,
            "per_latent": _among_all(joint - without - each, averages["is_chosen"]),
            "informativeness": _among_all(each, averages["is_chosen"]),
            "joint_informativeness": joint[None],
        }
        if f"{_LEFT}joint" in averages:
            each, joint, _ = _information(averages, _LEFT)
            found |= {"left_side": joint - each.sum(), "difference": found["value"] - (joint - each.sum())}
        return found


def _information(averages: Averages, of: str = "") -> tuple[Tensor, Tensor, Tensor]:
    """Returns I(x, z_i), I(x, z_S) and I(x, z_S-i) for all latents i of S."""
    each, joint, without = (
        averages[f"{of}{name}"] - averages[f"{of}{name}_given_image"] for name in ("each", "joint", "without")
    )
    return each, joint, without


def _among_all(values: Tensor, is_chosen: Tensor) -> Tensor:
    """Expands values of the latents of S to all latents, with NaN for latents outside S."""
    return torch.full_like(is_chosen, math.nan).masked_scatter(is_chosen > 0, values)
