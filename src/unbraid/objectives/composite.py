"""Most terms there are, each with a weight."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.aggregate import Estimator
from unbraid.models.architecture import ImageShape
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.anchor_vae import anchor_information, check_anchors
from unbraid.objectives.decomposed_elbo import Groups, check_groups, constant_of, trained_and_logged
from unbraid.objectives.dip_vae import DIPVAE
from unbraid.objectives.factor_vae import FactorVAE, critic_loss
from unbraid.objectives.objective import CriticReads, Loss, Objective, Step, check_finite, check_rate
from unbraid.objectives.terms.adversary import judged
from unbraid.objectives.terms.covariance import covariance_of_means, expected_covariance
from unbraid.objectives.terms.parts import as_logged, elbo_parts, rate
from unbraid.objectives.terms.permuted_codes import permuted_codes
from unbraid.schedule import Weight, extremes


@final
@dataclass(frozen=True, kw_only=True)
class Composite(Objective):
    """distortion + the sum of weight times term, over all terms that are named below. By default, the VAE.

    `rate`, `mutual_information`, `total_correlation`, `total_correlation_within` and `dimension_wise_kl` are the
    weights of the terms of `DecomposedELBO`, with its `groups` and `estimator`. The other terms are there only if asked
    for. With `anchors`: `anchor_information`, the I(x; z_a) of `AnchorVAE`; a negative weight rewards it. With a
    `capacity`: `capacity_distance`, the |KL - capacity| of `AnnealedVAE`. With a `covariance` of kind "i" or "ii":
    `off_diagonal` and `diagonal`, those of `DIPVAE` on the batch. With the `critic`: `critic_total_correlation`, that
    of `FactorVAE`. The MMD of `InfoVAE` and the games of `AAE` and `InfoGAN` are not among the terms, and neither are
    the running covariances of `DIPVAE`.

    A weight may be negative; whether the sum is then bounded below is not checked.
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
    """Weight of I(x; z_a) of the anchors; a negative one rewards it."""
    capacity_distance: Weight = 0.0
    """Weight of |KL - capacity|."""
    off_diagonal: Weight = 0.0
    """Weight of the squared covariances."""
    diagonal: Weight = 0.0
    """Weight of the squared distances of the variances from 1."""
    critic_total_correlation: Weight = 0.0
    """Weight of the total correlation that a critic tells."""
    groups: Groups = "each"
    """Latents by number, group by group; or each by itself; or as the model's latents say."""
    estimator: Estimator = "eq13"
    """How q(z) is estimated from a batch."""
    anchors: tuple[int, ...] = ()
    """The latents of anchor_information, by number."""
    capacity: Weight | None = None
    """The KL of capacity_distance, in nats."""
    covariance: Literal["i", "ii"] | None = None
    """The covariance of the means (i) or of the codes (ii), for off_diagonal and diagonal."""
    critic: bool = False
    """Whether there is a critic, for critic_total_correlation."""
    same_batch: bool = False
    """Whether the critic sees the permuted codes of the batch itself."""

    critic_outputs: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_finite(self)
        if self.capacity is not None and extremes(self.capacity)[0] < 0:
            raise SpecError(f"Composite: capacity is {self.capacity}; expected nats, 0 or more at every moment.")
        self._check_switch("anchor_information", self.anchors != (), "anchors=(0,), or the latents that are meant")
        self._check_switch("capacity_distance", self.capacity is not None, "a capacity, in nats")
        self._check_switch(
            "off_diagonal", self.covariance is not None, 'covariance="i" (of the means) or "ii" (of the codes)'
        )
        self._check_switch(
            "diagonal", self.covariance is not None, 'covariance="i" (of the means) or "ii" (of the codes)'
        )
        self._check_switch("critic_total_correlation", self.critic, "critic=True")

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

    def draw_shapes(
        self, batch_size: int, model: Autoencoder, image_shape: ImageShape
    ) -> Mapping[str, tuple[int, ...]]:
        return FactorVAE().draw_shapes(batch_size, model, image_shape) if self.critic else {}

    def __call__(self, step: Step) -> Loss:
        trained, logged = trained_and_logged(step, self.estimator, self.groups)
        parts = elbo_parts(step, logged, grouped=self.groups != "each")
        cost, seen = rate(step), as_logged(step)
        extra = self._extra_terms(step, cost)
        logged_extra = extra if seen is step else self._extra_terms(seen, rate(seen))
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
        critic = _loss_of_critic(step) if self.critic else None
        return Loss(total=total, parts=parts | logged_extra, critic=critic, constant=constant_of(self, step))

    def _extra_terms(self, step: Step, cost: Float[Tensor, ""]) -> dict[str, Float[Tensor, ""]]:
        """Returns the terms that were asked for, by the names of their weights, where a code costs so many nats."""
        terms: dict[str, Float[Tensor, ""]] = {}
        if self.anchors:
            terms["anchor_information"] = anchor_information(step, self.anchors)
        if self.capacity is not None:
            terms["capacity_distance"] = (cost - self.capacity).abs()
        if self.covariance is not None:
            of_means = covariance_of_means(step.posterior)
            covariance = of_means if self.covariance == "i" else of_means + expected_covariance(step.posterior)
            diagonal = covariance.diagonal()
            terms["off_diagonal"] = (covariance - torch.diag(diagonal)).square().sum()
            terms["diagonal"] = (diagonal - 1).square().sum()
        if self.critic:
            assert step.critic is not None
            joint, permuted = step.critic(step.z).unbind(dim=1)
            terms["critic_total_correlation"] = (joint - permuted).mean()
        return terms

    def _check_switch(self, name: str, is_on: bool, switch: str) -> None:
        if not is_on and extremes(getattr(self, name)) != (0.0, 0.0):
            raise SpecError(
                f"Composite: {name} is {getattr(self, name)}, and there is no such term without its setting. Give "
                f"{switch}."
            )


def _loss_of_critic(step: Step) -> Float[Tensor, ""]:
    assert step.critic_in_training is not None
    permuted = permuted_codes(step.z if step.other is None else step.other.z, step.draws["permutation"], step.widths)
    return critic_loss(*judged(step.critic_in_training, step.z, permuted))
