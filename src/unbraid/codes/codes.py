"""Codes: the one table that every metric reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.arrays import as_floats, checked_tensor, same_content
from unbraid.codes.checks import (
    check_covariance,
    check_factors,
    check_finite,
    check_groups,
    check_prior,
    check_probabilities,
    check_samples,
    check_several_images,
    check_std,
    check_weights,
)
from unbraid.codes.conversions import as_fields, as_groups, as_rows, tamed
from unbraid.codes.discrete_latents import fields_with_columns, fields_without_discrete
from unbraid.codes.factor_forms import Marks
from unbraid.codes.grouped_latents import fields_along, group_directions
from unbraid.codes.joining import JOINED, joined_tables, joined_weights
from unbraid.codes.labels import Labels
from unbraid.codes.latent_prior import LatentPrior
from unbraid.codes.some_latents import check_latents, fields_of_latents
from unbraid.errors import CodesError
from unbraid.names import suggestion


@final
@dataclass(frozen=True, eq=False)
class Codes:
    """Holds what an encoder says of N images: q(z | x) for each, and the factors where they are known.

    The continuous latents are Gaussian with `mean` and `std`, or with a full `covariance`; or only `samples` of them
    are known. Discrete latents are `probabilities`, one table for each. Latents are numbered through, the continuous
    ones first. `groups` names the latents that belong together. `weights` is p(n) up to scale, uniform if absent.
    `prior` is p(z), where it is known.

    Examples:
        >>> import numpy as np
        >>> mean = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [1.0, 0.0]])
        >>> codes = Codes.from_arrays(mean, std=0.1 + 0 * mean, factors={"side": [0, 1, 0, 1]})
        >>> len(codes), codes.num_latents, codes.factor_names
        (4, 2, ('side',))
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
        check_finite("mean", ~self.mean.isfinite())
        if self.std is not None:
            check_std(self.std, self.mean)
        if self.covariance is not None:
            check_covariance(self.covariance, self.std, self.mean)
        if self.samples is not None:
            check_samples(self.samples, self.mean)
        for number, table in enumerate(self.probabilities):
            check_probabilities(f"probabilities[{number}]", table, len(self.mean))
        check_groups(self.groups, self.num_latents)
        check_factors(self.factors, self.mean)
        if self.weights is not None:
            check_weights(self.weights, len(self.mean))
            object.__setattr__(self, "weights", tamed(self.weights))
        if self.prior is not None:
            check_prior(self.prior, self.mean, self.probabilities)
            object.__setattr__(self, "prior", self.prior.to(self.mean.device))

    def _check_tensors(self) -> None:
        """Checks for tensors of floats on one device, of the right rank, without gradients, and for tuples where they
        are meant.
        """
        object.__setattr__(self, "mean", checked_tensor("mean", self.mean, 2))
        for name, num_axes in (("std", 2), ("covariance", 3), ("samples", 3), ("weights", 1)):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, checked_tensor(name, values, num_axes, like=self.mean))
        if not all(isinstance(getattr(self, name), (tuple, list)) for name in ("probabilities", "factors")):
            raise CodesError(
                "probabilities and factors are a tuple each, of tensors and of Labels. Codes.from_arrays takes them "
                "in other forms."
            )
        object.__setattr__(self, "groups", as_groups(self.groups))
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
        missing: Marks = None,
        unordered: Sequence[str] = (),
        weights: Any = None,
        prior: LatentPrior | Mapping[str, Any] | None = None,
    ) -> "Codes":
        """Returns codes from numpy arrays, tensors or nested lists: `mean` and `std` (or `log_var`) are image by
        latent, `factors` image by factor.

        `samples` are draws of q(z | x) where no density is known: image by latent for one draw each, or draw by image
        by latent; their mean is then the mean. `probabilities` is a list of tables, image by category, one for each
        discrete latent; they may be the only latents. `groups` are tuples of latent numbers, the continuous ones first.

        Columns of integers are values of discrete factors; columns of floats are measurements of continuous ones. To
        mix them, give `factors` as a mapping from names to columns, a DataFrame or a structured array; there a column
        may also hold words and, in a mapping, probabilities p(y | x) (two-dimensional). Or give a tuple of Labels.
        `unordered` names factors whose values are mere names, as words are. `missing` is what marks a label that is
        not known: math.nan, a number such as -1, or a word; or a mapping with one for each such factor. A label
        that a numpy.ma array masks or a DataFrame does not have is not known; masked numbers elsewhere are refused.

        `prior` is p(z), as a LatentPrior or as arrays by name: {"mean": ..., "std": ...}, with "covariance" in place of
        "std" where it correlates latents, and "probabilities_0", ... for discrete ones. Scores that compare codes with
        their prior say so where they have to assume one.
        """
        fields = as_fields(
            mean,
            std,
            log_var=log_var,
            samples=samples,
            covariance=covariance,
            probabilities=probabilities,
            groups=groups,
            factors=factors,
            factor_names=factor_names,
            missing=missing,
            unordered=unordered,
            weights=None if weights is None else as_floats("weights", weights).double(),
            prior=prior,
        )
        check_several_images(fields["mean"])
        return cls(**fields)

    @classmethod
    def load(cls, path: str | Path) -> "Codes":
        """Reads codes from an .npz, .safetensors or .csv file, which `save` or another program wrote. Nothing in it is
        ever run. `unbraid.codes.named_arrays` lists the arrays that are read, `unbraid.codes.csv_file` the columns.
        """
        from unbraid.codes.codes_file import load_codes  # needs safetensors, which the core does without

        return load_codes(Path(path))

    def save(self, path: str | Path) -> None:
        """Writes the codes to an .npz, .safetensors or .csv file, whole or not at all; a file in its place is replaced.

        The first two hold everything. A .csv holds means, standard deviations or one draw each, weights, and labels
        that are single values; it refuses the rest by name.
        """
        from unbraid.codes.codes_file import save_codes

        save_codes(self, Path(path))

    def to_pandas(self) -> Any:
        """Returns the codes as a pandas DataFrame, a row for each image: means, standard deviations, probabilities of
        discrete latents, weights, and the factors under their names, those without an order as categories. pandas must
        be installed; unbraid does not bring it.
        """
        from unbraid.codes.frame import frame_of

        return frame_of(self)

    @classmethod
    def from_pandas(cls, frame: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> "Codes":
        """Returns the codes in a DataFrame with columns as `to_pandas` names them. Every other column is a factor."""
        from unbraid.codes.frame import codes_of

        return codes_of(frame, missing=missing, unordered=unordered)

    def to_hugging_face(self) -> Any:
        """Returns the codes as a `datasets.Dataset`, a row for each image: `mean` and the like are columns of vectors,
        and factors without an order are class labels. The package datasets must be installed.
        """
        from unbraid.codes.hugging_face import dataset_of

        return dataset_of(self)

    @classmethod
    def from_hugging_face(cls, dataset: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> "Codes":
        """Returns the codes in a `datasets.Dataset` with columns as `to_hugging_face` names them. Every other column is
        a factor.
        """
        from unbraid.codes.hugging_face import codes_of

        return codes_of(dataset, missing=missing, unordered=unordered)

    def with_binned_factors(self, num_bins: int = 10) -> "Codes":
        """Returns the codes with continuous factors as value indices: bins of equal width from the least label to the
        greatest. Missing labels stay missing.
        """
        return replace(self, factors=tuple(labels.binned(num_bins) for labels in self.factors))

    def with_one_vs_rest(self, names: str | Sequence[str]) -> "Codes":
        """Returns the codes with a binary attribute for each value of these factors, in their place: "digit 3" is
        whether an image has the digit 3 or another.
        """
        chosen = self.with_factors(names).factor_names
        split = (labels.one_vs_rest() if labels.name in chosen else (labels,) for labels in self.factors)
        return replace(self, factors=tuple(labels for each in split for labels in each))

    def with_factors(self, names: str | Sequence[str]) -> "Codes":
        """Returns the same codes with the factors of these names alone, in the order in which the codes have them."""
        names = (names,) if isinstance(names, str) else names
        for name in names:
            if name not in self.factor_names:
                raise CodesError(f"These codes have no factor {name!r}. {suggestion(name, self.factor_names)}")
        return replace(self, factors=tuple(labels for labels in self.factors if labels.name in names))

    def rows(self, rows: Any) -> "Codes":
        """Returns the codes of some of the images: a slice of them, their numbers, or True and False for each image."""
        index = rows if isinstance(rows, slice) else as_rows(rows, len(self)).to(self.mean.device)

        def of(table: Tensor | None) -> Tensor | None:
            return None if table is None else table[index]

        return replace(
            self,
            mean=self.mean[index],
            std=of(self.std),
            covariance=of(self.covariance),
            samples=None if self.samples is None else self.samples[:, index],
            probabilities=tuple(table[index] for table in self.probabilities),
            factors=tuple(labels[index] for labels in self.factors),
            weights=of(self.weights),
        )

    def joined(self, others: "Codes") -> "Codes":
        """Returns these codes and those of other images below them. They must have the same latents and factors; groups
        and prior are these codes' own. Weights of either are scaled to sum to the number of its images.
        """
        if not isinstance(others, Codes):
            raise CodesError(f"Codes were given as {type(others).__name__}; expected unbraid.Codes.")
        ours, theirs = ({name: getattr(codes, name) for name in JOINED} for codes in (self, others))
        weights = joined_weights(self.weights, len(self), others.weights, len(others), self.mean)
        return replace(self, **joined_tables(ours, theirs), weights=weights)

    def with_latents(self, latents: Sequence[int]) -> "Codes":
        """Returns the codes with the latents of these numbers alone, in this order, the continuous ones first."""
        check_latents(latents, self.num_latents)
        tables = (self.mean, self.std, self.covariance, self.samples, self.probabilities, self.groups, self.prior)
        return replace(self, **fields_of_latents(latents, *tables))

    def without_discrete(self) -> "Codes":
        """Returns the codes without their discrete latents. Raises if they have no others."""
        if not self.probabilities:
            return self
        return replace(self, **fields_without_discrete(self.mean.shape[1], self.num_latents, self.groups, self.prior))

    def with_discrete_as_columns(self) -> "Codes":
        """Returns the codes with the probabilities of each discrete latent as further means, one for each category; a
        latent of two categories is one column, the probability of the second.

        They stand behind the continuous latents, have a std of 0 where those have any, and no prior is known of them.
        Metrics that read means alone can then see them.
        """
        if not self.probabilities:
            return self
        return replace(
            self,
            **fields_with_columns(self.mean, self.std, self.covariance, self.samples, self.probabilities, self.groups),
        )

    def with_groups_as_latents(self, like: "Codes | None" = None) -> "Codes":
        """Returns the codes with each of the `groups` as one latent, the first principal component of its means; where
        given, that of other codes. Only directions are fitted, so widths and draws go along.
        """
        other = self if like is None else like
        directions = group_directions(other.mean, other.weights, self.groups, self.mean.shape[1])
        return replace(self, **fields_along(directions, self.mean, self.std, self.covariance, self.samples))

    def to(self, device: torch.device | str) -> "Codes":
        """Returns the same codes on another device: metrics compute where the codes are."""
        if torch.device(device) == self.mean.device:
            return self

        def moved(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.to(device)

        return Codes(
            mean=self.mean.to(device),
            std=moved(self.std),
            covariance=moved(self.covariance),
            samples=moved(self.samples),
            probabilities=tuple(table.to(device) for table in self.probabilities),
            groups=self.groups,
            factors=tuple(labels.to(device) for labels in self.factors),
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
        """Returns the number of continuous and discrete latents together."""
        return self.mean.shape[1] + len(self.probabilities)

    @property
    def factor_names(self) -> tuple[str, ...]:
        return tuple(labels.name for labels in self.factors)

    @property
    def marginal_std(self) -> Float[Tensor, "image latent"] | None:
        """Returns the std of each latent by itself: `std`, or the root of the covariance's diagonal. None where only
        samples or means are known.
        """
        if self.std is not None or self.covariance is None:
            return self.std
        return self.covariance.diagonal(dim1=1, dim2=2).sqrt()
