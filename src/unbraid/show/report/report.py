"""Runs in, one HTML file out."""

import datetime
import shlex
from collections.abc import Sequence
from pathlib import Path

from unbraid._internal import files
from unbraid.config.annotations import in_short
from unbraid.errors import RunError
from unbraid.metrics.scoring import Scoring, named
from unbraid.show.report.members import read_members, why_left_out
from unbraid.show.report.page import Page, render_report
from unbraid.show.report.report_figures import write_figures
from unbraid.training.runs.run import Run

EXPLORER = "explorer.html"
"""The name of an explorer that the report links to where it lies beside it."""


def write_report(
    runs: Sequence[Run],
    path: Path | str,
    *,
    title: str | None = None,
    date: datetime.date | None = None,
    factors: str | Sequence[str] = (),
    by: str | None = None,
    figures: Path | str | None = None,
) -> Path:
    """Writes a page that shows these runs, and returns its path: one file that needs no network.

    It can be read without its script too.

    Runs without a MIG are scored first, and keep their scores. Runs that are not finished, or whose weights were
    deleted, are named on the page and left out of its figures. The same runs, title and `date` (today by default) give
    the same bytes. `factors` are the names of those that scores are over; by default, all. Models are sorted and
    colored `by` a score that they have kept, by its name; by default "mig". With a folder for `figures`, each figure is
    written there too, as SVG and PNG.

    Examples:
        >>> from unbraid import MLP, Autoencoder, DSprites, RunSpec, train
        >>> hearts = DSprites(resolution=32, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=4)
        >>> tiny = Autoencoder(MLP(hidden=(8,), decoder_hidden=(8,)))
        >>> runs = train(RunSpec(hearts, tiny, num_steps=2, batch_size=8), progress=False)
        >>> write_report(runs, "report.html").name
        'report.html'
    """
    if isinstance(runs, (str, Path, Run)) or not all(isinstance(run, Run) for run in runs):
        raise RunError(
            f"runs is {in_short(runs)}; expected a list of runs, such as runs_in(folder) or train(...) gives."
        )
    finished = [run for run in runs if run.has_model]
    if not finished:
        states = ", ".join(f"{run.name} {why_left_out(run)}" for run in runs[:3]) or "no runs were given"
        raise RunError(
            f"A report needs at least one finished run, and here {states}. `unbraid runs` shows how each run stands."
        )
    path = Path(path)
    page = Page.from_members(read_members(finished, Scoring(factors=named(factors))), by)
    left_out = [(run.name, why_left_out(run)) for run in runs if not run.has_model]
    explorer = EXPLORER if path.with_name(EXPLORER).exists() else None
    day = date or datetime.datetime.now(datetime.UTC).date()
    html = render_report(page, left_out, title, day, command=_command(finished, factors, by), explorer=explorer)
    # A folder's name need not be valid Unicode; the page must be.
    files.write_bytes(path, html.encode("utf-8", errors="replace"))
    if figures is not None:
        write_figures(page, Path(figures))
    return path


def _command(runs: Sequence[Run], factors: str | Sequence[str], by: str | None) -> str:
    """Returns the command that writes such a page, run beside the folders of the runs."""
    folders = list(dict.fromkeys(run.folder.resolve().parent.name or "." for run in runs))
    chosen = ["--factors", ",".join(named(factors))] if named(factors) else []
    return shlex.join(["unbraid", "report", *folders, *chosen, *(["--by", by] if by else [])])
