"""Codes: the one table that every metric reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from unbraid.errors import CodesError


@final
@dataclass(frozen=True)
class Labels:
    """What is known of one factor, image by image.

    `values` are value indices (integers), measurements (floats: a continuous factor), or probabilities p(y | x) over the values
    (two-dimensional: soft labels). `known` is False where the label is missing; what `values` holds there is not read. `ordered` is False
    where the values are mere names.
    """

    name: str
    values: Int[Tensor, " image"] | Float[Tensor, " image"] | Float[Tensor, "image value"]
    known: Bool[Tensor, " image"] | None = None
    ordered: bool = True

    def __post_init__(self) -> None:
        if not self.name.isprintable():
            raise CodesError(f"The factor name {self.name!r} holds control characters. Give a name that can be printed.")
        if self.known is not None and self.known.shape != self.values.shape[:1]:
            raise CodesError(
                f"Factor {self.name!r} has {len(self.values)} labels and `known` has shape {tuple(self.known.shape)}; give one flag a label."
            )
        given = self.values if self.known is None else self.values[self.known]
        if given.is_floating_point() and not bool(given.isfinite().all()):
            raise CodesError(f"Factor {self.name!r} has NaN or infinite labels. Set `known` to False where a label is missing.")
        if self.is_soft and bool((given < 0).any() | ((given.double().sum(dim=1) - 1).abs() > 1e-4).any()):
            raise CodesError(f"Factor {self.name!r} has soft labels that are negative or do not sum to 1; give p(y | x), one row an image.")

    @property
    def is_soft(self) -> bool:
        return self.values.ndim == 2

    @property
    def is_continuous(self) -> bool:
        return self.values.ndim == 1 and self.values.is_floating_point()

    def assignment(self) -> Int64[Tensor, " image"] | Float[Tensor, "image value"]:
        """The values that occur, numbered from 0 in their order, and -1 where not known; or soft labels, with zeros where not known.

        The form in which `unbraid.information` takes a discrete factor.
        """
        if self.is_continuous:
            raise CodesError(
                f"Factor {self.name!r} is continuous: it has no values to count. Bin it first, or give its values as integers."
            )
        known = torch.ones(len(self.values), dtype=torch.bool, device=self.values.device) if self.known is None else self.known
        if self.is_soft:
            return torch.where(known[:, None], self.values, 0)
        numbered = torch.full_like(self.values, -1, dtype=torch.int64)
        numbered[known] = _numbered(self.values[known].long())
        return numbered


@final
@dataclass(frozen=True)
class Codes:
    """What an encoder says of N images: q(z | x) for each, and the factors where they are known.

    The continuous latents are Gaussian with `mean` and `std`, or with a full `covariance`; or only `samples` of them are known. Discrete latents
    are `probabilities`, one table for each. `groups` names the latents that belong together. `weights` is p(n) up to scale, uniform if absent.
    """

    mean: Float[Tensor, "image latent"]
    std: Float[Tensor, "image latent"] | None = None
    covariance: Float[Tensor, "image latent latent"] | None = None
    samples: Float[Tensor, "draw image latent"] | None = None
    probabilities: tuple[Float[Tensor, "image _category"], ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    factors: tuple[Labels, ...] = ()
    weights: Float[Tensor, " image"] | None = None

    def __post_init__(self) -> None:
        _check_finite("mean", self.mean)
        if self.std is not None:
            if self.std.shape != self.mean.shape:
                raise CodesError(f"std has shape {tuple(self.std.shape)} and mean {tuple(self.mean.shape)}; give one std for each mean.")
            _check_finite("std", self.std)
            if bool((self.std < 0).any()):
                raise CodesError(
                    f"std has negative entries (the least is {float(self.std.min()):g}). If it holds log-variances, pass it as log_var."
                )
        if self.covariance is not None:
            _check_covariance(self.covariance, self.std, self.mean)
        for labels in self.factors:
            if len(labels.values) != len(self.mean):
                raise CodesError(
                    f"Factor {labels.name!r} has {len(labels.values)} labels for {len(self.mean)} codes; give one label a code."
                )
        if len(set(self.factor_names)) < len(self.factors):
            raise CodesError(f"The factors are named {', '.join(self.factor_names)}: some share a name. Give each its own.")
        if self.weights is not None:
            _check_weights(self.weights, len(self.mean))

    @classmethod
    def from_arrays(
        cls,
        mean: Any,
        std: Any = None,
        *,
        log_var: Any = None,
        factors: Any = None,
        factor_names: Sequence[str] | None = None,
        weights: Any = None,
    ) -> "Codes":
        """Codes from numpy arrays, tensors or nested lists: `mean` and `std` (or `log_var`) are image by latent, `factors` image by factor.

        Columns of integers are values of discrete factors; columns of floats are measurements of continuous ones. To mix them, give `factors` as a
        mapping from names to columns; there a column may also hold words, or probabilities p(y | x) (two-dimensional).
        """
        mean = _as_matrix("mean", mean)
        if std is not None and log_var is not None:
            raise CodesError("Both std and log_var were given. Give one of them: they say the same thing.")
        if log_var is not None:
            std = (_as_matrix("log_var", log_var) / 2).exp()
        return cls(
            mean=mean,
            std=None if std is None else _as_matrix("std", std).to(mean),
            factors=_as_factors(factors, factor_names, mean.device),
            weights=None if weights is None else _as_tensor(weights).to(mean),
        )

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def num_latents(self) -> int:
        return self.mean.shape[1]

    @property
    def factor_names(self) -> tuple[str, ...]:
        return tuple(labels.name for labels in self.factors)

    @property
    def marginal_std(self) -> Float[Tensor, "image latent"] | None:
        """The std of each latent by itself: `std`, or the root of the covariance's diagonal. None where only samples or means are known."""
        if self.std is not None or self.covariance is None:
            return self.std
        return self.covariance.diagonal(dim1=1, dim2=2).sqrt()


def _numbered(values: Int64[Tensor, " image"]) -> Int64[Tensor, " image"]:
    """0 for the least value that occurs, 1 for the next, and so on."""
    if len(values) == 0:
        return values
    places = values - values.min()
    num_places = int(places.max()) + 1
    if num_places > 16 * len(values):
        return torch.unique(values, return_inverse=True)[1]
    # The same without sorting, which for the labels of all dSprites takes longer than the rest of a metric.
    occurs = torch.zeros(num_places, dtype=torch.int64, device=values.device).index_fill_(0, places, 1)
    return (occurs.cumsum(0) - 1)[places]


def _as_tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise CodesError(f"An array holds {array.dtype}; codes, factors and weights are numbers. Give numbers of one type.")
    return torch.as_tensor(array)


def _as_matrix(name: str, values: Any) -> Float[Tensor, "image latent"]:
    matrix = _as_tensor(values)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise CodesError(f"{name} has shape {tuple(matrix.shape)}; expected (images, latents) with at least one of each.")
    return matrix if matrix.is_floating_point() else matrix.double()


def _as_factors(factors: Any, names: Sequence[str] | None, device: torch.device) -> tuple[Labels, ...]:
    if factors is None:
        return ()
    if isinstance(factors, Mapping):
        return tuple(_as_labels(name, column, device) for name, column in factors.items())
    table = factors if isinstance(factors, Tensor) else np.asarray(factors)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise CodesError(f"factors has shape {tuple(table.shape)}; expected (images, factors).")
    names = [f"factor_{k}" for k in range(table.shape[1])] if names is None else list(names)
    if len(names) != table.shape[1]:
        raise CodesError(f"{len(names)} factor names were given for {table.shape[1]} columns of factors; give one name a column.")
    return tuple(_as_labels(name, table[:, k], device) for k, name in enumerate(names))


def _as_labels(name: str, column: Any, device: torch.device) -> Labels:
    array = column if isinstance(column, Tensor) else np.asarray(column)
    if isinstance(array, np.ndarray) and array.dtype.kind in "USO":
        return Labels(name, torch.from_numpy(np.unique(array.astype(str), return_inverse=True)[1]).to(device), ordered=False)
    values = _as_tensor(array)
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.is_floating_point()):
        raise CodesError(
            f"Factor {name!r} has shape {tuple(values.shape)}; expected one label an image, or p(y | x) as floats (images, values)."
        )
    return Labels(name, values.to(device) if values.is_floating_point() else values.to(device, torch.int64))


def _check_finite(name: str, values: Float[Tensor, "image latent"]) -> None:
    bad = ~values.isfinite()
    if bool(bad.any()):
        rows, latents = bad.any(1).nonzero()[:, 0].tolist(), bad.any(0).nonzero()[:, 0].tolist()
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise CodesError(
            f"{name} is NaN or infinite in {len(rows)} rows ({shown}), latents {latents}. Drop those rows or find what made them."
        )


def _check_covariance(covariance: Tensor, std: Tensor | None, mean: Float[Tensor, "image latent"]) -> None:
    num_images, num_latents = mean.shape
    if std is not None:
        raise CodesError("Both std and covariance were given. Give one of them: the covariance holds the variances.")
    if covariance.shape != (num_images, num_latents, num_latents):
        raise CodesError(
            f"covariance has shape {tuple(covariance.shape)}; expected one matrix a code, {(num_images, num_latents, num_latents)}."
        )
    variances = covariance.diagonal(dim1=1, dim2=2)
    _check_finite("covariance", variances)
    if bool((variances < 0).any()):
        raise CodesError(f"covariance has negative variances on its diagonal (the least is {float(variances.min()):g}).")


def _check_weights(weights: Tensor, num_images: int) -> None:
    if weights.shape != (num_images,):
        raise CodesError(f"weights has shape {tuple(weights.shape)}; give one weight for each of the {num_images} codes.")
    if not bool(weights.isfinite().all() & (weights >= 0).all() & (weights.sum() > 0)):
        raise CodesError("weights are probabilities p(n) up to scale: none may be negative, NaN or infinite, and not all may be 0.")
