"""Pictures of trained models: PNG files that travel beside the evidence."""

import contextlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproductions.item import Experiment
from unbraid import Run
from unbraid.errors import CodesError
from unbraid.studies import Study, best_runs, best_traversals

Pictures = Callable[[Experiment, Study, Path], Mapping[str, bytes]]


def file_name(label: str) -> str:
    """Returns the label of a setting as the names of its pictures have it."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def png(figure: Any) -> bytes:
    """Returns a figure as a PNG file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=200)
    return stream.getvalue()


def best_latents(labels: Sequence[str], reach: float, *, num_frames: int = 7) -> Pictures:
    """Returns what shows the best model of each setting side by side: a row moves a latent of the first as far as
    `reach` to either side, and the matched latents of the others.
    """

    def draw(experiment: Experiment, study: Study, folder: Path) -> Mapping[str, bytes]:
        with contextlib.suppress(CodesError):  # a model without a live latent has nothing to match
            options: dict[str, Any] = {"range": (-reach, reach), "num_latents": 8, "num_frames": num_frames}
            return {"traversals": best_traversals(study, folder, settings=labels, min_std=0.05, **options).png()}
        return {}

    return draw


def of_best(draw: Callable[[Run], Mapping[str, bytes]]) -> Pictures:
    """Returns what draws the best run of each setting by itself."""

    def drawn(experiment: Experiment, study: Study, folder: Path) -> Mapping[str, bytes]:
        found = {label: draw(run) for label, run in best_runs(study, folder).items()}
        return {f"{file_name(label)}-{name}": content for label, each in found.items() for name, content in each.items()}

    return drawn


def of_first(draw: Callable[[Run], Mapping[str, bytes]]) -> Pictures:
    """Returns what draws the first finished run of each setting that still has its weights."""

    def drawn(experiment: Experiment, study: Study, folder: Path) -> Mapping[str, bytes]:
        first: dict[str, Mapping[str, bytes]] = {}
        for each in study.runs(folder):
            if each.setting.label not in first and each.run.status == "finished":
                with contextlib.suppress(CodesError):
                    first[each.setting.label] = draw(each.run)
        return {f"{file_name(label)}-{name}": content for label, each in first.items() for name, content in each.items()}

    return drawn
