"""HTML page about a dataset: samples, a sweep of each factor, and joint probabilities of factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
from einops import rearrange

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import DataError
from unbraid.show.datasets.factor_sweeps import MAX_COLUMNS, FactorSweep, FactorSweeps, factor_sweeps, sampled_rows
from unbraid.show.datasets.joint_map import JointMap
from unbraid.show.pages.page import content_policy, filled
from unbraid.show.pages.pictures import FrameSheet, sheet

MAX_FACTORS = 48  # limits the length of the page
NUM_SAMPLE_LINES = 3
_SHOWN_PIXELS = 64  # the longer side of an image on the page, in CSS pixels


@final
@dataclass(frozen=True)
class FrameRow:
    """A row of the page: a name, notes below the name, and blocks of images with captions."""

    name: str
    notes: tuple[str, ...]
    blocks: tuple[tuple[FrameSheet, str], ...]


def write_dataset_page(
    path: Path | str,
    images: FactorImages,
    title: str,
    notes: Sequence[str] = (),
    maps: Sequence[JointMap] = (),
    seed: int = 0,
) -> Path:
    """Writes a page about the images as one HTML file without scripts or external files. Returns the path.

    The page has the title, the notes, random samples (with `seed`), a row for each factor, and the maps. The same
    arguments produce the same bytes.
    """
    path = Path(path)
    files.write_bytes(path, render_dataset(images, title, notes, maps, seed).encode("utf-8", errors="replace"))
    return path


def render_dataset(
    images: FactorImages, title: str, notes: Sequence[str] = (), maps: Sequence[JointMap] = (), seed: int = 0
) -> str:
    """Returns the HTML of the page (see `write_dataset_page`)."""
    sweeps = factor_sweeps(images, seed)
    shown = sweeps.sweeps[:MAX_FACTORS]
    marked = any(sweep.is_alone for sweep in shown)
    rows = sampled_rows(images, NUM_SAMPLE_LINES * MAX_COLUMNS, seed).tolist()
    how = "drawn at random" if images.weights is None else "drawn from p(n)"
    longest = max(images.image_shape[1:])
    values = {
        "title": title,
        "notes": notes,
        "samples": FrameRow("samples", (how,), ((_block(images, rows, MAX_COLUMNS), ""),)),
        "about": _about(sweeps),
        "sweeps": [_sweep_row(images, sweep, marked=marked) for sweep in shown],
        "maps": maps,
        # CSS pixels per pixel of an image: an integer, or 0.5 for large images.
        "scale": max(1, _SHOWN_PIXELS // longest) if longest <= _SHOWN_PIXELS else 0.5,
        "policy": content_policy(),
        "version": __version__,
    }
    return filled("dataset.html", values)


def _sweep_row(images: FactorImages, sweep: FactorSweep, *, marked: bool) -> FrameRow:
    """Returns the row of a sweep. If `marked`, a note marks a sweep in which other factors vary too."""
    some = f"{len(sweep.values)} of " if len(sweep.values) < sweep.num_values else ""
    count = f"{some}{sweep.num_values:,} values" if sweep.num_values else "continuous"
    notes = (count, "other factors vary") if marked and not sweep.is_alone else (count,)
    blocks = tuple(
        (_block(images, rows, sweep.width), f"{value:.0f}" if sweep.num_values else f"{value:.3g}")
        for value, rows in zip(sweep.values, sweep.rows, strict=True)
    )
    return FrameRow(sweep.factor.name, notes, blocks)


def _about(sweeps: FactorSweeps) -> str:
    """Returns the text that explains the rows of the factors."""
    num_alone = sum(sweep.is_alone for sweep in sweeps.sweeps)
    if not sweeps.sweeps:
        text = "These images have no factors that vary."
    elif num_alone == 0:
        text = "Each row shows images for each value of a factor. Other factors vary."
    else:
        exception = ", except in rows with a note" if num_alone < len(sweeps.sweeps) else ""
        text = f"Each row varies one factor. Other factors have the values of image {sweeps.anchor:,}{exception}."
    if sweeps.constant:
        text += f" Constant factors: {', '.join(factor.name for factor in sweeps.constant)}."
    if len(sweeps.sweeps) > MAX_FACTORS:
        text += f" The first {MAX_FACTORS} of {len(sweeps.sweeps)} factors are shown."
    return text


def _block(images: FactorImages, rows: Sequence[int], num_columns: int) -> FrameSheet:
    """Returns the images as a sheet with this number of columns. Blank frames fill the last line."""
    found = images.bytes_of(torch.tensor(rows)).cpu()
    if found.is_floating_point():
        raise DataError(f"Expected images, got vectors of {found.shape[-1]} numbers. Choose a dataset of images.")
    num_columns = min(num_columns, len(rows))
    blank = torch.full((-len(rows) % num_columns, *found.shape[1:]), torch.nan)
    frames = torch.cat([found.float() / 255, blank])
    return sheet(rearrange(frames, "(row column) ... -> row column ...", column=num_columns), 2 * _SHOWN_PIXELS)
