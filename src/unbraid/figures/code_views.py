"""How the codes of images go with the factors: curves of their means, and maps of two latents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.codes import Codes, Labels
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes, new_figure
from unbraid.figures.style import PLAIN, SEQUENTIAL
from unbraid.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES, _MARGIN = (1.15, 0.8), (0.6, 0.45)  # of a small plot, and around all of them
_MOST_SHAPES = 500  # in a drawing; more dots are a picture in it
_MOST_VALUES = 64  # of a factor; more are taken together


def mean_code_curves(codes: Codes, latents: Sequence[int] = ()) -> "tuple[Axes, ...]":
    """Draws the mean of each latent (by default all) against the value of each factor that varies, over the images of
    that value; the band is one standard deviation of their codes.
    """
    chosen = list(latents) or list(range(codes.mean.shape[1]))
    factors, means = _varying(codes), codes.mean.double().cpu().numpy()
    figure = new_figure(_MARGIN[0] + _INCHES[0] * len(factors), _MARGIN[1] + _INCHES[1] * len(chosen))
    panels = figure.subplots(len(chosen), len(factors), squeeze=False, sharey=True, sharex="col")
    for (row, column), axes in np.ndenumerate(panels):
        latent, labels = chosen[row], factors[column]
        values, of_value = _by_value(labels)
        of_latent = [means[rows, latent] for rows in of_value]
        middle, spread = np.array([c.mean() for c in of_latent]), np.array([c.std() for c in of_latent])
        axes_or_new(axes)
        axes.fill_between(values, middle - spread, middle + spread, color=PLAIN, alpha=0.2, linewidth=0)
        axes.plot(values, middle, "-" if labels.ordered else "o", color=PLAIN, linewidth=1.2, markersize=3)
        name_axes(axes, labels.name if row == len(chosen) - 1 else "", f"z{latent}" if column == 0 else "")
        points = zip(values.tolist(), middle.tolist(), spread.tolist(), strict=True)
        keep_data(
            axes, Table(("latent", "factor", "value", "mean", "std"), tuple((latent, labels.name, *p) for p in points))
        )
    return tuple(panels.ravel())


def code_map(codes: Codes, latents: tuple[int, int], *, num_images: int = 2000) -> "tuple[Axes, ...]":
    """Draws the means of images along two latents, once for each factor that varies, coloured by its values. There are
    at most `num_images` of them, evenly spaced among all.
    """
    factors, step = _varying(codes), -(-len(codes.mean) // num_images)
    means = codes.mean[::step][:, list(latents)].double().cpu().numpy()
    figure = new_figure(0.5 + 1.7 * len(factors), 1.9)
    panels = figure.subplots(1, len(factors), squeeze=False, sharey=True)[0]
    for axes, labels in zip(panels, factors, strict=True):
        values = _numbers(labels)[::step]
        axes_or_new(axes)
        axes.scatter(
            means[:, 0], means[:, 1], c=values, cmap=SEQUENTIAL, s=2, linewidths=0, rasterized=len(means) > _MOST_SHAPES
        )
        name_axes(axes, f"z{latents[0]}", f"z{latents[1]}" if axes is panels[0] else "", labels.name)
        names = (f"z{latents[0]}", f"z{latents[1]}", labels.name)
        keep_data(axes, Table(names, tuple(zip(*means.T.tolist(), values.tolist(), strict=True))))
    return tuple(panels)


def _varying(codes: Codes) -> list[Labels]:
    found = [labels for labels in codes.factors if not labels.is_soft and np.ptp(_numbers(labels)[_known(labels)]) > 0]
    if not found:
        raise UnbraidError("The codes know no factor that varies. Give codes with factors.")
    return found


def _known(labels: Labels) -> Any:
    return labels.is_known.cpu().numpy()


def _numbers(labels: Labels) -> Any:
    return np.where(_known(labels), labels.values.double().cpu().numpy(), np.nan)


def _by_value(labels: Labels) -> tuple[Any, list[Any]]:
    """Returns the values of a factor, and which images have each; the means of neighbours where there are many."""
    numbers = _numbers(labels)
    distinct = np.unique(numbers[_known(labels)])
    together = np.array_split(distinct, min(_MOST_VALUES, len(distinct)))
    return np.array([each.mean() for each in together]), [np.isin(numbers, each) for each in together]
