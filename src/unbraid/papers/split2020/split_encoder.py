"""Figures 3 to 11: the split encoder against its baseline, on dSprites, on Cars3D and on what stands in for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid import figures
from unbraid.papers.item import Scale
from unbraid.papers.panels import side_by_side
from unbraid.papers.split2020.nets import BASELINE, SPLIT, SPLIT_EQUAL
from unbraid.papers.split2020.runs import (
    DISTORTION,
    FACTOR_SCORE,
    FACTOR_VAE,
    IS_CALIBRATED,
    MIG_OF_MEANS,
    RATE,
    SIZES,
    VAE_,
    Images,
    label,
    seconds,
    setting,
    work,
)
from unbraid.papers.work import StudyWork
from unbraid.studies.claims import Claim, Higher, Near, WeaklyCorrelated
from unbraid.studies.figures import run_table
from unbraid.studies.study import Setting
from unbraid.studies.study_scores import StudyScores
from unbraid.table import Table

SPLITS = (BASELINE, SPLIT, SPLIT_EQUAL)
"""The encoders of every comparison."""


@final
@dataclass(frozen=True)
class Comparison:
    """A comparison of encoders on some images, under some objectives."""

    images: Images
    objectives: tuple[str, ...] = (VAE_, FACTOR_VAE)
    encoders: tuple[str, ...] = SPLITS

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Returns each objective with each encoder."""
        return [(objective, encoder) for objective in self.objectives for encoder in self.encoders]

    def settings(self, scale: Scale) -> list[Setting]:
        """Returns a setting for each objective and encoder."""
        return [setting(self.images, scale, *pair) for pair in self.pairs]

    def seconds(self) -> dict[Scale, float]:
        """Returns about what each scale costs."""
        return {scale: seconds(scale, self.pairs) for scale in SIZES if scale != "smoke"}

    def work(self, name: str, claims: Callable[[Scale], Sequence[Claim]]) -> dict[Scale, Callable[[], StudyWork]]:
        """Returns the study by scale, with the claims of that scale."""

        def at(scale: Scale) -> Callable[[], StudyWork]:
            return lambda: work(name, self.settings(scale), claims(scale))

        return {scale: at(scale) for scale in SIZES}


def gains(objective: str, metric: str, what: str, *, falls: bool = False) -> list[Claim]:
    """Returns the claim that the split encoder raises a score, or lowers it, and the control that one no larger than
    the baseline does.
    """
    claims: list[Claim] = []
    for encoder, named in ((SPLIT, "split encoder"), (SPLIT_EQUAL, "split encoder of the baseline's size")):
        pair = (label(objective, encoder), label(objective, BASELINE))
        sentence = f"The {named} {'lowers' if falls else 'raises'} the {what} of a {objective}."
        is_ours = encoder == SPLIT_EQUAL
        claims.append(Higher(sentence, metric, *(pair[::-1] if falls else pair), is_control=is_ours))
    return claims


def gain(objective: str, metric: str, what: str, *, falls: bool = False) -> list[Claim]:
    """Returns the claim that the paper's own split encoder raises a score, or lowers it."""
    return gains(objective, metric, what, falls=falls)[:1]


def best(objective: str, encoder: str, value: float, tolerance: float, num_seeds: int) -> Claim:
    """Returns the claim that the best model has the MIG that the paper shows it with."""
    name = label(objective, encoder)
    return Near(
        f"The best {name} has a MIG of {value:g}{_weights(objective)}.",
        *(MIG_OF_MEANS, name, value, tolerance, num_seeds),
        is_control=_is_guess(objective),
    )


def level(objective: str, encoder: str, metric: str, low: float, high: float, margin: float = 0.0) -> Claim:
    """Returns the claim that the median lies between two ticks of a printed axis, give or take a share of it."""
    name, middle = label(objective, encoder), (low + high) / 2
    words = "MIG" if metric == MIG_OF_MEANS else metric
    sentence = f"The {words} of {name} lies between {low:g} and {high:g}, as on the printed axis{_weights(objective)}."
    tolerance = (high - low) / 2 + margin * middle
    return Near(sentence, metric, name, middle, tolerance, is_control=_is_guess(objective))


def _is_guess(objective: str) -> bool:
    """Returns whether the weight of an objective is a guess of ours, so that a level judges the guess and no claim."""
    return objective != VAE_ and not IS_CALIBRATED


def _weights(objective: str) -> str:
    if objective == VAE_:
        return ""
    return ", with the calibrated weight" if IS_CALIBRATED else ", with a weight that is not calibrated yet"


def unrelated(comparison: Comparison) -> Claim:
    """Returns the claim that MIG and the FactorVAE score hardly go together."""
    labels = tuple(label(*pair) for pair in comparison.pairs)
    return WeaklyCorrelated("MIG and the FactorVAE score hardly go together.", MIG_OF_MEANS, FACTOR_SCORE, labels)


def draw_planes(scores: StudyScores) -> Any:
    """Draws KL against reconstruction, a panel for each objective."""
    table = run_table(scores, [RATE, DISTORTION])
    objectives = list(dict.fromkeys(name.partition(",")[0] for name in scores.settings))
    panels = side_by_side(["" for _ in objectives])
    for axes, objective in zip(panels, objectives, strict=True):
        rows = tuple(row for row in table.rows if row[0].startswith(f"{objective},"))
        names = (f"{objective}: KL to the prior (nats)", "distortion (nats)")
        figures.scatter_plot(Table(table.columns, rows), RATE, DISTORTION, labels=names, axes=axes)
    return panels[0]


def draw_mig_and_plane(scores: StudyScores) -> Any:
    """Draws MIG, and KL against reconstruction, beside each other."""
    table = run_table(scores, [MIG_OF_MEANS, RATE, DISTORTION])
    left, right = side_by_side(["", ""])
    figures.violin_plot(table, MIG_OF_MEANS, label="MIG (20 bins of means) ↑", axes=left)
    names = ("KL to the prior (nats)", "distortion (nats)")
    return figures.scatter_plot(table, RATE, DISTORTION, labels=names, axes=right)
