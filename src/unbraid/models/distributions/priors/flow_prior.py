"""Factorized normalizing flow as a prior."""

import math
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.codes import LatentPrior
from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Prior
from unbraid.models.distributions.priors.prior import PriorConfig

# Number of bisection steps of the inverse. One step of Newton's method follows and squares the remaining error.
_NUM_HALVINGS = 30


@final
@dataclass(frozen=True)
class Flow(Prior):
    """Factorized planar flow as a prior (Rezende & Mohamed, arXiv:1505.05770v6, in one dimension).

    p(z_j) = N(x_T; 0, 1) |dx_T / dz_j|, where x_0 = z_j and each step is x <- x + u tanh(w x + b). Chen et al.,
    arXiv:1802.04942v5, use this prior in an ablation. Each step must be increasing (u w > -1), because otherwise p does
    not integrate to one.
    """

    u: Float[Tensor, "step latent"]
    w: Float[Tensor, "step latent"]
    b: Float[Tensor, "step latent"]

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        x, log_slope = self._forward(z)
        return log_slope - 0.5 * (x.square() + math.log(2 * math.pi))

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        """Returns the inverse of the flow at the noise.

        The inverse is computed by bisection, and its gradients by the implicit function theorem.
        """
        frozen = Flow(self.u.detach(), self.w.detach(), self.b.detach())
        target = noise.detach()
        # |tanh| < 1, so all steps together change a number by at most the sum of |u|.
        reach = frozen.u.abs().sum(dim=0)
        low, high = target - reach, target + reach
        for _ in range(_NUM_HALVINGS):
            middle = 0.5 * (low + high)
            is_low = frozen._forward(middle)[0] < target
            low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
        z = 0.5 * (low + high)
        slope = frozen._forward(z)[1].exp()
        return z - (self._forward(z)[0] - noise) / slope

    def for_codes(self, num_latents: int) -> LatentPrior:
        flow = torch.stack([self.u, self.w, self.b])
        return LatentPrior.from_arrays([0.0] * num_latents, [1.0] * num_latents, flow=flow)

    def _forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
        """Returns x_T and log dx_T / dz."""
        u, w, b = self.u[:, None], self.w[:, None], self.b[:, None]
        path: Tensor = _Path.apply(z, u, w, b)
        return path[-1], _slopes_less_1(path, u, w, b)[0].log1p().sum(dim=0)


@final
class _Path(torch.autograd.Function):
    """Autograd function that returns the stacked path x_0 to x_T. `u`, `w` and `b` have a batch axis of size 1.

    Automatic differentiation of 32 small steps would cost more than the nets of a fleet. The gradient a_t of x_t
    through all later points is the incoming gradient of x_t plus a_(t+1) dx_(t+1)/dx_t. All other gradients are
    computed for all steps at once.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor, u: Tensor, w: Tensor, b: Tensor) -> Tensor:
        path = [z]
        for each_u, each_w, each_b in zip(u.unbind(0), w.unbind(0), b.unbind(0), strict=True):
            path.append(path[-1] + each_u * torch.tanh(each_w * path[-1] + each_b))
        return torch.stack(path)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(output, *inputs[1:])

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, ...]:
        path, u, w, b = ctx.saved_tensors
        slope_less_1, bend = _slopes_less_1(path, u, w, b)
        gradients = [given[-1]]
        for each, slope in zip(reversed(given[:-1].unbind(0)), reversed((1 + slope_less_1).unbind(0)), strict=True):
            gradients.append(each + gradients[-1] * slope)
        of_steps = torch.stack(gradients[-2::-1])
        of_tanh = of_steps * u * (1 - bend.square())
        return gradients[-1], *(
            each.sum(dim=-2, keepdim=True) for each in (of_steps * bend, of_tanh * path[:-1], of_tanh)
        )


def _slopes_less_1(
    path: Float[Tensor, "point batch latent"],
    u: Float[Tensor, "step 1 latent"],
    w: Float[Tensor, "step 1 latent"],
    b: Float[Tensor, "step 1 latent"],
) -> tuple[Float[Tensor, "step batch latent"], Float[Tensor, "step batch latent"]]:
    """Returns dx_(t+1)/dx_t - 1 = u w (1 - tanh^2) and the tanh of each step."""
    bend = torch.tanh(w * path[:-1] + b)
    return u * w * (1 - bend.square()), bend


@final
@dataclass(frozen=True)
class FlowPrior(PriorConfig):
    """Factorized normalizing flow, trained with the model.

    The initial prior is close to N(0, 1), because initial weights are drawn from N(0, 0.02^2).
    """

    num_steps: int = 32
    """Number of steps of the flow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_steps < 1:
            raise SpecError(
                f"FlowPrior: num_steps is {self.num_steps}; expected an integer >= 1. Pass e.g. num_steps=32."
            )

    def make(self, size: int) -> nn.Module:
        return _LearnedFlow(self.num_steps, size)


@final
class _LearnedFlow(nn.Module):
    def __init__(self, num_steps: int, size: int) -> None:
        super().__init__()
        self.scale, self.weight, self.bias = (nn.Parameter(torch.empty(num_steps, size)) for _ in range(3))
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.02)

    def forward(self, progress: Tensor | None = None) -> Flow:
        del progress
        return Flow(self.scale * rising(self.scale * self.weight), self.weight, self.bias)


def rising(product: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns a factor for u that keeps the product p = u w above -1.

    The factor is 1 for p > 0 and 1 / sqrt(1 + p^2) for p < 0, and is smooth at 0. The usual softplus of planar flows
    divides by w, which is initially close to 0.
    """
    # For large negative products the result would be rounded to -1 in float32, with a density of 0.
    kept = torch.where(product < -500, 1 - 1e-6, 1.0)
    return torch.where(product < 0, torch.rsqrt(1 + product.square()) * kept, 1.0)
