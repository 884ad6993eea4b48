"""Weighted sum of terms of the other objectives."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from unbraid._internal.amounts import listed
from unbraid.config.schedule import Weight, extremes
from unbraid.errors import SpecError
from unbraid.information.aggregate import Estimator
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.anchor_vae import anchor_information, check_anchors
from unbraid.objectives.decomposed_elbo import (
    Groups,
    advice_on_parts,
    check_estimator,
    check_groups,
    constant_of,
    elbo_parts,
    rate_weight_of_parts,
    trained_and_logged,
)
from unbraid.objectives.dip_vae import DIPVAE
from unbraid.objectives.factor_vae import FactorVAE, estimated_total_correlation, loss_of_critic
from unbraid.objectives.objective import CriticReads, Loss, Objective, Shapes, Step, check_rate, check_weights
from unbraid.objectives.terms.covariance import covariance_of_batch, squared_distances_from_identity
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice, suggest


@dataclass(frozen=True, kw_only=True)
class Composite(Objective):
    """Weighted sum of terms of the other objectives: distortion + sum of weight times term. By default, the VAE.

    `rate`, `mutual_information`, `total_correlation`, `total_correlation_within` and `dimension_wise_kl` are the
    weights of the terms of `DecomposedELBO`, with its `groups` and `estimator`. Each other term needs a setting:

    - `anchor_information`, the weight of I(x; z_a) as in `AnchorVAE`, needs `anchors`. A negative weight increases it.
    - `capacity_distance`, the weight of |KL - capacity| as in `AnnealedVAE`, needs `capacity`.
    - `off_diagonal` and `diagonal`, the weights of the penalties of `DIPVAE`, need `covariance`.
    - `critic_total_correlation`, the weight of the estimate as in `FactorVAE`, needs `critic`.

    Weights may be negative. The loss may then be unbounded below, which is not checked.
    """

    rate: Weight = 1.0
    """Weight of KL(q(z|x) || p(z))."""
    mutual_information: Weight = 0.0
    """Weight of the mutual information of image and code."""
    total_correlation: Weight = 0.0
    """Weight of the total correlation between groups."""
    total_correlation_within: Weight = 0.0
    """Weight of the total correlation within groups."""
    dimension_wise_kl: Weight = 0.0
    """Weight of the dimension-wise KL."""
    anchor_information: Weight = 0.0
    """Weight of I(x; z_a) of the anchors; a negative weight increases the information."""
    capacity_distance: Weight = 0.0
    """Weight of |KL - capacity|."""
    off_diagonal: Weight = 0.0
    """Weight of the squared covariances."""
    diagonal: Weight = 0.0
    """Weight of the squared distances of the variances from 1."""
    critic_total_correlation: Weight = 0.0
    """Weight of the total correlation estimated by a critic."""
    groups: Groups = "each"
    """Groups of latent indices, "each" for single latents, or "model" for the groups of the model's latents."""
    estimator: Estimator = "stratified_pairs"
    """Estimator of q(z) from a batch."""
    anchors: tuple[int, ...] = ()
    """Indices of the latents z_a of anchor_information."""
    capacity: Weight | None = None
    """Target of the KL in capacity_distance, in nats."""
    covariance: Literal["i", "ii"] | None = None
    """Covariance of the means (i) or of the codes (ii), for off_diagonal and diagonal."""
    critic: bool = False
    """Whether to train a critic, for critic_total_correlation."""
    same_batch: bool = False
    """Whether to permute codes of the same batch for the critic, instead of codes of a second batch."""

    critic_outputs: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self, least=-math.inf)
        if self.is_bound:
            return
        if self.capacity is not None and extremes(self.capacity)[0] < 0:
            raise SpecError(f"Composite: capacity is {self.capacity}; expected a number or schedule >= 0, in nats.")
        self._check_switch("anchor_information", "anchors=(0,), or other latents", is_on=self.anchors != ())
        self._check_switch("capacity_distance", "capacity=25.0, or another target", is_on=self.capacity is not None)
        for name in ("off_diagonal", "diagonal"):
            switch = 'covariance="i" (of the means) or "ii" (of the codes)'
            self._check_switch(name, switch, is_on=self.covariance is not None)
        self._check_switch("critic_total_correlation", "critic=True", is_on=self.critic)

    @property
    def critic_reads(self) -> CriticReads | None:
        return "codes" if self.critic else None

    @property
    def needs_other_batch(self) -> bool:
        return self.critic and not self.same_batch

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        check_groups(self, self.groups, model)
        check_anchors(self, self.anchors, model)
        if self.covariance is not None:
            DIPVAE(kind=self.covariance).check(model)
        if self.critic:
            FactorVAE().check(model)

    def draw_shapes(self, batch_size: int, model: Autoencoder, image_shape: ImageShape) -> Shapes:
        return FactorVAE().draw_shapes(batch_size, model, image_shape) if self.critic else {}

    def check_image_weights(self) -> None:
        check_estimator(self.estimator)

    def weight_advice(self) -> WeightAdvice:
        switches = {"critic_total_correlation": self.critic, "off_diagonal": self.covariance is not None}
        independence = next((name for name, is_on in switches.items() if is_on), "total_correlation")
        advice = advice_on_parts(self, independence)
        if self.capacity is None or self.rate != 0:
            return advice
        return replace(advice, less_rate=suggest(self, "capacity", 2), more_rate=suggest(self, "capacity", 0.5))

    def rate_weight(self) -> RateWeight:
        switches = {
            "anchors with little information": self.anchors != (),
            "the distance of the rate from a capacity": self.capacity is not None,
            "the covariances of the latents": self.covariance is not None,
            "the total correlation that a critic estimates": self.critic,
        }
        others = [term for term, is_on in switches.items() if is_on]
        return RateWeight.beside(listed(others), extremes(self.rate)[1]) if others else rate_weight_of_parts(self)

    def __call__(self, step: Step) -> Loss:
        trained, logged = trained_and_logged(step, self.estimator, self.groups)
        parts = elbo_parts(step, logged, grouped=self.groups != "each")
        rate, logged_step = step.rate(), step.as_logged()
        extra = self._extra_terms(step, rate)
        logged_extra = extra if logged_step is step else self._extra_terms(logged_step, logged_step.rate())
        total = (
            parts["distortion"]
            + self.rate * rate
            + self.mutual_information * trained.mutual_information.mean()
            + self.total_correlation * trained.total_correlation.mean()
            + self.total_correlation_within * trained.total_correlation_within.mean()
            + self.dimension_wise_kl * trained.dimension_wise_kl.mean()
        )
        for name, term in extra.items():
            total = total + getattr(self, name) * term
        critic = loss_of_critic(step) if self.critic else None
        weights = self.mutual_information, self.total_correlation, self.total_correlation_within, self.dimension_wise_kl
        constant = constant_of(step, self.estimator, self.groups, weights)
        return Loss(total=total, parts=parts | logged_extra, critic=critic, constant=constant)

    def _extra_terms(self, step: Step, rate: Float[Tensor, ""]) -> dict[str, Float[Tensor, ""]]:
        """Returns the terms that need a setting, as a dictionary from the name of the weight to the term."""
        terms: dict[str, Float[Tensor, ""]] = {}
        if self.anchors:
            terms["anchor_information"] = anchor_information(step, self.anchors)
        if self.capacity is not None:
            terms["capacity_distance"] = (rate - self.capacity).abs()
        if self.covariance is not None:
            covariance = covariance_of_batch(step.posterior, self.covariance)
            terms["off_diagonal"], terms["diagonal"] = squared_distances_from_identity(covariance)
        if self.critic:
            terms["critic_total_correlation"] = estimated_total_correlation(step)
        return terms

    def _check_switch(self, name: str, switch: str, *, is_on: bool) -> None:
        if not is_on and extremes(getattr(self, name)) != (0.0, 0.0):
            raise SpecError(
                f"Composite: {name} is {getattr(self, name)}; its term needs another setting. Pass {switch}."
            )
