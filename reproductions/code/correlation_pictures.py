"""Pictures of correlations as Kumar et al. print them: matrices of latents and attributes, and bars of attributes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from reproductions.item import Experiment
from reproductions.pictures import Pictures, file_name, png
from unbraid import Run, Scoring
from unbraid.studies import Study

_NUM_NEXT, _ACROSS = 4, 5


def matrices(labels: Sequence[str], names: Sequence[str] = ()) -> Pictures:
    """Returns what draws correlations of the first seed of these settings, latents with latents above, with attributes
    below: one picture of all latents, one of those in use.
    """

    def draw(experiment: Experiment, study: Study, folder: Path) -> Mapping[str, bytes]:
        found = {}
        for name, min_std in (("all-latents", 0.0), ("live-latents", 0.05)):
            kept = _kept(study, folder, labels, "Correlations", min_std=min_std)
            if kept:
                found[name] = _matrix_sheet(kept, names or _names(study))
        return found

    return draw


def bars(labels: Sequence[str], shown: Sequence[str] = ()) -> Pictures:
    """Returns what draws, for the first seed of each setting, how much the latent of each attribute follows it, and the
    four attributes that it follows next; by default of all attributes.
    """

    def draw(experiment: Experiment, study: Study, folder: Path) -> Mapping[str, bytes]:
        kept, names = _kept(study, folder, labels, "TopAttributes"), _names(study)
        return {f"bars-{file_name(label)}": _bar_sheet(score, shown or names, names) for label, score in kept.items()}

    return draw


def _names(study: Study) -> list[str]:
    return [factor.name for factor in study.settings[0].spec.dataset.factors]


def _kept(study: Study, folder: Path, labels: Sequence[str], metric: str, **settings: Any) -> dict[str, Any]:
    """Returns the kept score of the first seed of each setting, with the tables behind it."""
    found: dict[str, Any] = {}
    for each in study.runs(folder):
        if each.setting.label in labels and each.setting.label not in found and each.run.status == "finished":
            for score in Run.open(each.run.folder).scores(Scoring(part="test")):
                if score.metric == metric and all(score.settings.get(k) == v for k, v in settings.items()):
                    found[each.setting.label] = score
    return {label: found[label] for label in labels if label in found}


def _matrix_sheet(scores: Mapping[str, Any], names: Sequence[str]) -> bytes:
    few = len(names) <= 12
    figure = Figure(figsize=((1.9 if few else 2.3) * len(scores), 3.4 if few else 5.2), layout="constrained")
    grid = figure.subplots(2, len(scores), squeeze=False)
    for column, (label, score) in enumerate(scores.items()):
        for row, table in enumerate((score.tables["deterministic"], score.tables["latent_factor"].T)):
            axes = grid[row][column]
            axes.imshow(table.numpy(), cmap="PuOr", vmin=-1, vmax=1, interpolation="nearest", aspect="auto")
            axes.set_xticks([])
            axes.set_yticks(range(len(names)) if row and not column else [])
            if row and not column:
                axes.set_yticklabels(names, fontsize=7 if few else 4)
        grid[0][column].set_title(label, fontsize=8)
    return png(figure)


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
