"""Pictures of correlations as the paper prints them: matrices of latents with latents and with attributes, and bars of
the attributes that the latent of each attribute follows.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.figures.canvas import name_axes, new_figure
from unbraid.figures.saving import rendered
from unbraid.figures.style import PLAIN, SMALL_TEXT
from unbraid.metrics.metric import Score
from unbraid.papers.kumar2017.runs import TEST
from unbraid.papers.work import Work
from unbraid.runs.run import Run

Pictures = Callable[[Work, Path], Mapping[str, bytes]]
_OTHERS = "#BBBBBB"
_NUM_NEXT = 4
_BARS_ACROSS = 5


def matrices(labels: Sequence[str], names: Sequence[str]) -> Pictures:
    """Returns what draws the correlations of the first seed of these settings: latents with latents above, latents with
    the attributes of these names below; one picture of all latents, one of the live ones.
    """

    def drawn(work: Work, folder: Path) -> Mapping[str, bytes]:
        kept = {
            name: _kept(work, folder, labels, "Correlations", min_std=min_std)
            for name, min_std in (("all-latents", 0.0), ("live-latents", 0.05))
        }
        return {name: _matrix_sheet(scores, names) for name, scores in kept.items() if scores}

    return drawn


def bars_of_all(labels: Sequence[str], names: Sequence[str]) -> Pictures:
    """Returns what draws, for the first seed of each setting, a picture with all attributes: how much the latent of
    each follows it, and the four attributes that it follows next.
    """

    def drawn(work: Work, folder: Path) -> Mapping[str, bytes]:
        return {
            f"bars-{label.lower().replace(' ', '-')}": _bar_sheet([(label, score, name) for name in names], names)
            for label, score in _kept(work, folder, labels, "TopAttributes").items()
        }

    return drawn


def bars_of(shown: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> Pictures:
    """Returns what draws the same of some attributes alone, in one picture: a row for each setting."""

    def drawn(work: Work, folder: Path) -> Mapping[str, bytes]:
        kept = _kept(work, folder, labels, "TopAttributes")
        cells = [(label, score, name) for label, score in kept.items() for name in shown]
        return {"bars": _bar_sheet(cells, names, across=len(shown))} if cells else {}

    return drawn


def _kept(work: Work, folder: Path, labels: Sequence[str], metric: str, **settings: Any) -> Mapping[str, Score]:
    """Returns the kept score of the first seed of each setting, with the tables behind it."""
    scores, found = work.scores(folder), dict[str, Score]()
    for label in labels:
        runs = [run for run in scores.runs_of(label) if run.state == "finished"]
        of_run = Run.open(folder / runs[0].run).scores(TEST) if runs else []
        for score in of_run:
            if score.metric == metric and all(score.settings.get(k) == v for k, v in settings.items()):
                found[label] = score
    return found


def _matrix_sheet(scores: Mapping[str, Score], names: Sequence[str]) -> bytes:
    few = len(names) <= 12
    figure = new_figure((1.9 if few else 2.3) * len(scores), 3.4 if few else 5.2)
    num_latents = len(next(iter(scores.values())).tables["deterministic"])
    grid = figure.subplots(2, len(scores), squeeze=False, height_ratios=(num_latents, max(len(names), 5)))
    for column, (label, score) in enumerate(scores.items()):
        for row, table in enumerate((score.tables["deterministic"], score.tables["latent_factor"].T)):
            axes = grid[row][column]
            axes.imshow(table.numpy(), cmap="PuOr", vmin=-1, vmax=1, interpolation="nearest", aspect="auto")
            axes.set_xticks([])
            axes.set_yticks(range(len(names)) if row and not column else [])
            if row and not column:
                axes.set_yticklabels(names, fontsize=SMALL_TEXT if few else 4)
        name_axes(grid[0][column], title=label)
    return rendered(grid[0][0])


def _bar_sheet(cells: Sequence[tuple[str, Score, str]], names: Sequence[str], *, across: int = _BARS_ACROSS) -> bytes:
    """Returns a small panel for each setting and attribute: the correlation of its latent with it, in the dark bar, and
    with the attributes that the latent follows next.
    """
    height = -(-len(cells) // across)
    panels = new_figure(1.7 * across, 0.95 * height).subplots(height, across, squeeze=False, sharex=True).ravel()
    for axes in panels[len(cells) :]:
        axes.set_axis_off()
    several = len({label for label, _, _ in cells}) > 1
    for axes, (label, score, name) in zip(panels, cells, strict=False):
        place = names.index(name)
        latent = int(score.tables["top_latent"][place])
        if latent >= 0:
            sizes = score.tables["latent_factor"][latent].abs().nan_to_num(0.0).tolist()
            others = sorted((other for other in range(len(names)) if other != place), key=lambda one: -sizes[one])
            shown = [place, *others[:_NUM_NEXT]]
            axes.barh(range(len(shown)), [sizes[one] for one in shown], color=[PLAIN] + [_OTHERS] * (len(shown) - 1))
            axes.set_yticks(range(len(shown)), [names[one] for one in shown], fontsize=4)
        else:
            axes.set_yticks([])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.tick_params(axis="x", labelsize=4)
        which = f"latent {latent}" if latent >= 0 else f"{name}: no latent"
        name_axes(axes, title=f"{label}: {which}" if several else which)
    return rendered(panels[0])
