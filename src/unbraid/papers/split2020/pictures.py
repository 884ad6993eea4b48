"""Reconstructions and traversals of the best model of each setting, as figures 5 and 8 show them."""

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from unbraid.errors import CodesError
from unbraid.figures.labelled_sheet import LabelledSheet
from unbraid.papers.split2020.runs import MIG_OF_MEANS
from unbraid.papers.work import StudyWork, Work
from unbraid.runs.run import Run
from unbraid.studies.best import best_traversals

_NUM_COLUMNS = 7


def best_models(labels: Sequence[str]) -> Callable[[Work, Path], Mapping[str, bytes]]:
    """Returns what makes a picture of the best model of each of these settings, and one of all of them side by side, in
    which the latents of the others are matched with those of the first.
    """

    def pictures(work: Work, folder: Path) -> Mapping[str, bytes]:
        scores, found = work.scores(folder), dict[str, bytes]()
        for label in labels:
            values = scores.values(label, MIG_OF_MEANS)
            if not values:
                continue
            seed = max(values, key=lambda each: values[each])
            [run] = [run.run for run in scores.runs_of(label) if run.seed == seed]
            found[_file_name(label)] = _sheet(Run.open(folder / run), f"{label}: MIG {values[seed]:.3f}")
        if isinstance(work, StudyWork) and len(found) == len(labels):
            with contextlib.suppress(CodesError):  # of models without a live latent there is nothing to match
                together = best_traversals(work.study, folder, settings=labels, num_frames=_NUM_COLUMNS)
                found["latents-matched"] = together.png()
        return found

    return pictures


def _sheet(run: Run, title: str) -> bytes:
    """Returns images, their reconstructions, and what each latent changes from -2 to 2 in the first of them."""
    images = run.spec.training_data.open()
    rows = torch.linspace(0, len(images) - 1, _NUM_COLUMNS).long()
    originals = images.batch(rows)
    start = int(rows[_NUM_COLUMNS // 2])
    traversal = run.traverse([start], range=(-2.0, 2.0), num_frames=_NUM_COLUMNS)
    moved = torch.from_numpy(traversal.array())
    frames = torch.cat([originals[None], run.model().reconstruct(originals)[None], moved])
    positions = [f"{position:.3g}" for position in traversal.positions]
    sheet = LabelledSheet(frames, ["images", "reconstructions", *traversal.labels], positions, title)
    stream = io.BytesIO()
    sheet.image().save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def _file_name(label: str) -> str:
    return label.lower().replace(",", "").replace(" ", "-")
