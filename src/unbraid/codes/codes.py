"""Codes, the input of all metrics."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import as_floats, checked_tensor, same_content
from unbraid._internal.names import suggestion
from unbraid._internal.short_repr import short_repr
from unbraid.codes.checks import (
    as_groups,
    as_rows,
    check_covariance,
    check_factors,
    check_finite,
    check_groups,
    check_prior,
    check_probabilities,
    check_samples,
    check_std,
    check_weights,
    rescale_if_extreme,
)
from unbraid.codes.conversions import CodesOptions, as_draws, as_factors, as_mean, as_std, as_tables
from unbraid.codes.labels import Labels, Marks
from unbraid.codes.latent_prior import LatentPrior
from unbraid.errors import CodesError

_AXES = {
    "std": "images, latents",
    "covariance": "images, latents, latents",
    "samples": "draws, images, latents",
    "weights": "images",
}


@final
@dataclass(frozen=True, eq=False)
class Codes:
    """Codes of N images: q(z | x) of each image, and the factor labels.

    Continuous latents are Gaussian, with `mean` and `std` or a full `covariance`, or are described by `samples`. Each
    table of `probabilities` is a discrete latent. Discrete latents have higher indices than continuous latents.
    `groups` lists the latents of each group. `weights` is p(n) up to scale, uniform if None. `prior` is p(z).

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

    __repr__ = short_repr

    def __post_init__(self) -> None:
        self._check_tensors()
        if len(self.mean) == 0 or self.num_latents == 0:
            raise CodesError(
                f"mean has shape {tuple(self.mean.shape)}; expected (images, latents). Pass at least one image and "
                "latent."
            )
        if self.samples is not None:
            check_samples(self.samples, self.mean)
        check_finite("mean", ~self.mean.isfinite())
        if self.std is not None:
            check_std(self.std, self.mean)
        if self.covariance is not None:
            check_covariance(self.covariance, self.std, self.mean)
        for number, table in enumerate(self.probabilities):
            check_probabilities(f"probabilities[{number}]", table, len(self.mean))
        object.__setattr__(self, "groups", as_groups(self.groups))
        check_groups(self.groups, self.num_latents)
        check_factors(self.factors, self.mean)
        object.__setattr__(self, "factors", tuple(labels.to(self.mean.device) for labels in self.factors))
        if self.weights is not None:
            check_weights(self.weights, len(self.mean))
            object.__setattr__(self, "weights", rescale_if_extreme(self.weights))
        if self.prior is not None:
            check_prior(self.prior, self.mean, self.probabilities)
            object.__setattr__(self, "prior", self.prior.to(self.mean.device))

    def _check_tensors(self) -> None:
        """Checks the types and ranks of all tensors, detaches the tensors, and moves them to the device of `mean`."""
        object.__setattr__(self, "mean", checked_tensor("mean", self.mean, "images, latents"))
        for name, axes in _AXES.items():
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, checked_tensor(name, values, axes).to(self.mean.device))
        if not all(isinstance(getattr(self, name), (tuple, list)) for name in ("probabilities", "factors")):
            raise CodesError(
                f"probabilities is a {type(self.probabilities).__name__} and factors a {type(self.factors).__name__}; "
                "expected tuples of tensors and of Labels. Use Codes.from_arrays for other types."
            )
        tables = (
            checked_tensor(f"probabilities[{number}]", table, "images, categories").to(self.mean.device)
            for number, table in enumerate(self.probabilities)
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
        probabilities: Any = (),
        factors: Any = None,
        weights: Any = None,
        options: CodesOptions | None = None,
    ) -> "Codes":
        """Creates codes from numpy arrays, tensors or nested lists.

        Args:
            mean: Image by latent.
            std: Image by latent.
            log_var: Logarithms of the variances, instead of `std`.
            samples: Draws of q(z | x) without a known density: image by latent, or draw by image by latent. `mean`
                defaults to the mean over draws.
            probabilities: A list of tables, image by category, one for each discrete latent.
            factors: Image by factor, or a mapping from names to columns, a DataFrame, a structured array, or a tuple of
                Labels. Columns of integers are discrete factors, floats continuous factors, and strings categorical
                factors. In a mapping, a column may be a table of probabilities p(y | x). Masked entries, and missing
                entries of a DataFrame, are missing labels.
            weights: p(n) of each image, up to scale.
            options: Options for reading `factors`, covariances, groups and the prior.
        """
        options = options or CodesOptions()
        covariance, prior, draws, tables = (
            options.covariance,
            options.prior,
            as_draws(samples),
            as_tables(probabilities),
        )
        spread = as_std(std, log_var)
        center = as_mean(mean, draws, tables, has_spread=not (spread is covariance is None))
        codes = cls(
            mean=center,
            std=None if spread is None else spread.to(center),
            covariance=None if covariance is None else as_floats("covariance", covariance).to(center),
            samples=None if draws is None else draws.to(center),
            probabilities=tuple(table.to(center.device) for table in tables),
            groups=as_groups(options.groups),
            factors=as_factors(
                factors,
                options.factor_names,
                missing=options.missing,
                unordered=options.unordered,
                device=center.device,
            ),
            weights=None if weights is None else as_floats("weights", weights).to(center.device),
            prior=LatentPrior.from_mapping(prior) if isinstance(prior, Mapping) else prior,
        )
        if len(codes) == 1:
            raise CodesError("The codes have 1 image; expected at least 2, because scores compare images. Pass more.")
        return codes

    @classmethod
    def from_model(cls, module: Any, dataset: Any, *, batch_size: int = 1024) -> "Codes":
        """Returns the codes of all images of a dataset, on the device of the module, which is set to `eval`.

        Args:
            module: Its `encode(x)` returns (mean, logvar), a Gaussian `Posterior`, or one tensor of codes.
            dataset: A dataset of unbraid, or a `Dataset` or `DataLoader` of torch with items x or (x, factors).
                `factors` is a number, a row of numbers, or a mapping from names to numbers.
            batch_size: Number of images per batch.

        Examples:
            >>> from unbraid import MLP, Autoencoder
            >>> images = torch.rand(20, 1, 4, 4)
            >>> model = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,))).build((1, 4, 4), seed=0)
            >>> Codes.from_model(model, [(image, row % 2) for row, image in enumerate(images)]).factor_names
            ('factor_0',)
        """
        from unbraid.codes.model_codes import codes_of_model  # late, because it imports this module

        return codes_of_model(module, dataset, batch_size)

    @classmethod
    def load(cls, path: str | Path) -> "Codes":
        """Reads codes from an .npz, .safetensors or .csv file written by `save` or another program.

        `unbraid.codes.named_arrays` lists the supported arrays, and `unbraid.codes.csv_file` the columns. No code in a
        file is executed.
        """
        from unbraid.codes.codes_file import load_codes  # late, because it imports safetensors

        return load_codes(Path(path))

    def save(self, path: str | Path) -> None:
        """Writes the codes to an .npz, .safetensors or .csv file. An existing file is replaced atomically.

        A .csv file has no columns for some fields, which raise an error if they are set.
        """
        from unbraid.codes.codes_file import save_codes

        save_codes(self, Path(path))

    def to_pandas(self) -> Any:
        """Converts the codes to a pandas DataFrame with a row for each image. Requires pandas.

        The columns are means, standard deviations, probabilities of discrete latents, weights, and factors by name.
        Categorical factors have the dtype category.
        """
        from unbraid.codes.columns import to_pandas

        return to_pandas(self)

    @classmethod
    def from_pandas(cls, frame: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> "Codes":
        """Creates codes from a DataFrame with columns named as in `to_pandas`. All other columns are factors."""
        from unbraid.codes.columns import from_pandas

        return from_pandas(frame, missing=missing, unordered=unordered)

    def to_hugging_face(self) -> Any:
        """Converts the codes to a `datasets.Dataset` with a row for each image. Requires the package datasets.

        `mean`, `std` and other vectors are columns of lists, and categorical factors are class labels.
        """
        from unbraid.codes.columns import to_hugging_face

        return to_hugging_face(self)

    @classmethod
    def from_hugging_face(cls, dataset: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> "Codes":
        """Creates codes from a `datasets.Dataset` with columns named as in `to_hugging_face`.

        All other columns are factors.
        """
        from unbraid.codes.columns import from_hugging_face

        return from_hugging_face(dataset, missing=missing, unordered=unordered)

    def with_binned_factors(self, num_bins: int = 10) -> "Codes":
        """Bins continuous factors into bins of equal width between the smallest and the largest label.

        Missing labels stay missing.
        """
        return replace(self, factors=tuple(labels.binned(num_bins) for labels in self.factors))

    def with_one_vs_rest(self, names: str | Sequence[str]) -> "Codes":
        """Replaces the named factors by a binary attribute for each value.

        For example, "digit 3" is 1 for images of the digit 3 and 0 for other images.
        """
        chosen = self.with_factors(names).factor_names
        split = (labels.one_vs_rest() if labels.name in chosen else (labels,) for labels in self.factors)
        return replace(self, factors=tuple(labels for each in split for labels in each))

    def with_factors(self, names: str | Sequence[str]) -> "Codes":
        """Selects the named factors, in their original order."""
        names = (names,) if isinstance(names, str) else names
        for name in names:
            if name not in self.factor_names:
                raise CodesError(f"The codes have no factor {name!r}. {suggestion(name, self.factor_names)}")
        return replace(self, factors=tuple(labels for labels in self.factors if labels.name in names))

    def __getitem__(self, rows: Any) -> "Codes":
        """Selects images by an integer, a slice, integers, or a mask."""
        if isinstance(rows, slice) and (rows.step or 1) < 0:  # torch does not support negative steps
            rows = list(range(len(self))[rows])
        index = rows if isinstance(rows, slice) else as_rows(rows, len(self)).to(self.mean.device)
        return self._with_tables(lambda table, axis: table[:, index] if axis else table[index])

    def __iter__(self) -> "Iterator[Codes]":
        """Yields the codes of each image."""
        return (self[row] for row in range(len(self)))

    @classmethod
    def concat(cls, parts: "Sequence[Codes]") -> "Codes":
        """Concatenates the codes of several sets of images.

        All parts must have the same latents, factors, groups and prior. The weights of each part are scaled to sum to
        its number of images.
        """
        from unbraid.codes.concat import concat_codes

        return concat_codes(parts)

    def with_latents(self, latents: Sequence[int]) -> "Codes":
        """Selects latents, in the given order, continuous latents first."""
        from unbraid.codes.latents import select_latents

        return select_latents(self, latents)

    def without_discrete(self) -> "Codes":
        """Removes the discrete latents. Raises if there are no continuous latents."""
        from unbraid.codes.latents import without_discrete

        return without_discrete(self) if self.probabilities else self

    def with_discrete_as_columns(self) -> "Codes":
        """Converts discrete latents to additional means, the probabilities of the categories.

        Metrics that read only means then also use the discrete latents. A latent of two categories becomes one column,
        the probability of the second category. The new columns follow the continuous latents and have a std of 0 if the
        codes have a std. The result has no prior.
        """
        from unbraid.codes.latents import with_discrete_as_columns

        return with_discrete_as_columns(self) if self.probabilities else self

    def with_groups_as_latents(self, like: "Codes | None" = None) -> "Codes":
        """Replaces each of the `groups` by one latent, the first principal component of the means of the group.

        The components are computed from the means of `like`, by default these codes. Standard deviations and draws are
        projected onto the components.
        """
        from unbraid.codes.latents import with_groups_as_latents

        return with_groups_as_latents(self, self if like is None else like)

    def to(self, device: torch.device | str) -> "Codes":
        """Moves the codes to a device. Metrics are computed on this device."""
        if torch.device(device) == self.mean.device:
            return self
        return self._with_tables(lambda table, axis: table.to(device))

    def _with_tables(self, change: Callable[[Tensor, int], Tensor]) -> "Codes":
        """Applies `change` to each tensor. The second argument of `change` is the image axis of the tensor."""

        def of(table: Tensor | None, axis: int = 0) -> Tensor | None:
            return None if table is None else change(table, axis)

        factors = (replace(f, values=change(f.values, 0), known=of(f.known)) for f in self.factors)
        return replace(
            self,
            mean=change(self.mean, 0),
            std=of(self.std),
            covariance=of(self.covariance),
            samples=of(self.samples, 1),
            probabilities=tuple(change(table, 0) for table in self.probabilities),
            factors=tuple(factors),
            weights=of(self.weights),
        )

    def __len__(self) -> int:
        return len(self.mean)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codes) and same_content(vars(self), vars(other))

    __hash__ = None  # type: ignore[assignment]

    @property
    def num_latents(self) -> int:
        """Total number of continuous and discrete latents."""
        return self.mean.shape[1] + len(self.probabilities)

    @property
    def factor_names(self) -> tuple[str, ...]:
        return tuple(labels.name for labels in self.factors)

    @property
    def marginal_std(self) -> Float[Tensor, "image latent"] | None:
        """Marginal std of each latent, from `std` or `covariance`; None without either."""
        if self.std is not None or self.covariance is None:
            return self.std
        return self.covariance.diagonal(dim1=1, dim2=2).sqrt()
