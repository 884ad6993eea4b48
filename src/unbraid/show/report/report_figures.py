"""Every figure of a report as files: for papers and slides, drawn by `unbraid.figures`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unbraid import figures
from unbraid._internal import files
from unbraid._internal.table import Table
from unbraid.figures.code_views import code_map, mean_code_curves
from unbraid.figures.labeled_sheet import LabeledSheet
from unbraid.figures.lines import median_lines
from unbraid.figures.saving import rendered, save
from unbraid.figures.traversal import Traversal
from unbraid.show.report.code_plots import MAX_LATENTS
from unbraid.show.report.heat_map import HeatMap
from unbraid.show.report.latent_pictures import NUM_COLUMNS, NUM_ROWS
from unbraid.show.report.loss_curves import NUM_POINTS, mean_curve
from unbraid.show.report.page import MemberPanel, Page
from unbraid.training.runs.history import is_latent_column

SUFFIXES = (".svg", ".png")

Drawn = Any
"""Axes of matplotlib, a sheet of frames or a traversal."""


def write_figures(page: Page, folder: Path) -> list[Path]:
    """Writes each figure of the page into the folder as SVG and PNG, and returns their paths.

    The numbers of plots are written as CSV beside them. Files of the same name are replaced.
    """
    files.check_writable(folder / "figure.svg")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawn in _figures(page):
        for suffix in SUFFIXES:
            path = folder / f"{_plain(name)}{suffix}"
            _write(drawn, path)
            written.append(path)
    return written


def _write(drawn: Drawn, path: Path) -> None:
    if isinstance(drawn, LabeledSheet):
        files.write_bytes(path, rendered(drawn.axes(), path.suffix))
    elif isinstance(drawn, Traversal):
        drawn.save(path)
    else:
        save(drawn, path, overwrite=True)


def _figures(page: Page) -> Iterator[tuple[str, Drawn]]:
    """Yields every figure behind its name. Those that cannot be drawn of these runs are left out, as on the page."""
    runs = _run_table(page)
    for figure in page.figures:
        measure = figure.measure
        label = measure.title
        yield f"scores-{measure.name}", figures.strip_plot(runs, measure.name, label=label)
        for sweep in page.sweeps:
            yield f"{sweep.field}-{measure.name}", _sweep(page, sweep.field, measure.name, label)
    if page.figures[0].plane:
        yield "rate-distortion", figures.rate_distortion_plane(runs, "training-rate", "training-distortion")
    yield from _training(page)
    for panel in page.panels:
        yield from _of_member(panel)


def _run_table(page: Page, field: str | None = None) -> Table:
    """Returns a row for each member, as `unbraid.figures` wants it; its strength is the number that is swept."""
    strengths = {
        id(group): at
        for sweep in page.sweeps
        if field in (None, sweep.field)
        for s in sweep.series
        for at, group in s.points
    }
    return Table.from_records(
        {
            "setting": group.label,
            "family": group.family,
            "strength": strengths.get(id(group)),
            "seed": member.run.seed,
            "run": member.run.name,
            **{measure.name: member.values.get(measure.name) for measure in page.measures},
        }
        for group in page.groups
        for member in group.members
    )


def _sweep(page: Page, field: str, name: str, label: str) -> Drawn:
    table = _run_table(page, field)
    strengths = [value for value in table["strength"] if value is not None]
    axes = figures.mean_band(table, "strength", name, label=label, log=min(strengths) > 0)
    axes.set_xlabel(field)
    return axes


def _training(page: Page) -> Iterator[tuple[str, Drawn]]:
    """Yields a figure for each part of the loss, over some steps of training."""
    logged = dict.fromkeys(part for member in page.members for part in member.history.columns[1:])
    for part in (name for name in logged if not is_latent_column(name)):
        rows = [
            {"setting": group.label, "family": group.family, "step": step, part: value}
            for group in page.groups
            for member in group.members
            for step, value in mean_curve(member.history, part, NUM_POINTS).T.tolist()
        ]
        if rows:
            yield (
                f"training-{part}",
                median_lines(Table.from_records(rows), "step", part, label=f"{part} (nats per image)"),
            )


def _of_member(panel: MemberPanel) -> Iterator[tuple[str, Drawn]]:
    """Yields what is shown of a member in full."""
    run, role = panel.member.run, panel.role
    codes = run.codes()
    used = [reading.latent for reading in panel.readings if not reading.is_unused]
    if panel.heat_map:
        yield f"information-{role}", _information(panel.heat_map)
    pictures = run.pictures
    yield f"traversals-{role}", pictures.traversal(used or range(codes.num_latents))
    continuous = [latent for latent in used if latent < codes.mean.shape[1]][:MAX_LATENTS]
    if panel.curves:
        yield f"curves-{role}", mean_code_curves(codes, continuous)
    if panel.maps:
        yield f"map-{role}", code_map(codes, (panel.maps.across, panel.maps.up))
    yield f"reconstructions-{role}", LabeledSheet(pictures.reconstructions(), ("original", role))
    samples = pictures.samples().unflatten(0, (NUM_ROWS, NUM_COLUMNS))
    yield f"samples-{role}", LabeledSheet(samples)


def _information(found: HeatMap) -> Drawn:
    shares = [[cell.share for cell in cells] for _, cells in found.rows]
    names = [f"z{latent}" for latent, _ in found.rows]
    return figures.heat_map(
        shares, names, list(found.factors), ends=(0.0, 1.0), label="share of a factor's information"
    )


def _plain(name: str) -> str:
    """Returns a name that every file system takes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
