"""Codes with latents of several families."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Self, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from unbraid.codes import LatentPrior
from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Distribution, Posterior, Prior
from unbraid.models.distributions.posteriors.concrete import ConcreteLatents, DiscreteLatents, Measure
from unbraid.models.distributions.posteriors.gaussian import GaussianLatents
from unbraid.models.distributions.posteriors.latents import Latents


@dataclass(frozen=True)
class _Product(Distribution):
    """Product of distributions, the `parts`, over consecutive columns of z. `layout` holds the configs of the parts."""

    parts: tuple[Any, ...]
    layout: tuple[Latents, ...]

    @property
    def is_factorized(self) -> bool:
        return all(part.is_factorized for part in self.parts)

    @property
    def summed_log_pmf(self) -> Mapping[int, Float[Tensor, "*batch _category"]]:
        pairs = zip(_starts(self.layout), self.parts, strict=False)
        return {start + latent: table for start, part in pairs for latent, table in part.summed_log_pmf.items()}

    def by_category(self) -> Self:
        return replace(self, parts=tuple(part.by_category() for part in self.parts))

    def log_prob(self, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        return torch.cat([part.log_prob(piece) for part, piece in self._with_columns(z)], dim=1)

    def joint_log_prob(self, z: Float[Tensor, "batch column"], latents: Sequence[int]) -> Float[Tensor, " batch"]:
        each = [part.joint_log_prob(piece, own) for part, piece, own in self._with_latents(z, latents)]
        return torch.stack(each).sum(dim=0) if each else z.new_zeros(len(z))

    def _with_columns(self, z: Tensor) -> list[tuple[Any, Tensor]]:
        """Returns each part with its columns of z."""
        return list(zip(self.parts, z.split([part.num_columns for part in self.layout], dim=1), strict=True))

    def _with_latents(self, z: Tensor, latents: Sequence[int]) -> list[tuple[Any, Tensor, list[int]]]:
        """Returns each part that contains a given latent, with its columns of z and the latent indices in the part."""
        found = []
        for (start, end), (part, piece) in zip(pairwise(_starts(self.layout)), self._with_columns(z), strict=True):
            if own := [latent - start for latent in latents if start <= latent < end]:
                found.append((part, piece, own))
        return found


@final
@dataclass(frozen=True)
class Grouped(_Product, Posterior):
    """Posterior q(z | x) that is the product of the posteriors of the parts."""

    @property
    def mean(self) -> Float[Tensor, "batch continuous_latent"]:
        return torch.cat([part.mean for part in self.parts], dim=1)

    @property
    def gaussian_std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        return _joined([part.gaussian_std for part in self.parts])

    @property
    def std(self) -> Float[Tensor, "batch continuous_latent"] | None:
        return _joined([part.std for part in self.parts])

    @property
    def covariance(self) -> Float[Tensor, "batch continuous_latent continuous_latent"] | None:
        if all(part.covariance is None for part in self.parts):
            return None
        blocks = [block for part in self.parts if (block := _covariance(part)) is not None]
        if len(blocks) < len(self.parts):
            return None
        ends = list(accumulate(block.shape[2] for block in blocks))
        return torch.cat(
            [pad(block, (end - block.shape[2], ends[-1] - end)) for block, end in zip(blocks, ends, strict=True)], dim=1
        )

    @property
    def probabilities(self) -> tuple[Float[Tensor, "batch _category"], ...]:
        return tuple(table for part in self.parts for table in part.probabilities)

    def with_true_density(self) -> Self:
        parts = tuple(part.with_true_density() for part in self.parts)
        is_same = all(new is old for new, old in zip(parts, self.parts, strict=True))
        return self if is_same else replace(self, parts=parts)

    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch column"]:
        pieces = noise.split([part.num_noise for part in self.layout], dim=1)
        return torch.cat([part.rsample(piece) for part, piece in zip(self.parts, pieces, strict=True)], dim=1)

    def pairwise_log_prob(self, z: Float[Tensor, "sample column"]) -> Float[Tensor, "sample batch latent"]:
        return torch.cat([part.pairwise_log_prob(piece) for part, piece in self._with_columns(z)], dim=2)

    def pairwise_joint_log_prob(
        self, z: Float[Tensor, "sample column"], latents: Sequence[int]
    ) -> Float[Tensor, "sample batch"]:
        each = [part.pairwise_joint_log_prob(piece, own) for part, piece, own in self._with_latents(z, latents)]
        return torch.stack(each).sum(dim=0) if each else z.new_zeros(len(z), len(self.parts[0].mean))

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"] | None:
        return _joined([part.kl_to_standard_normal() for part in self.parts])

    def kl_to_product(self, priors: Sequence[Prior]) -> Float[Tensor, "batch latent"] | None:
        pairs = zip(priors, self.parts, strict=True)
        return _joined([prior.closed_form_kl_from(part) for prior, part in pairs])


@final
@dataclass(frozen=True)
class GroupedPrior(_Product, Prior):
    """Prior p(z) that is the product of the priors of the parts."""

    def sample(self, noise: Float[Tensor, "batch column"]) -> Float[Tensor, "batch column"]:
        return torch.cat([part.sample(piece) for part, piece in self._with_columns(noise)], dim=1)

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        return posterior.kl_to_product(self.parts)

    def kl_from(self, posterior: Posterior, z: Float[Tensor, "batch column"]) -> Float[Tensor, "batch latent"]:
        """Returns the KL of each part, estimated only for parts without a closed form."""
        if not isinstance(posterior, Grouped):
            return super().kl_from(posterior, z)
        pairs = zip(self._with_columns(z), posterior.parts, strict=True)
        return torch.cat([prior.kl_from(part, piece) for (prior, piece), part in pairs], dim=1)

    def for_codes(self, num_latents: int) -> LatentPrior | None:
        del num_latents
        each = [prior.for_codes(part.num_latents) for prior, part in zip(self.parts, self.layout, strict=True)]
        known = [prior for prior in each if prior is not None]
        return LatentPrior.concat(known) if len(known) == len(each) else None


class LatentsInParts(Latents):
    """Base class of codes with several families. The prior is the product of the priors of the families.

    Columns of z, noise and latent indices follow the order of the parts. The groups are the groups of all parts.
    """

    @property
    @abstractmethod
    def parts(self) -> tuple[Latents, ...]:
        """The families, those with continuous latents first."""

    @property
    def num_latents(self) -> int:
        return sum(part.num_latents for part in self.parts)

    @property
    def num_discrete(self) -> int:
        return sum(part.num_discrete for part in self.parts)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(width for part in self.parts for width in part.widths)

    @property
    def num_noise(self) -> int:
        return sum(part.num_noise for part in self.parts)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        pairs = zip(_starts(self.parts), self.parts, strict=False)
        return tuple(tuple(start + latent for latent in group) for start, part in pairs for group in part.groups)

    @property
    def hard_latents(self) -> tuple[int, ...]:
        pairs = zip(_starts(self.parts), self.parts, strict=False)
        return tuple(start + latent for start, part in pairs for latent in part.hard_latents)

    @property
    def num_combinations(self) -> int:
        return math.prod(part.num_combinations for part in self.parts)

    @property
    def has_density(self) -> bool:
        return all(part.has_density for part in self.parts)

    @property
    def prior_is_bounded(self) -> bool:
        return any(part.prior_is_bounded for part in self.parts)

    def make_prior(self) -> nn.Module:
        return _PriorOfParts(self.parts)


@final
class _PriorOfParts(nn.Module):
    def __init__(self, parts: tuple[Latents, ...]) -> None:
        super().__init__()
        self._layout = parts
        self.parts = nn.ModuleList(part.make_prior() for part in parts)

    def forward(self, progress: Float[Tensor, ""] | None = None) -> GroupedPrior:
        return GroupedPrior(tuple(part(progress) for part in self.parts), self._layout)


@final
@dataclass(frozen=True)
class GroupedLatents(LatentsInParts):
    """Independent families of latents in one code: q(z | x) and p(z) are products over the families.

    The encoder outputs the parameters of the parts, in order. The default is the model of Esmaeili et al.,
    arXiv:1804.02086v1, for MNIST: ten Gaussian latents for style and one discrete latent for the digit.
    """

    parts: tuple[Latents, ...] = (GaussianLatents(10), ConcreteLatents(10))
    """Families of latents, those with continuous latents first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.parts:
            raise SpecError(
                "GroupedLatents: parts is (); expected at least one family of latents. Pass e.g. "
                "(GaussianLatents(10), ConcreteLatents(10))."
            )
        seen_discrete = False
        for part in self.parts:
            if seen_discrete and part.num_discrete < part.num_latents:
                names = ", ".join(type(part).__name__ for part in self.parts)
                raise SpecError(
                    f"GroupedLatents: the parts are {names}; expected all continuous latents before discrete latents. "
                    "Move the parts with continuous latents to the front."
                )
            seen_discrete = seen_discrete or part.num_discrete > 0
        if len(measures := sorted(_measures(self))) > 1:
            raise SpecError(
                f"GroupedLatents: discrete latents have the measures {' and '.join(measures)}; expected one measure, "
                "because estimates sum over latents. Set the same measure in all parts."
            )

    @property
    def num_parameters(self) -> int:
        return sum(part.num_parameters for part in self.parts)

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Grouped:
        pieces = parameters.split([part.num_parameters for part in self.parts], dim=1)
        pairs = zip(self.parts, pieces, strict=True)
        return Grouped(tuple(part.posterior(piece, progress) for part, piece in pairs), self.parts)


def _starts(layout: Sequence[Latents]) -> list[int]:
    """Returns the index of the first latent of each part, followed by the number of latents."""
    return list(accumulate((part.num_latents for part in layout), initial=0))


def _measures(latents: Latents) -> set[Measure]:
    """Returns the measures of the discrete latents, including nested parts."""
    if isinstance(latents, DiscreteLatents):
        return {latents.measure}
    return set().union(*map(_measures, latents.parts)) if isinstance(latents, LatentsInParts) else set()


def _joined(each: Sequence[Float[Tensor, "batch _latent"] | None]) -> Float[Tensor, "batch latent"] | None:
    """Concatenates the columns of all parts. Returns None if an entry is None."""
    known = [columns for columns in each if columns is not None]
    return torch.cat(known, dim=1) if len(known) == len(each) else None


def _covariance(part: Posterior) -> Float[Tensor, "batch latent latent"] | None:
    if part.covariance is not None:
        return part.covariance
    return None if part.gaussian_std is None else torch.diag_embed(part.gaussian_std.square())
