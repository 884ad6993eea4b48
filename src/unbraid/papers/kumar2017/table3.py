"""Table 3 and figures 9 to 12: which latents correlate with each other, and with which factors, on 2D Shapes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unbraid import figures
from unbraid.papers.item import Item, Scale
from unbraid.papers.kumar2017.correlation_pictures import bars_of, matrices
from unbraid.papers.kumar2017.runs import (
    ALL_LATENTS,
    DIP,
    LIVE_LATENTS,
    SHARED_CHOICES,
    SIZES,
    TOP,
    VAE_,
    beta_vae,
    num_of_table,
    seconds,
    tuned_work,
)
from unbraid.papers.panels import side_by_side
from unbraid.papers.work import TunedWork
from unbraid.studies.claims import Claim, Higher, Near
from unbraid.studies.figures import run_table
from unbraid.studies.study_scores import StudyScores

_WEAK, _STRONG = beta_vae(4), beta_vae(20)
_LABELS = (VAE_, _WEAK, _STRONG)
_SHOWN = (*_LABELS, DIP)
_FACTORS = ("shape", "scale", "orientation", "position_x", "position_y")


def _table3(scale: Scale) -> Callable[[], TunedWork]:
    claims: list[Claim] = []
    for metric, among in ((ALL_LATENTS, "all latents"), (LIVE_LATENTS, "live latents alone")):
        claims += [
            Higher(f"Latents of the VAE are more correlated than those of DIP-VAE, {among}.", metric, VAE_, DIP),
            Higher(f"Latents of beta-VAE 4 are more correlated than those of the VAE, {among}.", metric, _WEAK, VAE_),
            Higher(
                f"Latents of beta-VAE 20 are more correlated than those of the VAE, {among}.", metric, _STRONG, VAE_
            ),
        ]
    return lambda: tuned_work("table3", SIZES[scale], _LABELS, claims)


def _figures(scale: Scale) -> Callable[[], TunedWork]:
    claims = (
        *(
            Near(f"A latent of DIP-VAE follows {name} (correlation of 0.8 or more).", f"{TOP}:{name}", DIP, 0.9, 0.1)
            for name in ("scale", "position_x", "position_y")
        ),
        Near("These latents follow nothing else (0.2 or less).", f"{TOP}:runner_up", DIP, 0.1, 0.1),
        Higher("They do so by a larger margin than those of the VAE.", f"{TOP}:margin", DIP, VAE_),
    )
    return lambda: tuned_work("figures9-12", SIZES[scale], _LABELS, claims)


def _draw_table3(scores: StudyScores) -> Any:
    """Draws the mean correlation of all latents beside that of the live ones, without the runs that tuned."""
    table = run_table(scores, [ALL_LATENTS, LIVE_LATENTS])
    chosen = type(table)(table.columns, tuple(row for row in table.rows if row[0] in _SHOWN))
    left, right = side_by_side(["All latents, as printed", "Live latents alone"], height=1.7)
    figures.strip_plot(chosen, ALL_LATENTS, label="mean |correlation| ↓", axes=left)
    return figures.strip_plot(chosen, LIVE_LATENTS, label="mean |correlation| ↓", axes=right)


def _draw_figures(scores: StudyScores) -> Any:
    """Draws the median correlation of each factor with its latent, and how much the latents follow others."""
    columns = {name: f"{TOP}:{name}" for name in _FACTORS} | {"runner-up": f"{TOP}:runner_up"}
    values = [[_median(scores, label, metric) for metric in columns.values()] for label in _SHOWN]
    return figures.heat_map(values, _SHOWN, list(columns), ends=(0.0, 1.0), label="median |correlation|")


def _median(scores: StudyScores, label: str, metric: str) -> float:
    values = scores.of_seeds(label, metric)
    return float(np.median(values)) if values else float("nan")


_SECONDS: Mapping[Scale, float] = {
    scale: seconds(num_of_table(SIZES[scale], len(_SHOWN))) for scale in SIZES if scale != "smoke"
}
_SHARING = "Most runs are those of `kumar2017/table1`, of which nothing is trained twice; beta 20 comes on top. "

TABLE3 = Item(
    id="kumar2017/table3",
    title="Correlations of latents with each other and with factors on 2D Shapes",
    claim="Latents of DIP-VAE are less correlated than those of the VAE, and latents of beta-VAE more.",
    work={scale: _table3(scale) for scale in SIZES},
    data="dSprites, exact",
    seconds=_SECONDS,
    choices=SHARED_CHOICES,
    draw=_draw_table3,
    pictures=matrices(_SHOWN, _FACTORS),
    columns=(ALL_LATENTS, LIVE_LATENTS),
    notes=_SHARING
    + (
        "The paper prints pictures alone, and not for which beta. The half about beta-VAE is expected to be an "
        "artefact: the means of a dead latent are tiny smooth functions of the image, and Pearson's correlation, "
        "which knows no scale, makes large numbers of them while covariances are near 0. So each claim is asked "
        "twice, of all latents and of those whose means have a std of 0.05 or more."
    ),
)

FIGURES9_12 = Item(
    id="kumar2017/figures9-12",
    title="What the latent of each factor follows, on 2D Shapes: VAE, beta 4, beta 20, DIP-VAE",
    claim="For each factor the latent that follows it best, and what else that latent follows.",
    work={scale: _figures(scale) for scale in SIZES},
    data="dSprites, exact",
    seconds=_SECONDS,
    choices=SHARED_CHOICES,
    draw=_draw_figures,
    pictures=bars_of(_FACTORS, _SHOWN, _FACTORS),
    columns=(TOP,),
    notes=_SHARING
    + (
        "Nothing of the printed bars can be read, and captions and headings do not agree on what they show. Rotation "
        "is an angle, and sprites repeat after a half or a quarter turn: its linear correlation with any latent is "
        "near 0 for every model, and that with shape, a name, has no meaning. So only scale and both positions are "
        "judged."
    ),
)
