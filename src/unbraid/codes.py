"""Codes: the one table that every metric reads."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.arrays import as_array, as_floats, checked_tensor, same_content, shown
from unbraid.errors import CodesError
from unbraid.labels import Labels, Missing, checked_missing
from unbraid.latent_prior import LatentPrior

__all__ = ["Codes", "Labels", "LatentPrior"]


@final
@dataclass(frozen=True, eq=False)
class Codes:
    """What an encoder says of N images: q(z | x) for each, and the factors where they are known.

    The continuous latents are Gaussian with `mean` and `std`, or with a full `covariance`; or only `samples` of them
    are known. Discrete latents are `probabilities`, one table for each. Latents are numbered through, the continuous
    ones first. `groups` names the latents that belong together. `weights` is p(n) up to scale, uniform if absent.
    `prior` is p(z), where it is known.
    """

    mean: Float[Tensor, "image latent"]
    std: Float[Tensor, "image latent"] | None = None
    covariance: Float[Tensor, "image latent latent"] | None = None
    samples: Float[Tensor, "draw image latent"] | None = None
    probabilities: tuple[Float[Tensor, "image _category"], ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    factors: tuple[Labels, ...] = ()
    weights: Float[Tensor, " image"] | None = None
    prior: LatentPrior | None = None

    def __post_init__(self) -> None:
        self._check_tensors()
        if len(self.mean) == 0 or self.num_latents == 0:
            raise CodesError(
                f"mean has shape {tuple(self.mean.shape)}; expected (images, latents) with at least one of each."
            )
        _check_finite("mean", ~self.mean.isfinite())
        if self.std is not None:
            _check_std(self.std, self.mean)
        if self.covariance is not None:
            _check_covariance(self.covariance, self.std, self.mean)
        if self.samples is not None:
            _check_samples(self.samples, self.mean)
        for number, table in enumerate(self.probabilities):
            _check_probabilities(f"probabilities[{number}]", table, len(self.mean))
        _check_groups(self.groups, self.num_latents)
        _check_factors(self.factors, self.mean)
        if self.weights is not None:
            _check_weights(self.weights, len(self.mean))
            object.__setattr__(self, "weights", _tamed(self.weights))
        if self.prior is not None:
            _check_prior(self.prior, self)
            object.__setattr__(self, "prior", self.prior.to(self.mean.device))

    def _check_tensors(self) -> None:
        """Tensors of floats on one device, of the right rank, without gradients; tuples where a tuple is meant."""
        object.__setattr__(self, "mean", checked_tensor("mean", self.mean, 2))
        for name, num_axes in (("std", 2), ("covariance", 3), ("samples", 3), ("weights", 1)):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, checked_tensor(name, values, num_axes, like=self.mean))
        if not all(isinstance(getattr(self, name), (tuple, list)) for name in ("probabilities", "factors")):
            raise CodesError(
                "probabilities and factors are a tuple each, of tensors and of Labels. Codes.from_arrays takes them "
                "in other forms."
            )
        object.__setattr__(self, "groups", _as_groups(self.groups))
        tables = (
            checked_tensor(f"probabilities[{i}]", table, 2, like=self.mean)
            for i, table in enumerate(self.probabilities)
        )
        object.__setattr__(self, "probabilities", tuple(tables))

    @classmethod
    def from_arrays(
        cls,
        mean: Any = None,
        std: Any = None,
        *,
        log_var: Any = None,
        samples: Any = None,
        covariance: Any = None,
        probabilities: Any = (),
        groups: Sequence[Sequence[int]] = (),
        factors: Any = None,
        factor_names: Sequence[str] | None = None,
        missing: Missing = None,
        weights: Any = None,
        prior: LatentPrior | Mapping[str, Any] | None = None,
    ) -> "Codes":
        """Codes from numpy arrays, tensors or nested lists: `mean` and `std` (or `log_var`) are image by latent,
        `factors` image by factor.

        `samples` are draws of q(z | x) where no density is known: image by latent for one draw each, or draw by image
        by latent; their mean is then the mean. `probabilities` is a list of tables, image by category, one for each
        discrete latent; they may be the only latents. `groups` are tuples of latent numbers, the continuous ones first.

        Columns of integers are values of discrete factors; columns of floats are measurements of continuous ones. To
        mix them, give `factors` as a mapping from names to columns; there a column may also hold words, or
        probabilities p(y | x) (two-dimensional). `missing` is what marks a label that is not known: math.nan, a number
        such as -1, or a word. A label that a numpy.ma array masks is not known; masked numbers elsewhere are refused.

        `prior` is p(z), as a LatentPrior or as arrays by name: {"mean": ..., "std": ...}, with "covariance" in place of
        "std" where it correlates latents, and "probabilities_0", ... for discrete ones. Scores that compare codes with
        their prior say so where they have to assume one.
        """
        draws = None if samples is None else _as_draws(samples)
        tables = _as_tables(probabilities)
        center = _as_mean(mean, draws, tables, has_spread=not (std is log_var is covariance is None))
        if len(center) == 1:
            raise CodesError("The codes are of one image, and scores compare images. Give at least two.")
        return cls(
            mean=center,
            std=_as_std(std, log_var, center),
            covariance=None if covariance is None else as_floats("covariance", covariance).to(center),
            samples=None if draws is None else draws.to(center),
            probabilities=tuple(table.to(center.device) for table in tables),
            groups=_as_groups(groups),
            factors=_as_factors(factors, factor_names, checked_missing(missing), center.device),
            weights=None if weights is None else as_floats("weights", weights).to(center.device, torch.float64),
            prior=LatentPrior.from_arrays(prior) if isinstance(prior, Mapping) else prior,
        )

    def with_binned_factors(self, num_bins: int = 10) -> "Codes":
        """Continuous factors as value indices: bins of equal width from the least label to the greatest. Missing labels
        stay missing.
        """
        return replace(self, factors=tuple(labels.binned(num_bins) for labels in self.factors))

    def to(self, device: torch.device | str) -> "Codes":
        """The same codes on another device: metrics compute where the codes are."""

        def moved(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.to(device)

        return Codes(
            mean=self.mean.to(device),
            std=moved(self.std),
            covariance=moved(self.covariance),
            samples=moved(self.samples),
            probabilities=tuple(table.to(device) for table in self.probabilities),
            groups=self.groups,
            factors=tuple(
                replace(labels, values=labels.values.to(device), known=moved(labels.known)) for labels in self.factors
            ),
            weights=moved(self.weights),
            prior=self.prior,
        )

    def __len__(self) -> int:
        return len(self.mean)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codes) and same_content(vars(self), vars(other))

    __hash__ = None  # type: ignore[assignment]

    @property
    def num_latents(self) -> int:
        """Continuous and discrete ones together."""
        return self.mean.shape[1] + len(self.probabilities)

    @property
    def factor_names(self) -> tuple[str, ...]:
        return tuple(labels.name for labels in self.factors)

    @property
    def marginal_std(self) -> Float[Tensor, "image latent"] | None:
        """The std of each latent by itself: `std`, or the root of the covariance's diagonal. None where only samples or
        means are known.
        """
        if self.std is not None or self.covariance is None:
            return self.std
        return self.covariance.diagonal(dim1=1, dim2=2).sqrt()


# ----------------------------------------------------------------------------------------------------------------------
# from arrays


def _as_mean(
    mean: Any, draws: Tensor | None, tables: tuple[Tensor, ...], *, has_spread: bool
) -> Float[Tensor, "image latent"]:
    if mean is not None:
        return _as_matrix("mean", mean)
    if has_spread:
        raise CodesError("std, log_var or covariance was given without mean. Give the mean of each posterior too.")
    if draws is not None:
        return draws.double().mean(dim=0).to(draws.dtype)
    if not tables:
        raise CodesError(
            "No codes were given. Give mean (with std or log_var), samples, or the probabilities of discrete latents."
        )
    return tables[0].new_zeros(len(tables[0]), 0)


def _as_matrix(name: str, values: Any) -> Float[Tensor, "image latent"]:
    matrix = as_floats(name, values)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise CodesError(
            f"{name} has shape {tuple(matrix.shape)}; expected (images, latents) with at least one of each."
        )
    return matrix


def _as_std(std: Any, log_var: Any, mean: Tensor) -> Tensor | None:
    if std is not None and log_var is not None:
        raise CodesError("Both std and log_var were given. Give one of them: they say the same thing.")
    if log_var is None:
        return None if std is None else _as_matrix("std", std).to(mean)
    logs = _as_matrix("log_var", log_var).double()
    if logs.shape != mean.shape:
        raise CodesError(
            f"log_var has shape {tuple(logs.shape)} and mean {tuple(mean.shape)}; give one log-variance for each mean."
        )
    _check_finite("log_var", logs.isnan() | (logs == torch.inf))
    std_of_logs = (logs / 2).exp().to(mean)
    _refuse_where(
        std_of_logs.isinf(),
        "log_var is so large that the std, exp(log_var / 2), overflows",
        "It is the natural logarithm of the variance.",
    )
    return std_of_logs


def _as_draws(samples: Any) -> Float[Tensor, "draw image latent"]:
    draws = as_floats("samples", samples)
    if draws.ndim == 2:
        draws = draws[None]
    if draws.ndim != 3 or 0 in draws.shape:
        raise CodesError(
            f"samples has shape {tuple(draws.shape)}; expected (images, latents) or (draws, images, latents) with at "
            "least one of each."
        )
    _check_finite("samples", (~draws.isfinite()).any(dim=0))
    return draws


def _as_tables(probabilities: Any) -> tuple[Float[Tensor, "image _category"], ...]:
    given = probabilities if isinstance(probabilities, (list, tuple)) else as_array("probabilities", probabilities)
    if not isinstance(given, (list, tuple)) and given.ndim not in (2, 3):
        raise CodesError(
            f"probabilities has shape {tuple(given.shape)}; expected a list of tables (images, categories)."
        )
    is_one_table = not isinstance(given, (list, tuple)) and given.ndim == 2
    tables = tuple(as_floats("probabilities", table) for table in ([given] if is_one_table else given))
    for table in tables:
        if table.ndim != 2 or 0 in table.shape:
            raise CodesError(
                f"A table of probabilities has shape {tuple(table.shape)}; expected a list of tables (images, "
                "categories)."
            )
    return tables


def _as_factors(
    factors: Any, names: Sequence[str] | None, missing: Missing, device: torch.device
) -> tuple[Labels, ...]:
    if factors is None:
        if names is not None:
            raise CodesError("factor_names was given without factors. Give the factors too, or leave the names out.")
        return ()
    if isinstance(factors, Mapping):
        if names is not None:
            raise CodesError(
                "factor_names was given with a mapping of factors, which has names of its own. Leave it out."
            )
        return tuple(Labels.of(str(name), column, missing=missing, device=device) for name, column in factors.items())
    table = factors if isinstance(factors, np.ma.MaskedArray) else as_array("factors", factors)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise CodesError(f"factors has shape {tuple(table.shape)}; expected (images, factors).")
    names = [f"factor_{k}" for k in range(table.shape[1])] if names is None else _as_names(names)
    if len(names) != table.shape[1]:
        raise CodesError(
            f"{len(names)} factor names were given for {table.shape[1]} columns of factors; give one name a column."
        )
    return tuple(Labels.of(name, table[:, k], missing=missing, device=device) for k, name in enumerate(names))


def _as_names(names: Any) -> list[str]:
    if isinstance(names, str):
        return [names]
    try:
        return list(map(str, names))
    except TypeError:
        raise CodesError(
            f"factor_names is {names!r}; expected a list of names, one for each column of factors."
        ) from None


def _as_groups(groups: Any) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(operator.index(latent) for latent in group) for group in groups)
    except TypeError:
        raise CodesError(
            f"groups is {str(groups)[:80]}; expected tuples of latent numbers, such as [(0, 1), (2,)]."
        ) from None


# ----------------------------------------------------------------------------------------------------------------------
# checks


def _check_finite(name: str, bad: Tensor) -> None:
    _refuse_where(bad, f"{name} is NaN or infinite", "Drop those rows or find what made them.")


def _refuse_where(bad: Tensor, complaint: str, advice: str) -> None:
    """`bad` is image by latent."""
    if bool(bad.any()):
        rows, latents = bad.any(1).nonzero()[:, 0].tolist(), bad.any(0).nonzero()[:, 0].tolist()
        raise CodesError(
            f"{complaint} in {len(rows)} rows ({shown(rows)}), latents [{shown(latents, most=20)}]. {advice}"
        )


def _check_std(std: Tensor, mean: Float[Tensor, "image latent"]) -> None:
    if std.shape != mean.shape:
        raise CodesError(f"std has shape {tuple(std.shape)} and mean {tuple(mean.shape)}; give one std for each mean.")
    _check_finite("std", ~std.isfinite())
    if std.numel() == 0:  # discrete latents alone
        return
    _refuse_where(
        std < 0,
        f"std is negative (the least is {float(std.min()):g})",
        "If it holds log-variances, pass it as log_var.",
    )


def _check_covariance(covariance: Tensor, std: Tensor | None, mean: Float[Tensor, "image latent"]) -> None:
    num_images, num_latents = mean.shape
    if std is not None:
        raise CodesError("Both std and covariance were given. Give one of them: the covariance holds the variances.")
    if covariance.shape != (num_images, num_latents, num_latents):
        raise CodesError(
            f"covariance has shape {tuple(covariance.shape)}; expected one matrix a code, "
            f"{(num_images, num_latents, num_latents)}."
        )
    _check_finite("covariance", (~covariance.isfinite()).any(dim=2))
    variances = covariance.diagonal(dim1=1, dim2=2)
    if bool((variances < 0).any()):
        raise CodesError(
            f"covariance has negative variances on its diagonal (the least is {float(variances.min()):g})."
        )
    # Float32 keeps seven digits; matrices that were multiplied together differ from their transpose by a few units of
    # the last.
    if bool(((covariance - covariance.mT).abs() > 1e-4 * covariance.abs().amax(dim=(1, 2), keepdim=True)).any()):
        raise CodesError("covariance is not symmetric in some images. Give covariances, not their Cholesky factors.")


def _check_samples(samples: Tensor, mean: Float[Tensor, "image latent"]) -> None:
    if samples.ndim != 3 or samples.shape[1:] != mean.shape or len(samples) == 0:
        raise CodesError(
            f"samples has shape {tuple(samples.shape)}; expected (draws, images, latents) for the {tuple(mean.shape)} "
            "of mean: one point a draw and image."
        )
    _check_finite("samples", (~samples.isfinite()).any(dim=0))


def _check_probabilities(name: str, table: Tensor, num_images: int) -> None:
    if table.ndim != 2 or len(table) != num_images or table.shape[1] == 0:
        raise CodesError(
            f"{name} has shape {tuple(table.shape)}; expected a row for each of the {num_images} images, a column a "
            "category."
        )
    bad = ~table.isfinite().all(dim=1) | (table < 0).any(dim=1) | ((table.double().sum(dim=1) - 1).abs() > 1e-4)
    if bool(bad.any()):
        rows = bad.nonzero()[:, 0].tolist()
        raise CodesError(
            f"{name} is negative, not finite or does not sum to 1 in {len(rows)} rows (the first is {rows[0]}). Give "
            "q(z | x) of each category; "
            "logits go through a softmax first."
        )


def _check_groups(groups: Sequence[Sequence[int]], num_latents: int) -> None:
    named = [latent for group in groups for latent in group]
    if any(len(group) == 0 for group in groups) or not all(0 <= latent < num_latents for latent in named):
        raise CodesError(
            f"groups is {groups}; expected tuples of latent numbers from 0 to {num_latents - 1}, none of them empty."
        )
    if len(set(named)) < len(named):
        raise CodesError(f"groups is {groups}: some latent is named twice. Put each into one group.")


def _check_factors(factors: Sequence[Labels], mean: Float[Tensor, "image latent"]) -> None:
    num_images = len(mean)
    for labels in factors:
        if not isinstance(labels, Labels):
            raise CodesError(
                f"A factor is {type(labels).__name__}; expected Labels. Codes.from_arrays takes numpy arrays and lists."
            )
        if labels.values.device != mean.device or (labels.known is not None and labels.known.device != mean.device):
            raise CodesError(
                f"Factor {labels.name!r} is on {labels.values.device} and mean on {mean.device}. Move all of them to "
                "one device."
            )
        if len(labels.values) != num_images:
            raise CodesError(
                f"Factor {labels.name!r} has {len(labels.values)} labels for {num_images} codes; give one label a code."
            )
    names = [labels.name for labels in factors]
    if len(set(names)) < len(names):
        raise CodesError(f"The factors are named {shown(names, most=20)}: some share a name. Give each its own.")


def _check_weights(weights: Tensor, num_images: int) -> None:
    if weights.shape != (num_images,):
        raise CodesError(
            f"weights has shape {tuple(weights.shape)}; give one weight for each of the {num_images} codes."
        )
    if not bool(weights.isfinite().all() & (weights >= 0).all() & (weights > 0).any()):
        raise CodesError(
            "weights are probabilities p(n) up to scale: none may be negative, NaN or infinite, and not all may be 0."
        )


def _check_prior(prior: LatentPrior, codes: Codes) -> None:
    if not isinstance(prior, LatentPrior):
        raise CodesError(
            f"prior is {type(prior).__name__}; expected a LatentPrior. Codes.from_arrays takes arrays too."
        )
    found = (len(prior.mean), *map(len, prior.probabilities))
    expected = (codes.mean.shape[1], *(table.shape[1] for table in codes.probabilities))
    if found != expected:
        raise CodesError(
            f"The prior is one of {_latents(found)}, and the codes have {_latents(expected)}. Give a prior for each "
            "latent."
        )


def _latents(sizes: Sequence[int]) -> str:
    """How many continuous latents there are, and how many categories each discrete one has."""
    discrete = f" and discrete ones with {shown(sizes[1:])} categories" if len(sizes) > 1 else ""
    return f"{sizes[0]} continuous latents{discrete}"


def _tamed(weights: Float[Tensor, " image"]) -> Float[Tensor, " image"]:
    """The same weights up to scale, none so large or so small that sums of their squares leave even single
    precision.
    """
    greatest = weights.max()
    return weights if 1e-15 <= float(greatest) <= 1e15 else weights / greatest
