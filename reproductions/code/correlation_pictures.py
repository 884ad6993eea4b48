"""Pictures of correlations as Kumar et al. print them: matrices of latents and attributes, and bars of attributes."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from reproductions.pictures import Pictures, of_first, png
from unbraid import Run, Scoring, figures

_NUM_NEXT, _ACROSS = 4, 5


def matrices() -> Pictures:
    """Returns what draws correlations of latents with latents and with attributes, of all latents and of those in use."""

    def draw(run: Run) -> dict[str, bytes]:
        found = {}
        for name, min_std in (("all", 0.0), ("in-use", 0.05)):
            for score in _kept(run, "Correlations", min_std):
                latents = [f"z{latent}" for latent in range(len(score.tables["deterministic"]))]
                for table, columns in (("deterministic", latents), ("latent_factor", _names(run))):
                    axes = figures.heat_map(score.tables[table], latents, columns, ends=(-1.0, 1.0), label="correlation")
                    found[f"{name}-{table.replace('_', '-')}"] = png(axes.figure)
        return found

    return of_first(draw)


def bars(shown: Sequence[str] = ()) -> Pictures:
    """Returns what draws how much the latent of each attribute follows it, and the four attributes that it follows next;
    by default of all attributes.
    """

    def draw(run: Run) -> dict[str, bytes]:
        names = _names(run)
        return {f"bars{place or ''}": _bar_sheet(score, shown or names, names) for place, score in enumerate(_kept(run, "TopAttributes"))}

    return of_first(draw)


def _names(run: Run) -> list[str]:
    return [factor.name for factor in run.spec.dataset.factors]


def _kept(run: Run, metric: str, min_std: float = 0.0) -> list[Any]:
    """Returns the kept scores of a metric, with the tables behind them."""
    scores = Run.open(run.folder).scores(Scoring(part="test"))
    return [each for each in scores if each.metric == metric and each.settings.get("min_std", 0.0) == min_std]


def _bar_sheet(score: Any, shown: Sequence[str], names: Sequence[str]) -> bytes:
    height = -(-len(shown) // _ACROSS)
    figure = Figure(figsize=(1.7 * _ACROSS, 0.95 * height), layout="constrained")
    panels = figure.subplots(height, _ACROSS, squeeze=False, sharex=True).ravel()
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    for axes, name in zip(panels, shown, strict=False):
        place = names.index(name)
        latent = int(score.tables["top_latent"][place])
        if latent >= 0:
            sizes = score.tables["latent_factor"][latent].abs().nan_to_num(0.0).tolist()
            others = sorted((other for other in range(len(names)) if other != place), key=lambda one: -sizes[one])
            rows = [place, *others[:_NUM_NEXT]]
            axes.barh(range(len(rows)), [sizes[row] for row in rows], color=["#333333"] + ["#BBBBBB"] * (len(rows) - 1))
            axes.set_yticks(range(len(rows)), [names[row] for row in rows], fontsize=4)
            axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_title(f"latent {latent}" if latent >= 0 else f"{name}: no latent", fontsize=6)
    return png(figure)
