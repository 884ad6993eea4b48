"""Files of all figures of a report, for papers and slides, drawn with `unbraid.figures`."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unbraid import figures
from unbraid._internal import files
from unbraid._internal.table import Table
from unbraid.figures.labeled_sheet import LabeledSheet
from unbraid.figures.lines import median_lines
from unbraid.figures.saving import rendered, save
from unbraid.figures.traversal import Traversal
from unbraid.show.report.loss_curves import NUM_POINTS, mean_curve
from unbraid.show.report.model_pictures import NUM_COLUMNS, NUM_ROWS
from unbraid.show.report.report import MemberPanel, Page
from unbraid.show.report.sweeps import Sweep
from unbraid.training.runs.history import is_latent_column

SUFFIXES = (".svg", ".png")
_SWEPT = "swept"

Figure = Any
"""Matplotlib axes, a `LabeledSheet` or a `Traversal`."""


def write_figures(page: Page, folder: Path) -> list[Path]:
    """Writes each figure of the report to the folder as SVG and PNG. Returns the paths.

    The numbers of plots are also written as CSV. Existing files with the same names are overwritten.
    """
    files.check_writable(folder / "figure.svg")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in _figures(page):
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")  # valid in every file system
        for path in (folder / f"{stem}{suffix}" for suffix in SUFFIXES):
            if isinstance(figure, LabeledSheet):
                files.write_bytes(path, rendered(figure.axes(), path.suffix))
            elif isinstance(figure, Traversal):
                figure.save(path)
            else:
                save(figure, path, overwrite=True)
            written.append(path)
    return written


def _figures(page: Page) -> Iterator[tuple[str, Figure]]:
    """Yields the name and the content of each figure of the report."""
    runs = _run_table(page, page.sweeps)
    for measure in (each.measure for each in page.figures):
        yield f"scores-{measure.name}", figures.strip_plot(runs, measure.name, label=measure.title)
        for sweep in page.sweeps:
            log, table = sweep.values[0] > 0, _run_table(page, [sweep])
            axes = figures.mean_band(table, _SWEPT, measure.name, label=measure.title, log=log, bounds=measure.bounds)
            axes.set_xlabel(sweep.field)
            yield f"{sweep.field}-{measure.name}", axes
    if page.figures[0].plane:
        plane = figures.rate_distortion_plane(runs, "training-rate", "training-distortion", along=_SWEPT)
        yield "rate-distortion", plane
    logged = dict.fromkeys(part for member in page.members for part in member.history.columns[1:])
    for part in (name for name in logged if not is_latent_column(name)):
        rows = [
            {"setting": group.label, "family": group.family, "step": step, part: value}
            for group in page.groups
            for member in group.members
            for step, value in mean_curve(member.history, part, NUM_POINTS).T.tolist()
        ]
        if rows:
            label = f"{part} (nats per image)"
            yield f"training-{part}", median_lines(Table.from_records(rows), "step", part, label=label)
    for panel in page.panels:
        yield from _of_member(panel)


def _run_table(page: Page, sweeps: Sequence[Sweep]) -> Table:
    """Returns a table with a row for each run: its measures, and the value of the field that a sweep varies."""
    swept = {id(group): at for sweep in sweeps for series in sweep.series for at, group in series}
    return Table.from_records(
        {
            "setting": group.label,
            "family": group.family,
            _SWEPT: swept.get(id(group)),
            "seed": member.run.seed,
            "run": member.run.name,
            **{measure.name: member.values.get(measure.name) for measure in page.measures},
        }
        for group in page.groups
        for member in group.members
    )


def _of_member(panel: MemberPanel) -> Iterator[tuple[str, Figure]]:
    """Yields the figures of a run that is shown in full."""
    role, codes, pictures = panel.member.role, panel.member.run.codes(), panel.member.run.pictures
    used = [reading.latent for reading in panel.readings if not reading.is_unused]
    if panel.heat_map:
        shares = [[cell.share for cell in cells] for _, cells in panel.heat_map.rows]
        names = [f"z{latent}" for latent, _ in panel.heat_map.rows]
        label = "share of a factor's information"
        axes = figures.heat_map(shares, names, panel.heat_map.factors, ends=(0.0, 1.0), label=label)
        yield f"information-{role}", axes
    yield f"traversals-{role}", pictures.traversal(used or range(codes.num_latents))
    if panel.curves:
        yield f"curves-{role}", figures.mean_code_curves(codes, [latent for latent, _ in panel.curves.rows])
    if panel.maps:
        yield f"map-{role}", figures.code_map(codes, (panel.maps.across, panel.maps.up))
    yield f"reconstructions-{role}", LabeledSheet(pictures.reconstructions(), ("original", str(role)))
    yield f"samples-{role}", LabeledSheet(pictures.samples().unflatten(0, (NUM_ROWS, NUM_COLUMNS)))
