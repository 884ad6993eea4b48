"""The config that selects the codes to score."""

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
    """The images, factors and weights to score. Scores are stored with it, their metric and its settings.

    Examples:
        >>> Scoring(part="test", factors=["size"]).changes()
        {'part': 'test', 'factors': ['size']}
    """

    part: ScoredPart = "train"
    """The images of a run: the training images, the images held out by its subset ("test"), or the whole dataset."""
    factors: tuple[str, ...] = ()
    """The names of the factors; empty for all."""
    sampling: Sampling = None
    """The probabilities of images: as in training (None), as in the dataset ("data"), or by a joint table of factors.
    """
    discrete: Discrete | None = None
    """Discrete latents for metrics that do not take them: columns of probabilities, or left out; None raises."""
    fraction: float = 1.0
    """The share of the images, drawn without replacement with a fixed seed."""
    fit: Fit = "part"
    """The training images of predictors: some of the same part, or, for the part "test", the run's training images."""
    step: int | None = None
    """The step of a snapshot of the model; None for the end of training."""
    subset: Subset | None = None
    """A subset of the part "all"; None for all images."""
    one_vs_rest: tuple[str, ...] = ()
    """The names of factors to replace by a binary attribute for each of their values."""
    groups: Groups | None = None
    """Groups of latents as one latent each, the first principal component of its means; None for single latents."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fraction <= 1:
            raise SpecError(f"Scoring: fraction is {self.fraction}; expected a number above 0, and at most 1.")
        if self.step is not None and self.step < 1:
            raise SpecError(f"Scoring: step is {self.step}; expected at least 1, or None for the end of training.")
        if len(set(self.factors)) < len(self.factors):
            raise SpecError(f"Scoring: factors is {', '.join(self.factors)}; expected each name once.")
        if self.fit == "train" and self.part != "test":
            raise SpecError(
                f"Scoring: fit is 'train', which needs part 'test', and part is {self.part!r}. Set part='test'."
            )
        if self.subset is not None and self.part != "all":
            raise SpecError(f"Scoring: subset needs part 'all', and part is {self.part!r}. Set part='all'.")

    def changes(self) -> dict[str, Any]:
        """Returns the fields that differ from their defaults, as JSON. Scores store these."""
        return dict(_changes(self))

    @classmethod
    def from_changes(cls, changes: Mapping[str, Any], *, packages: Collection[str] = ()) -> "Scoring":
        """Returns the scoring with these `changes`. `packages` may define its classes, beside unbraid."""
        scoring: Scoring = from_json(
            {"type": to_json(cls())["type"], **changes}, cls, packages=packages, where="scoring"
        )
        return scoring

    def normalized(self, factor_names: Sequence[str], *, has_discrete: bool, has_groups: bool) -> "Scoring":
        """Returns the scoring in a unique form, and raises an error if a factor is unknown.

        Factors are in the order of the codes, and empty for all. The options for discrete latents and groups are reset
        if the codes have none.
        """
        for name in self.factors:
            if name not in factor_names:
                raise SpecError(f"There is no factor {name!r} to score. {suggestion(name, factor_names)}")
        chosen = tuple(name for name in factor_names if name in self.factors)
        scored = chosen or tuple(factor_names)
        for name in self.one_vs_rest:
            if name not in scored:
                raise SpecError(f"There is no factor {name!r} to split into attributes. {suggestion(name, scored)}")
        return replace(
            self,
            factors=() if len(chosen) == len(factor_names) else chosen,
            one_vs_rest=tuple(name for name in scored if name in self.one_vs_rest),
            discrete=self.discrete if has_discrete else None,
            groups=self.groups if has_groups else None,
        )

    def rows(self, num_images: int) -> Int64[Tensor, " row"] | None:
        """Returns the rows of the drawn fraction, in order; None for all."""
        count = max(2, round(self.fraction * num_images))
        if count >= num_images:
            return None
        return draw.permuted_rows(num_images, 0, "scored rows")[:count].sort().values

    @property
    def phrases(self) -> list[str]:
        """Phrases on the differences between the scored images and the training images of a run."""
        parts = {"train": [], "test": ["held out in training"], "all": ["trained on and held out"]}
        found = parts[self.part] if self.subset is None else [f"in the subset {text_of(self.subset)}"]
        if self.fit == "train":
            found.append("with predictors fitted on those trained on")
        if self.step is not None:
            found.append(f"encoded after {self.step:,} steps")
        if self.fraction < 1:
            found.append(f"drawn at random ({100 * self.fraction:g} %)")
        if self.one_vs_rest:
            found.append(f"with an attribute for each value of {', '.join(self.one_vs_rest)}")
        if self.groups is not None:
            found.append("with each group of latents as one, its first principal component")
        if self.sampling is not None:
            found.append(f"sampled as {self.sampling if isinstance(self.sampling, str) else text_of(self.sampling)}")
        return found


@functools.lru_cache(maxsize=1024)
def _changes(scoring: Scoring) -> dict[str, Any]:
    """Returns the changes, cached: a study may have hundreds of thousands of equal scorings."""
    default = to_json(Scoring())
    return {name: value for name, value in to_json(scoring).items() if value != default[name]}


def named(factors: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the names of factors as a tuple, given a sequence or one name."""
    if factors is None or isinstance(factors, str):
        return () if factors is None else (factors,)
    if not isinstance(factors, Iterable):
        raise SpecError(f"factors is {factors!r}; expected the names of factors, such as ['scale', 'shape'].")
    return tuple(factors)
