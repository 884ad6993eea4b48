"""Config that selects the images, factors and weights to score."""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

from jaxtyping import Int64
from torch import Tensor

from unbraid._internal import row_draws as draw
from unbraid._internal.names import suggestion
from unbraid.config import Config, from_json, text_of, to_json
from unbraid.datasets.subsets import Subset
from unbraid.datasets.weights import Joint
from unbraid.errors import SpecError

ScoredPart = Literal["train", "test", "all"]
Discrete = Literal["columns", "left_out"]
Fit = Literal["part", "train"]
Groups = Literal["pca"]
Sampling = Literal["data"] | Joint | None


@final
@dataclass(frozen=True)
class Scoring(Config):
    """Images, factors and weights to score. Scores contain the fields that differ from their defaults.

    Examples:
        >>> Scoring(part="test", factors=["size"]).changes()
        {'part': 'test', 'factors': ['size']}
    """

    part: ScoredPart = "train"
    """Images of a run: the training images, the images held out from training (test), or all images of the dataset."""
    factors: tuple[str, ...] = ()
    """Names of the factors; empty for all."""
    sampling: Sampling = None
    """Probabilities of images: as in training (None), as in the dataset (data), or a joint table of factors."""
    discrete: Discrete | None = None
    """Discrete latents for metrics without support for them: as columns of probabilities, or left out; None raises."""
    fraction: float = 1.0
    """Fraction of the images, drawn without replacement with a fixed seed."""
    fit: Fit = "part"
    """Training images of predictors: images of the scored part, or, for part=test, the training images of the run."""
    step: int | None = None
    """Step of a snapshot of the model; None for the end of training."""
    subset: Subset | None = None
    """Subset of the images for part=all; None for all images."""
    one_vs_rest: tuple[str, ...] = ()
    """Names of factors to replace by a binary attribute for each value."""
    groups: Groups | None = None
    """Replacement of each group of latents by the first principal component of its means (pca), or None."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fraction <= 1:
            raise SpecError(f"Scoring: fraction is {self.fraction}; expected a number > 0 and <= 1. Pass e.g. 0.5.")
        if self.step is not None and self.step < 1:
            raise SpecError(f"Scoring: step is {self.step}; expected >= 1. Pass None for the end of training.")
        if len(set(self.factors)) < len(self.factors):
            raise SpecError(
                f"Scoring: factors is {', '.join(self.factors)}; expected different names. Remove duplicates."
            )
        if self.fit == "train" and self.part != "test":
            raise SpecError(
                f"Scoring: part is {self.part!r}; expected 'test' for fit='train'. Set part='test', or omit fit."
            )
        if self.subset is not None and self.part != "all":
            raise SpecError(f"Scoring: part is {self.part!r}; expected 'all' with a subset. Set part='all'.")

    def changes(self) -> dict[str, Any]:
        """Returns the fields that differ from their defaults, as JSON values."""
        return dict(_changes(self))

    @classmethod
    def from_changes(cls, changes: Mapping[str, Any], *, packages: Collection[str] = ()) -> "Scoring":
        """Creates a scoring from the output of `changes`. Its classes must be in unbraid or in `packages`."""
        scoring: Scoring = from_json(
            {"type": to_json(cls())["type"], **changes}, cls, packages=packages, where="scoring"
        )
        return scoring

    def normalized(self, factor_names: Sequence[str], *, has_discrete: bool, has_groups: bool) -> "Scoring":
        """Returns the scoring in a canonical form. Raises an error if a factor is unknown.

        Factors are in the order of the codes, and empty for all factors. The options for discrete latents and groups
        are reset if the codes have no discrete latents or groups.
        """
        for name in self.factors:
            if name not in factor_names:
                raise SpecError(f"The codes have no factor {name!r}. {suggestion(name, factor_names)}")
        chosen = tuple(name for name in factor_names if name in self.factors)
        scored = chosen or tuple(factor_names)
        for name in self.one_vs_rest:
            if name not in scored:
                raise SpecError(f"one_vs_rest contains the unknown factor {name!r}. {suggestion(name, scored)}")
        return replace(
            self,
            factors=() if len(chosen) == len(factor_names) else chosen,
            one_vs_rest=tuple(name for name in scored if name in self.one_vs_rest),
            discrete=self.discrete if has_discrete else None,
            groups=self.groups if has_groups else None,
        )

    def rows(self, num_images: int) -> Int64[Tensor, " row"] | None:
        """Returns the sorted rows of the drawn fraction of images; None for all rows."""
        count = max(2, round(self.fraction * num_images))
        if count >= num_images:
            return None
        return draw.permuted_rows(num_images, 0, "scored rows")[:count].sort().values

    @property
    def phrases(self) -> list[str]:
        """Phrases that describe differences between the scored images and the training images of a run."""
        parts = {"train": [], "test": ["held out in training"], "all": ["trained on and held out"]}
        found = parts[self.part] if self.subset is None else [f"in the subset {text_of(self.subset)}"]
        if self.fit == "train":
            found.append("with predictors fitted on training images")
        if self.step is not None:
            found.append(f"encoded after {self.step:,} steps")
        if self.fraction < 1:
            found.append(f"drawn at random ({100 * self.fraction:g} %)")
        if self.one_vs_rest:
            found.append(f"with an attribute for each value of {', '.join(self.one_vs_rest)}")
        if self.groups is not None:
            found.append("with the first principal component of each group of latents")
        if self.sampling is not None:
            found.append(f"sampled as {self.sampling if isinstance(self.sampling, str) else text_of(self.sampling)}")
        return found


@functools.lru_cache(maxsize=1024)
def _changes(scoring: Scoring) -> dict[str, Any]:
    """Returns the changes. Cached, because a study may have hundreds of thousands of equal scorings."""
    default = to_json(Scoring())
    return {name: value for name, value in to_json(scoring).items() if value != default[name]}


def named(factors: str | Sequence[str] | None) -> tuple[str, ...]:
    """Converts one name or a sequence of names of factors to a tuple."""
    if factors is None or isinstance(factors, str):
        return () if factors is None else (factors,)
    if not isinstance(factors, Iterable):
        raise SpecError(f"factors is {factors!r}; expected names of factors. Pass e.g. ['scale', 'shape'].")
    return tuple(factors)
