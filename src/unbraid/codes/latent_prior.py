"""Prior p(z) of codes as tensors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from unbraid._internal.arrays import as_floats, numbered
from unbraid.errors import CodesError

Family = Literal["normal", "laplace", "uniform"]

ARRAYS = ("mean", "std", "covariance", "family", "flow")
"""Names of the arrays of a prior, in addition to `probabilities_0`, ... of discrete latents."""

PROBABILITIES = "probabilities_"
_LOG_TWO_PI = math.log(2 * math.pi)


@final
@dataclass(frozen=True, eq=False)
class LatentPrior:
    """Prior p(z) of codes as float64 tensors.

    Continuous latents have a `mean`, a `covariance` and a `family`. Only normal latents may be correlated. A `flow`
    contains u, w and b of each step. With a flow, mean and covariance describe x, the result of applying all steps
    x <- x + u tanh(w x + b) to z. `probabilities` has one vector for each discrete latent.
    """

    mean: Float64[Tensor, " latent"]
    covariance: Float64[Tensor, "row column"]
    family: tuple[str, ...]
    flow: Float64[Tensor, "..."] | None = None
    probabilities: tuple[Float64[Tensor, " _category"], ...] = ()

    def __post_init__(self) -> None:
        size = len(self.mean)
        if self.mean.ndim != 1 or self.covariance.shape != (size, size) or len(self.family) != size:
            raise CodesError(
                f"The prior has a mean of shape {tuple(self.mean.shape)}, a covariance of shape "
                f"{tuple(self.covariance.shape)} and {len(self.family)} families; expected equal sizes. Pass one mean, "
                "row of the covariance and family for each continuous latent."
            )
        if unknown := set(self.family) - set(get_args(Family)):
            raise CodesError(f"The prior has the unknown families {unknown}. Use {', '.join(get_args(Family))}.")
        if self.flow is not None and (self.flow.ndim != 3 or self.flow.shape[::2] != (3, size)):
            raise CodesError(
                f"The prior's flow has shape {tuple(self.flow.shape)}; expected (3, steps, {size}). Pass u, w and b of "
                "each step and latent."
            )
        if self.flow is not None and bool((self.flow[0] * self.flow[1] <= -1).any()):
            least = float((self.flow[0] * self.flow[1]).min())
            raise CodesError(
                f"The prior's flow has a step with u w = {least:g}; expected u w > -1, so that it is increasing. "
                "Change u or w."
            )
        if not all(bool(tensor.isfinite().all()) for tensor in self.tensors().values()):
            raise CodesError("The prior has NaN or infinite entries; expected finite numbers. Replace these entries.")
        is_symmetric = torch.allclose(self.covariance, self.covariance.mT, rtol=1e-6)
        if not is_symmetric or torch.linalg.cholesky_ex(self.covariance).info != 0:
            raise CodesError(
                "The prior's covariance is not symmetric and positive definite; expected a valid covariance. Pass "
                "standard deviations above 0, or a covariance matrix of full rank."
            )
        correlated = (self.covariance != self.covariance.diagonal().diag()).any(dim=1).tolist()
        if {family for family, is_correlated in zip(self.family, correlated, strict=True) if is_correlated} - {
            "normal"
        }:
            raise CodesError(
                "The prior correlates latents that are not normal; expected correlations only between normal latents. "
                "Set their covariances to 0."
            )
        for number, p in enumerate(self.probabilities):
            if p.ndim != 1 or bool((p < 0).any()) or abs(float(p.sum()) - 1) > 1e-4:
                raise CodesError(
                    f"The prior's probabilities_{number} has negative entries or does not sum to 1; expected a vector "
                    "of probabilities. Pass one probability for each category."
                )

    @classmethod
    def from_arrays(
        cls,
        mean: Any = (),
        std: Any = None,
        *,
        covariance: Any = None,
        family: Any = "normal",
        flow: Any = None,
        probabilities: Sequence[Any] = (),
    ) -> "LatentPrior":
        """Creates a prior from numpy arrays, tensors or lists.

        Continuous latents need `mean` and either `std` or `covariance`. `family` is one name for all latents, or a
        list. Each discrete latent needs a vector of probabilities.
        """
        center = _doubles("mean", mean)
        if (std is None) == (covariance is None) and len(center) > 0:
            raise CodesError(
                "The prior has both std and covariance, or none of them; expected one for continuous latents. Pass std."
            )
        spread = center.diag() if covariance is None else _doubles("covariance", covariance)
        if std is not None:
            given = _doubles("std", std)
            spread = (given * given.abs()).diag()  # a negative std gives an invalid covariance, which is refused
        return cls(
            mean=center,
            covariance=spread,
            family=_families(family, len(center)),
            flow=None if flow is None else _doubles("flow", flow),
            probabilities=tuple(_doubles(f"probabilities_{number}", p) for number, p in enumerate(probabilities)),
        )

    @classmethod
    def standard(cls, size: int, categories: Sequence[int] = ()) -> "LatentPrior":
        """Creates a prior with N(0, 1) for continuous latents and uniform categories for discrete latents."""
        return cls.from_arrays(
            [0.0] * size, [1.0] * size, probabilities=[[1 / number] * number for number in categories]
        )

    @classmethod
    def concat(cls, parts: Sequence["LatentPrior"]) -> "LatentPrior":
        """Returns the product of priors, on the device of the first prior. Latents keep their order."""
        parts = [part.to(parts[0].mean.device) for part in parts]
        flows = [part.flow for part in parts]
        num_steps = max((0 if flow is None else flow.shape[1] for flow in flows), default=0)
        none = [part.mean.new_zeros(3, 0, len(part.mean)) if part.flow is None else part.flow for part in parts]
        # Steps of zeros are identities.
        padded = [torch.nn.functional.pad(flow, (0, 0, 0, num_steps - flow.shape[1])) for flow in none]
        return cls(
            mean=torch.cat([part.mean for part in parts]),
            covariance=torch.block_diag(*(part.covariance for part in parts)),
            family=tuple(family for part in parts for family in part.family),
            flow=torch.cat(padded, dim=2) if num_steps else None,
            probabilities=tuple(p for part in parts for p in part.probabilities),
        )

    def tensors(self) -> dict[str, Tensor]:
        """Returns tensors by name, for files. The families normal, laplace and uniform are encoded as 0, 1 and 2."""
        numbers = [get_args(Family).index(family) for family in self.family]
        families = torch.tensor(numbers, dtype=torch.uint8, device="cpu")
        found = {"mean": self.mean, "covariance": self.covariance, "family": families}
        found |= {} if self.flow is None else {"flow": self.flow}
        return found | {f"{PROBABILITIES}{number}": p for number, p in enumerate(self.probabilities)}

    @classmethod
    def from_mapping(cls, arrays: Mapping[str, Any]) -> "LatentPrior":
        """Creates a prior from the output of `tensors`, or from arrays named as the arguments of `from_arrays`.

        Probabilities are named `probabilities_0`, `probabilities_1`, ...
        """
        unknown = [str(name) for name in arrays if name not in ARRAYS and not str(name).startswith(PROBABILITIES)]
        if unknown:
            raise CodesError(
                f"The prior has the unknown arrays {', '.join(unknown)[:80]}. Use {', '.join(ARRAYS)} or "
                f"{PROBABILITIES}0."
            )
        return cls.from_arrays(
            **{name: arrays[name] for name in ARRAYS if name in arrays}, probabilities=numbered(arrays, PROBABILITIES)
        )

    def marginal(self, continuous: Sequence[int], discrete: Sequence[int]) -> "LatentPrior":
        """Returns the marginal prior of the given continuous and discrete latents.

        A flow acts on each latent separately, so its latents are selected in the same way.
        """
        kept = list(continuous)
        return LatentPrior(
            self.mean[kept],
            self.covariance[kept][:, kept],
            tuple(self.family[latent] for latent in kept),
            None if self.flow is None else self.flow[:, :, kept],
            tuple(self.probabilities[k] for k in discrete),
        )

    def to(self, device: torch.device | str) -> "LatentPrior":
        """Moves the prior to a device."""
        return LatentPrior.from_mapping({name: tensor.to(device) for name, tensor in self.tensors().items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LatentPrior):
            return NotImplemented
        mine, others = self.tensors(), other.tensors()
        return mine.keys() == others.keys() and all(torch.equal(mine[name].cpu(), others[name].cpu()) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_gaussian(self) -> bool:
        """Whether all continuous latents are normal and there is no flow."""
        return self.flow is None and set(self.family) <= {"normal"}

    @property
    def is_factorized(self) -> bool:
        """Whether the latents are independent."""
        return bool((self.covariance == self.covariance.diagonal().diag()).all())

    def log_prob(self, z: Float[Tensor, "point latent"]) -> Float64[Tensor, "point latent"]:
        """Returns the marginal log p(z_j) of each continuous latent, in nats."""
        x, log_slope = self._through_flow(z.double())
        std = self.covariance.diagonal().sqrt()
        away = (x - self.mean) / std
        of_family = {
            "normal": -0.5 * (away.square() + _LOG_TWO_PI),
            # For a standard deviation of 1, the Laplace scale is 1 / sqrt(2) and the uniform width is 2 sqrt(3).
            "laplace": -math.sqrt(2) * away.abs() - 0.5 * math.log(2),
            "uniform": torch.where(away.abs() <= math.sqrt(3) * (1 + 1e-12), -0.5 * math.log(12), -math.inf),
        }
        each = [of_family[family][:, latent] for latent, family in enumerate(self.family)]
        return (torch.stack(each, dim=1) if each else away) - std.log() + log_slope

    def log_dependence(self, z: Float[Tensor, "point latent"]) -> Float64[Tensor, " point"]:
        """Returns log p(z) - sum_j log p(z_j) of each point, which is 0 for independent latents."""
        away = self._through_flow(z.double())[0] - self.mean
        quadratic = torch.einsum("pi,ij,pj->p", away, self.excess_precision, away)
        log_det = 2 * torch.linalg.cholesky(self.covariance).diagonal().log().sum()
        return -0.5 * (quadratic + log_det - self.covariance.diagonal().log().sum())

    @property
    def excess_precision(self) -> Float64[Tensor, "latent latent"]:
        """Inverse of the covariance minus the inverse of its diagonal."""
        return torch.linalg.inv(self.covariance) - self.covariance.diagonal().reciprocal().diag()

    def _through_flow(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Applies the flow and returns x and log dx / dz."""
        log_slope = torch.zeros_like(z)
        for u, w, b in () if self.flow is None else self.flow.unbind(dim=1):
            bend = torch.tanh(w * z + b)
            log_slope = log_slope + torch.log1p(u * w * (1 - bend.square()))
            z = z + u * bend
        return z, log_slope


def _doubles(name: str, values: Any) -> Tensor:
    with torch.device("cpu"):  # for arrays and lists; tensors keep their device
        return torch.atleast_1d(as_floats(f"The prior's {name}", values).double())


def _families(given: Any, size: int) -> tuple[str, ...]:
    """Returns the name of the family of each latent, given names or the numbers used in files."""
    if isinstance(given, str):
        return (given,) * size
    known, entries = get_args(Family), given.tolist() if hasattr(given, "tolist") else list(given)
    return tuple(known[e] if isinstance(e, int) and e in range(len(known)) else str(e) for e in entries)
