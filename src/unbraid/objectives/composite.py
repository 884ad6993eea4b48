"""A weighted sum of most terms of the other objectives."""

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
    check_estimator,
    check_groups,
    constant_of,
    elbo_parts,
    levers_of_parts,
    price_of_parts,
    trained_and_logged,
)
from unbraid.objectives.dip_vae import DIPVAE
from unbraid.objectives.factor_vae import FactorVAE, estimated_total_correlation, loss_of_critic
from unbraid.objectives.levers import Levers, RatePrice, moved
from unbraid.objectives.objective import CriticReads, Loss, Objective, Shapes, Step, check_rate, check_weights
from unbraid.objectives.terms.covariance import covariance_of_batch, squared_distances_from_identity


@dataclass(frozen=True, kw_only=True)
class Composite(Objective):
    """distortion + the sum of weight times term, over the terms below. By default, the VAE.

    `rate`, `mutual_information`, `total_correlation`, `total_correlation_within` and `dimension_wise_kl` are the
    weights of the terms of `DecomposedELBO`, with its `groups` and `estimator`. The other terms need a setting. With
    `anchors`: `anchor_information`, the I(x; z_a) of `AnchorVAE`; a negative weight rewards it. With a `capacity`:
    `capacity_distance`, the |KL - capacity| of `AnnealedVAE`. With a `covariance` of kind "i" or "ii": `off_diagonal`
    and `diagonal`, those of `DIPVAE` on the batch. With the `critic`: `critic_total_correlation`, as in `FactorVAE`. A
    weight may be negative; whether the sum is then bounded below is not checked.
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
    """Weight of I(x; z_a) of the anchors; negative weights reward it."""
    capacity_distance: Weight = 0.0
    """Weight of |KL - capacity|."""
    off_diagonal: Weight = 0.0
    """Weight of the squared covariances."""
    diagonal: Weight = 0.0
    """Weight of the squared distances of the variances from 1."""
    critic_total_correlation: Weight = 0.0
    """Weight of the total correlation estimated by a critic."""
    groups: Groups = "each"
    """Groups of latent indices; or "each" for single latents; or "model" for the groups of the model's latents."""
    estimator: Estimator = "stratified_pairs"
    """Estimator of q(z) from a batch."""
    anchors: tuple[int, ...] = ()
    """Indices of the latents of anchor_information."""
    capacity: Weight | None = None
    """Target of the KL in capacity_distance, in nats."""
    covariance: Literal["i", "ii"] | None = None
    """The covariance of the means (i) or of the codes (ii), for off_diagonal and diagonal."""
    critic: bool = False
    """Whether to train a critic, for critic_total_correlation."""
    same_batch: bool = False
    """Whether the critic reads the permuted codes of the batch itself."""

    critic_outputs: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self, least=-math.inf)
        if self.is_bound:
            return
        if self.capacity is not None and extremes(self.capacity)[0] < 0:
            raise SpecError(f"Composite: capacity is {self.capacity}; expected nats, 0 or more at every moment.")
        self._check_switch("anchor_information", "anchors=(0,), or other latents", is_on=self.anchors != ())
        self._check_switch("capacity_distance", "a capacity, in nats", is_on=self.capacity is not None)
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

    def levers(self) -> Levers:
        switches = {"critic_total_correlation": self.critic, "off_diagonal": self.covariance is not None}
        independence = next((name for name, is_on in switches.items() if is_on), "total_correlation")
        levers = levers_of_parts(self, independence)
        if self.capacity is None or self.rate != 0:
            return levers
        return replace(levers, less_rate=moved(self, "capacity", 2), more_rate=moved(self, "capacity", 0.5))

    def rate_price(self) -> RatePrice:
        switches = {
            "anchors with little information": self.anchors != (),
            "how far the rate is from a capacity": self.capacity is not None,
            "the covariances of the latents": self.covariance is not None,
            "the total correlation that a critic estimates": self.critic,
        }
        others = [words for words, is_on in switches.items() if is_on]
        return RatePrice.beside(listed(others), extremes(self.rate)[1]) if others else price_of_parts(self)

    def __call__(self, step: Step) -> Loss:
        trained, logged = trained_and_logged(step, self.estimator, self.groups)
        parts = elbo_parts(step, logged, grouped=self.groups != "each")
        cost, seen = step.rate(), step.as_logged()
        extra = self._extra_terms(step, cost)
        logged_extra = extra if seen is step else self._extra_terms(seen, seen.rate())
        total = (
            parts["distortion"]
            + self.rate * cost
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

    def _extra_terms(self, step: Step, cost: Float[Tensor, ""]) -> dict[str, Float[Tensor, ""]]:
        """Returns the requested terms by the names of their weights; `cost` is the rate in nats."""
        terms: dict[str, Float[Tensor, ""]] = {}
        if self.anchors:
            terms["anchor_information"] = anchor_information(step, self.anchors)
        if self.capacity is not None:
            terms["capacity_distance"] = (cost - self.capacity).abs()
        if self.covariance is not None:
            covariance = covariance_of_batch(step.posterior, self.covariance)
            terms["off_diagonal"], terms["diagonal"] = squared_distances_from_identity(covariance)
        if self.critic:
            terms["critic_total_correlation"] = estimated_total_correlation(step)
        return terms

    def _check_switch(self, name: str, switch: str, *, is_on: bool) -> None:
        if not is_on and extremes(getattr(self, name)) != (0.0, 0.0):
            raise SpecError(f"Composite: {name} is {getattr(self, name)}, but its term needs a setting. Give {switch}.")
