"""Experiments: what is done to drawn codes, and what a metric that is valid does then."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, final

from benchmarks.audit.design import NOTHING, PERFECT, Design

Wish = Literal["notice", "ignore"]


@final
@dataclass(frozen=True)
class Experiment:
    """Holds one thing that is done to codes, by degrees, from the first level, where it is not done, to the last.

    `wish` is what a metric must do to be of use for `use`: notice it, which is to keep at most the share `noticed` of
    its range at the last level, or ignore it at every level; `question` asks a metric whether it does. A metric that
    does otherwise may be right all the same, for another question.
    """

    title: str
    axis: str
    levels: Mapping[str, Design]
    wish: Wish
    use: str
    question: str
    noticed: float = 0.8

    @property
    def first(self) -> Design:
        return next(iter(self.levels.values()))

    @property
    def last(self) -> Design:
        return list(self.levels.values())[-1]

    @property
    def nothing(self) -> Design:
        """Returns codes of noise whose factors have as many values as those of the first level: the zero of a share."""
        size = len(self.first.grid)
        return replace(NOTHING, grid=self.first.grid, values=self.first.values, dropped=size, noise=size)

    def shortened(self) -> "Experiment":
        """Returns the experiment with its first and its last level alone."""
        labels = list(self.levels)
        return replace(self, levels={label: self.levels[label] for label in (labels[0], labels[-1])})


def _levels(field: str, values: tuple[Any, ...]) -> dict[str, Design]:
    changes: list[dict[str, Any]] = [{field: value} for value in values]
    return {f"{change[field]:g}": replace(PERFECT, **change) for change in changes}


EXPERIMENTS: Mapping[str, Experiment] = {
    "turned": Experiment(
        "turned axes",
        "two of three latents turned by, degrees",
        _levels("degrees", (0, 15, 30, 40)),
        "notice",
        "alignment of latents with factors",
        "Does it notice turned axes?",
    ),
    "copied": Experiment(
        "copied latents",
        "factors with a second latent that says the same",
        _levels("copied", (0, 1, 3)),
        "notice",
        "compactness (one latent for each factor)",
        "Does it notice a second latent of a factor?",
    ),
    "merged": Experiment(
        "merged factors",
        "pairs of four factors that share one latent",
        {f"{pairs}": replace(PERFECT, grid=(4, 4, 4, 4), merged=pairs) for pairs in (0, 1, 2)},
        "notice",
        "whether each latent holds one factor only",
        "Does it notice a latent that holds two factors?",
    ),
    "dropped": Experiment(
        "lost factors",
        "factors without a latent",
        _levels("dropped", (0, 1, 2)),
        "notice",
        "lost factors",
        "Does it notice lost factors?",
        noticed=0.6,  # two thirds are gone
    ),
    "noise": Experiment(
        "latents of noise",
        "further latents that are sure of something else",
        _levels("noise", (0, 2, 8)),
        "ignore",
        "codes that hold more than the factors",
        "Is it unmoved by latents that hold something else?",
    ),
    "unused": Experiment(
        "number of latents",
        "latents that are unused",
        _levels("unused", (1, 4, 8)),
        "ignore",
        "codes with different numbers of latents",
        "Is it unmoved by unused latents?",
    ),
    "dependent": Experiment(
        "dependent factors",
        "correlation of two of three factors",
        _levels("dependence", (0.0, 0.5, 0.9)),
        "ignore",
        "dependent factors",
        "Is it unmoved by factors that depend on each other?",
    ),
    "measured": Experiment(
        "continuous factors",
        "what is known of the factors",
        {"values": PERFECT, "measurements": replace(PERFECT, values="measured")},
        "ignore",
        "continuous factors",
        "Does it take continuous factors, and say the same?",
    ),
    "width": Experiment(
        "wide posteriors",
        "std of the posteriors",
        _levels("std", (0.1, 0.3, 0.6, 1.0)),
        "notice",
        "how sure a stochastic encoder is",
        "Does it notice how wide posteriors are?",
    ),
    "folded": Experiment(
        "bent relations",
        "the two values of a factor along its latent",
        {"halves": replace(PERFECT, values="halves"), "outer and inner": replace(PERFECT, values="folded")},
        "ignore",
        "factors that bend along their latent",
        "Does it see a factor that bends along its latent?",
    ),
}
"""The experiments by name, in the order of the table's columns."""
