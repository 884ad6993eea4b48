"""VAE with a penalty on the covariances of codes."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.config.schedule import Weight, extremes, scaled
from unbraid.errors import SpecError
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.objectives.decomposed_elbo import logged_parts
from unbraid.objectives.objective import Loss, Objective, Step, check_rate
from unbraid.objectives.terms.covariance import (
    covariance_of_batch,
    expected_covariance,
    squared_distances_from_identity,
)
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice, suggest

DIAGONAL_SHARE: dict[str, float] = {"i": 10.0, "ii": 1.0}
"""Default weight of the diagonal, as a multiple of `off_diagonal`."""


@dataclass(frozen=True)
class DIPVAE(Objective):
    """DIP-VAE loss: minus the ELBO + off_diagonal sum_{i != j} C_ij^2 + diagonal sum_i (C_ii - 1)^2.

    Kumar et al., arXiv:1711.00848v1, eq. 6. C is the covariance of the means for `kind` "i" and of the codes for "ii".
    The first sum includes (i, j) and (j, i). The default `diagonal` is 10 `off_diagonal` for "i", as in the paper, and
    `off_diagonal` for "ii". `mode` "batch" computes C on the batch. "ema" is an exponential moving average of the
    covariances of batches, and "moments" of their first and second moments. Previous batches have the weight `decay`
    and no gradient, so the gradient of C is multiplied by 1 - decay. `rescale` removes this factor.
    """

    kind: Literal["i", "ii"] = "i"
    """Covariance of the means (i) or of the codes (ii)."""
    _: KW_ONLY
    off_diagonal: Weight = 10.0
    """Weight of the squared covariances."""
    diagonal: Weight | None = None
    """Weight of the squared distances of the variances from 1; by default 10 (i) or 1 (ii) times off_diagonal."""
    mode: Literal["batch", "ema", "moments"] = "batch"
    """Covariance of the batch, or moving average of covariances (ema) or moments."""
    decay: Weight = 0.9
    """Weight of previous batches in the moving average."""
    rescale: bool = False
    """Whether to divide the gradient of the moving average by 1 - decay."""

    weights_are_nonnegative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_bound and not extremes(self.decay)[1] < 1:
            raise SpecError(
                f"DIPVAE: decay is {self.decay}; expected a number or schedule >= 0 and < 1. Pass a smaller decay, "
                "e.g. DIPVAE(decay=0.9)."
            )

    def check(self, model: Autoencoder) -> None:
        check_rate(self, model)
        latents = model.latents
        if latents.num_discrete == latents.num_latents:
            raise SpecError(
                f"{type(latents).__name__} have no continuous latents; expected at least 1 for DIPVAE, which reads "
                "means. Add continuous latents, e.g. GaussianLatents."
            )
        zeros = torch.zeros(2, latents.num_parameters, device="cpu")
        posterior = latents.posterior(zeros, torch.zeros((), device="cpu"))
        if self.kind == "ii" and posterior.gaussian_std is None and posterior.covariance is None:
            raise SpecError(
                f"{type(latents).__name__} have no variance; expected latents with a variance of q(z | x) for DIPVAE "
                "of kind 'ii'. Use GaussianLatents, or kind 'i'."
            )

    def weight_advice(self) -> WeightAdvice:
        less = "Composite with the same covariance and a rate below 1, such as 0.25 (DIPVAE has no weight of the rate)"
        return WeightAdvice(less, "", suggest(self, "off_diagonal", 2))

    def rate_weight(self) -> RateWeight:
        return RateWeight.beside("the covariances of the latents", 1.0)

    def general_form(self) -> "DIPVAE":
        if self.diagonal is not None:
            return self
        return replace(self, diagonal=scaled(self.off_diagonal, DIAGONAL_SHARE[self.kind]))

    def initial_state(self, latents: Latents) -> Mapping[str, Tensor]:
        size = latents.num_latents - latents.num_discrete
        match self.mode:
            case "batch":
                return {}
            case "ema":
                return {"started": torch.zeros(()), "covariance": torch.zeros(size, size)}
            case "moments":
                return {
                    "started": torch.zeros(()),
                    "first_moment": torch.zeros(size),
                    "second_moment": torch.zeros(size, size),
                }

    def __call__(self, step: Step) -> Loss:
        covariance, state = self._covariance(step)
        off_diagonal_part, diagonal_part = squared_distances_from_identity(covariance)
        parts = logged_parts(step)
        weight_of_diagonal = self.off_diagonal * DIAGONAL_SHARE[self.kind] if self.diagonal is None else self.diagonal
        return Loss(
            total=parts["distortion"]
            + step.rate()
            + self.off_diagonal * off_diagonal_part
            + weight_of_diagonal * diagonal_part,
            parts=parts | {"off_diagonal": off_diagonal_part, "diagonal": diagonal_part},
            state=state,
        )

    def _covariance(self, step: Step) -> tuple[Float[Tensor, "latent latent"], Mapping[str, Tensor]]:
        """Returns the covariance C and the state of the next step."""
        posterior = step.posterior
        match self.mode:
            case "batch":
                return covariance_of_batch(posterior, self.kind), {}
            case "ema":
                covariance = self._blend(step, "covariance", covariance_of_batch(posterior, self.kind))
                return covariance, _state(step, covariance=covariance)
            case "moments":
                mean = posterior.mean
                first_of_batch, second_of_batch = mean.mean(dim=0), mean.T @ mean / len(mean)
                if self.kind == "ii":
                    second_of_batch = second_of_batch + expected_covariance(posterior)
                first = self._blend(step, "first_moment", first_of_batch)
                second = self._blend(step, "second_moment", second_of_batch)
                covariance = second - first[:, None] * first[None, :]
                return covariance, _state(step, first_moment=first, second_moment=second)

    def _blend(self, step: Step, name: str, of_batch: Tensor) -> Tensor:
        """Returns decay times the state plus (1 - decay) times the batch; on the first step, the batch."""
        decay = self.decay * step.state["started"]
        blended = decay * step.state[name] + (1 - decay) * of_batch
        return blended.detach() + of_batch - of_batch.detach() if self.rescale else blended


def _state(step: Step, **tensors: Tensor) -> dict[str, Tensor]:
    return {"started": torch.ones_like(step.state["started"])} | {
        name: tensor.detach() for name, tensor in tensors.items()
    }
