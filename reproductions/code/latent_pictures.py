"""Pictures of Do & Tran: latents moved about the code of an image."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from reproductions.code.latents import BINS, REACH, nats, score_of
from reproductions.pictures import png
from unbraid import Run, figures
from unbraid.metrics import MISJED, RMIG, Informativeness, Separability
from unbraid.metrics.estimators import Quantized

_NUM_FRAMES = 11


def _about(run: Run, start: int, latents: Sequence[int]) -> dict[int, tuple[float, float]]:
    code = run.codes().mean[start]
    return {latent: (float(code[latent]) - REACH, float(code[latent]) + REACH) for latent in latents}


def by_separability(run: Run) -> dict[str, bytes]:
    """Returns all latents of a run, the least separable first, with their separability and informativeness."""
    shared, told = score_of(run, Separability()).per_latent, score_of(run, Informativeness()).per_latent
    labels = {latent: f"SEP {shared[latent]:.4f} INFO {told[latent]:.4f}" for latent in range(len(told))}
    start = sprite(run, 0)
    options: dict[str, Any] = {"range": _about(run, start, range(len(told))), "order_by": shared, "labels": labels}
    return {"latents": run.traverse(start, latents=range(len(told)), num_frames=_NUM_FRAMES, **options).png()}


def most_informative(run: Run) -> dict[str, bytes]:
    """Returns the ten most informative latents of a run, about the code of an image."""
    latents = nats(run).argsort(descending=True)[:10].tolist()
    return {"latents": run.traverse(0, latents=latents, range=_about(run, 0, latents), num_frames=_NUM_FRAMES).png()}


def by_factor(factors: Sequence[str], count: int) -> Callable[[Run], dict[str, bytes]]:
    """Returns what shows the latents with most information on each factor, about a sprite or an image."""

    def draw(run: Run) -> dict[str, bytes]:
        score, found = score_of(run, RMIG(BINS)), {}
        names = list(score.per_factor)
        for place, factor in enumerate(each for each in factors if each in names):
            told = score.tables["mutual_information"][:, names.index(factor)]
            latents = told.argsort(descending=True)[:count].tolist()
            start = sprite(run, place % 3)
            labels = {latent: f"z{latent} ({float(told[latent]):.4f})" for latent in latents}
            options: dict[str, Any] = {"range": _about(run, start, latents), "labels": labels}
            found[factor] = run.traverse(start, latents=latents, num_frames=_NUM_FRAMES, **options).png()
        return found

    return draw


def sprite(run: Run, shape: int) -> int:
    """Returns the number of the sprite that the authors start from, or of one like it; 0 for other images."""
    start, row = {"shape": shape, "scale": 3, "orientation": 20, "position_x": 16, "position_y": 16}, 0
    factors = run.spec.dataset.factors
    if "orientation" not in [factor.name for factor in factors]:
        return 0
    for factor in factors:
        row = row * factor.size + min(start.get(factor.name, 0), factor.size - 1)
    return row


def misjed_map(num_bins: int, fraction: float = 1.0) -> Callable[[Run], dict[str, bytes]]:
    """Returns what draws the normalized MISJED of every two latents, the most informative first."""

    def draw(run: Run) -> dict[str, bytes]:
        table = score_of(run, MISJED(Quantized(num_bins, masses="rectangle")), fraction).tables["misjed_normalized"]
        order = nats(run).argsort(descending=True, stable=True)
        shown = table[order][:, order].clone().fill_diagonal_(torch.nan)
        names = [f"z{latent}" for latent in order.tolist()]
        axes = figures.heat_map(shown, names, names, ends=(0.0, 0.7), label="normalized MISJED")
        return {"misjed": png(axes.figure)}

    return draw


def grid(run: Run) -> dict[str, bytes]:
    """Returns a picture over the first two latents of a run."""
    return {"grid": run.traverse(grid=(0, 1), range=(-REACH, REACH), num_frames=7).png()}
