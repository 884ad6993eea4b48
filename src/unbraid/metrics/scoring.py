"""Scoring: which codes are scored, and how."""

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
    """Which codes are scored, and how: of which images, over which factors, under which weights.

    Scores are kept by it, beside their metric and its settings, so that no two questions are mixed up.

    Examples:
        >>> Scoring(part="test", factors=["size"]).changes()
        {'part': 'test', 'factors': ['size']}
    """

    part: ScoredPart = "train"
    """What of a run is scored: the images that it was trained on, those that its subset held out ("test"), or all of
    the data set, which are the two together.
    """
    factors: tuple[str, ...] = ()
    """The names of the factors that metrics look at; without any, all."""
    sampling: Sampling = None
    """How likely images are: as in training (None), as in the data set itself ("data"), or by a joint table of factors.
    """
    discrete: Discrete | None = None
    """How discrete latents are shown to metrics that do not take them: the probabilities of their categories as
    columns, or left out; None refuses them.
    """
    fraction: float = 1.0
    """The share of the images that is scored: drawn without replacement, always the same."""
    fit: Fit = "part"
    """What predictors are fitted on: images of the same part, set apart for that, or, to be tested on the part "test",
    those that the run was trained on.
    """
    step: int | None = None
    """The step after which the model is scored, where a run has a snapshot of it; None is the end of training."""
    subset: Subset | None = None
    """Which images of the part "all" are scored, whether they were trained on or not; None for all of them."""
    one_vs_rest: tuple[str, ...] = ()
    """The names of factors that are replaced by a binary attribute for each of their values: this digit, or another."""
    groups: Groups | None = None
    """How groups of latents, which are vector-valued ones, are scored: each as one latent, the first principal
    component of its means; None scores every latent by itself.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fraction <= 1:
            raise SpecError(f"Scoring: fraction is {self.fraction}; expected a number above 0, and at most 1.")
        if self.step is not None and self.step < 1:
            raise SpecError(f"Scoring: step is {self.step}; expected a step from 1 on, or None: the end of training.")
        if len(set(self.factors)) < len(self.factors):
            raise SpecError(f"Scoring: factors is {', '.join(self.factors)}: one of them twice. Name each once.")
        if self.fit == "train" and self.part != "test":
            raise SpecError(
                f"Scoring: predictors fitted on what was trained on (fit 'train') are tested on part 'test'; part is "
                f"{self.part!r}. Ask for part 'test', or leave fit out."
            )
        if self.subset is not None and self.part != "all":
            raise SpecError(
                f"Scoring: a subset chooses among all images of the data set, and part is {self.part!r}. Add "
                "part='all', or leave the subset out."
            )

    def changes(self) -> dict[str, Any]:
        """Returns the fields that differ from their defaults, as JSON. Scores keep these: two scores of one metric and
        its settings answer the same question if they are equal.
        """
        return dict(_changes(self))

    @classmethod
    def from_changes(cls, changes: Mapping[str, Any], *, packages: Collection[str] = ()) -> "Scoring":
        """Returns the scoring of which these are the `changes`. `packages` are those, beside unbraid, whose classes it
        may name.
        """
        scoring: Scoring = from_json(
            {"type": to_json(cls())["type"], **changes}, cls, packages=packages, where="scoring"
        )
        return scoring

    def settled(self, factor_names: Sequence[str], *, has_discrete: bool, has_groups: bool) -> "Scoring":
        """Returns the same scoring in one form: factors in the order of the codes and none where it is all of them, and
        nothing about discrete latents or groups where there are none. Raises if a factor is not there.
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
        """Returns the rows of the drawn fraction, in their order; None if that is all of them."""
        count = max(2, round(self.fraction * num_images))
        if count >= num_images:
            return None
        return draw.permuted_rows(num_images, 0, "scored rows")[:count].sort().values

    @property
    def phrases(self) -> list[str]:
        """Returns what to say of the images beside their number: how they differ from all that a run was trained on."""
        parts = {"train": [], "test": ["held out in training"], "all": ["trained on and held out"]}
        said = parts[self.part] if self.subset is None else [f"in the subset {text_of(self.subset)}"]
        if self.fit == "train":
            said.append("with predictors fitted on those trained on")
        if self.step is not None:
            said.append(f"encoded after {self.step:,} steps")
        if self.fraction < 1:
            said.append(f"drawn at random ({100 * self.fraction:g} %)")
        if self.one_vs_rest:
            said.append(f"with an attribute for each value of {', '.join(self.one_vs_rest)}")
        if self.groups is not None:
            said.append("with each group of latents as one, its first principal component")
        if self.sampling is not None:
            said.append(f"sampled as {self.sampling if isinstance(self.sampling, str) else text_of(self.sampling)}")
        return said


@functools.lru_cache(maxsize=1024)
def _changes(scoring: Scoring) -> dict[str, Any]:
    """Returns the changes once for all runs that are scored alike: a study may have hundreds of thousands."""
    default = to_json(Scoring())
    return {name: value for name, value in to_json(scoring).items() if value != default[name]}


def named(factors: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the names of factors as a config holds them, from a list or from one name."""
    if factors is None or isinstance(factors, str):
        return () if factors is None else (factors,)
    if not isinstance(factors, Iterable):
        raise SpecError(f"factors is {factors!r}; expected the names of factors, such as ['scale', 'shape'].")
    return tuple(factors)
