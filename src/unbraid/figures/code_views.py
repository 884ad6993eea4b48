"""Plots of codes against factors: curves of means, scatter plots of two latents, and histograms."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from unbraid._internal.arrays import as_floats
from unbraid._internal.table import Table
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, UnbraidError
from unbraid.figures.canvas import Axes, axes_or_new, keep_data, name_axes, name_rows, new_figure
from unbraid.figures.observations import latent_names, numbers_of
from unbraid.figures.style import INK, PLAIN, SEQUENTIAL

_INCHES, _MARGIN = (1.15, 0.8), (0.6, 0.45)  # the size of a panel, and the margin of the figure
_MOST_SHAPES = 500  # the number of dots above which dots are rasterized
_MOST_VALUES = 64  # the number of values of a factor above which values are binned
_HISTOGRAM_HEIGHT = 0.85  # the height of the highest bar of a row, or of the normal density if it is higher


def mean_code_curves(codes: Codes, latents: Sequence[int] = ()) -> tuple[Axes, ...]:
    """Draws the mean of each latent (by default all) against the values of each factor that varies.

    A mean is the unweighted mean over the images with a value. The band is one standard deviation of the codes of these
    images.
    """
    chosen = _checked(codes, latents) or list(range(codes.mean.shape[1]))
    factors, means = _varying(codes), codes.mean.double().cpu().numpy()
    figure = new_figure(_MARGIN[0] + _INCHES[0] * len(factors), _MARGIN[1] + _INCHES[1] * len(chosen))
    panels = figure.subplots(len(chosen), len(factors), squeeze=False, sharey=True, sharex="col")
    for (row, column), axes in np.ndenumerate(panels):
        latent, labels = chosen[row], factors[column]
        values, (middle,), (spread,) = (each.T for each in means_by_value(labels, means[:, [latent]], _MOST_VALUES))
        axes_or_new(axes)
        axes.fill_between(values, middle - spread, middle + spread, color=PLAIN, alpha=0.2, linewidth=0)
        axes.plot(values, middle, "-" if labels.ordered else "o", color=PLAIN, linewidth=1.2, markersize=3)
        name_axes(axes, labels.name if row == len(chosen) - 1 else "", f"z{latent}" if column == 0 else "")
        points = zip(values.tolist(), middle.tolist(), spread.tolist(), strict=True)
        keep_data(
            axes, Table(("latent", "factor", "value", "mean", "std"), tuple((latent, labels.name, *p) for p in points))
        )
    return tuple(panels.ravel())


def code_map(codes: Codes, latents: tuple[int, int], *, num_images: int = 2000) -> tuple[Axes, ...]:
    """Draws a scatter plot of the means of two latents for each factor that varies, colored by the factor.

    At most `num_images` evenly spaced images are drawn. Weights of images are ignored.
    """
    if num_images < 1:
        raise UnbraidError(f"Expected `num_images` to be an integer >= 1, got {num_images}. Pass for example 2000.")
    factors, step = _varying(codes), -(-len(codes.mean) // num_images)
    means = codes.mean[::step][:, _checked(codes, latents)].double().cpu().numpy()
    figure = new_figure(0.5 + 1.7 * len(factors), 1.9)
    panels = figure.subplots(1, len(factors), squeeze=False, sharey=True)[0]
    for axes, labels in zip(panels, factors, strict=True):
        values = numbers_of(labels)[::step]
        axes_or_new(axes)
        axes.scatter(
            means[:, 0], means[:, 1], c=values, cmap=SEQUENTIAL, s=2, linewidths=0, rasterized=len(means) > _MOST_SHAPES
        )
        name_axes(axes, f"z{latents[0]}", f"z{latents[1]}" if axes is panels[0] else "", labels.name)
        names = (f"z{latents[0]}", f"z{latents[1]}", labels.name)
        keep_data(axes, Table(names, tuple(zip(*means.T.tolist(), values.tolist(), strict=True))))
    return tuple(panels)


def mean_histograms(
    codes: Any, *, num_bins: int = 40, span: float = 4.0, label: str = "mean of the latent", axes: Axes | None = None
) -> Axes:
    """Draws a histogram of the means of each latent, one row per latent.

    `codes` is a `Codes`, or an array of shape (images, latents). Means outside of +-`span` are counted in the outermost
    bins. The dashed curve is a standard normal density. Weights of images are ignored.
    """
    means = as_floats("codes", codes.mean if isinstance(codes, Codes) else codes).double().cpu().numpy()
    if means.ndim != 2:
        raise CodesError(f"Expected `codes` of shape (images, latents), got {means.shape}. Reshape the array.")
    edges = np.linspace(-span, span, num_bins + 1)
    middles, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    normal = np.exp(-(middles**2) / 2) / np.sqrt(2 * np.pi) * width * len(means)
    names, records = latent_names(means.shape[1]), []
    axes = axes_or_new(axes, 0.7 + 0.28 * len(names))
    for row, name in enumerate(names):
        counts, _ = np.histogram(means[:, row].clip(-span, span), edges)
        scale = _HISTOGRAM_HEIGHT / max(counts.max(), normal.max())
        axes.stairs(row + 0.4 - scale * counts, edges, baseline=row + 0.4, fill=True, color=PLAIN, alpha=0.7)
        axes.plot(middles, row + 0.4 - scale * normal, "--", color=INK, linewidth=0.6)
        records += [
            (name, float(low), float(high), int(n)) for low, high, n in zip(edges, edges[1:], counts, strict=False)
        ]
    name_rows(axes, names)
    name_axes(axes, label)
    keep_data(axes, Table(("latent", "from", "to", "images"), tuple(records)))
    return axes


def _checked(codes: Codes, latents: Sequence[int]) -> list[int]:
    num_latents = codes.mean.shape[1]
    if outside := [latent for latent in latents if not 0 <= latent < num_latents]:
        raise CodesError(f"Expected continuous latents from 0 to {num_latents - 1}, got {outside[0]}. Choose another.")
    return list(latents)


def _varying(codes: Codes) -> list[Labels]:
    found = [
        each for each in codes.factors if not each.is_soft and np.nanmin(numbers_of(each)) < np.nanmax(numbers_of(each))
    ]
    if not found:
        raise UnbraidError("The codes have no factor that varies. Pass codes with a varying factor.")
    return found


def means_by_value(
    labels: Labels, columns: Float[np.ndarray, "image column"], most_values: int
) -> tuple[Float[np.ndarray, " value"], Float[np.ndarray, "value column"], Float[np.ndarray, "value column"]]:
    """Returns the values of a factor, and the mean and std of each column over the images with each value.

    If there are more than `most_values` values, neighboring values are binned and replaced by their mean.
    """
    numbers = numbers_of(labels)
    known = ~np.isnan(numbers)
    distinct, ranks = np.unique(numbers[known], return_inverse=True)
    count = min(most_values, len(distinct))
    bin_of_value = np.arange(len(distinct)) * count // max(1, len(distinct))
    values = np.array([distinct[bin_of_value == place].mean() for place in range(count)])
    bins = bin_of_value[ranks]
    sizes = np.bincount(bins, minlength=count)[:, None]

    def averaged(table: Float[np.ndarray, "image column"]) -> Float[np.ndarray, "value column"]:
        sums = [np.bincount(bins, weights=column, minlength=count) for column in table.T]
        return np.stack(sums, axis=1) / sizes if sums else np.zeros((count, 0))

    means = averaged(columns[known])
    variances = averaged((columns[known] - means[bins]) ** 2)
    return values, means, np.sqrt(variances)
