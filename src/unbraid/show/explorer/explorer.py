"""Writer of the explorer, an HTML page for runs or for any decoder."""

import json
import math
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.config.annotations import check_value, in_short
from unbraid.datasets.user.from_arrays import unlabeled
from unbraid.errors import CodesError, DataError, RunError, SpecError
from unbraid.show.explorer.packing import Precision
from unbraid.show.explorer.payload import ExploredModel, ImageShape, payload, starting_rows
from unbraid.show.pages.page import content_policy, filled
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import run_labels

MAX_RUNS = 12
"""Maximum number of models on one page."""

# In this order they make one script.
_SCRIPTS = ("blobs.js", "decoder.js", "models.js", "gif.js", "state.js", "pictures.js", "controls.js", "explorer.js")


def write_explorer(
    runs: Sequence[Run] | None = None,
    path: Path | str = "explorer.html",
    *,
    decoder: Any = None,
    codes: Any = None,
    images: Any = None,
    title: str | None = None,
    precision: Precision = "auto",
) -> Path:
    """Writes a page on which sliders move the latents of trained models, and returns its path.

    The page is one file that decodes in the browser, and needs no server and no network.

    Pass either `runs` or a `decoder`. Finished `runs` with weights are shown side by side if they were trained on the
    same images. The model with the best MIG labels the sliders, and the latents of other models are matched to its
    latents. A `decoder` is a torch module from codes to images between 0 and 1. It requires `codes` of some images
    (`Codes`, or a table of numbers) and accepts the `images` in the same order. By default, weights are written in
    half precision, and those of a large decoder in int8; `precision` overrides this.

    Examples:
        >>> import numpy as np
        >>> from torch import nn
        >>> decoder = nn.Sequential(nn.Linear(2, 64), nn.Sigmoid(), nn.Unflatten(1, (1, 8, 8)))
        >>> write_explorer(decoder=decoder, codes=np.zeros((4, 2)), path="explorer.html").name
        'explorer.html'
    """
    page = render_explorer(
        page_content(runs, decoder=decoder, codes=codes, images=images, title=title, precision=precision)
    )
    files.write_bytes(Path(path), page.encode("utf-8", errors="replace"))
    return Path(path)


def page_content(
    runs: Sequence[Run] | None = None,
    *,
    decoder: Any = None,
    codes: Any = None,
    images: Any = None,
    title: str | None = None,
    precision: Precision = "auto",
) -> dict[str, Any]:
    """Returns the model-dependent content of the page as JSON."""
    check_value(precision, Precision, "precision")
    arguments = {"runs": runs, "decoder": decoder, "codes": codes, "images": images}
    given = [name for name, value in arguments.items() if value is not None]
    if given not in (["runs"], ["decoder", "codes"], ["decoder", "codes", "images"]):
        raise SpecError(
            f"write_explorer got {' and '.join(given) or 'no model'}; expected runs, or a decoder with its codes: "
            "write_explorer(runs, path) or write_explorer(decoder=module, codes=codes, images=images)."
        )
    if runs is not None:
        models, pixels = _of_runs(runs)
    else:
        models, pixels = [ExploredModel.from_decoder(decoder, codes)], None if images is None else unlabeled(images)
        if pixels is not None and len(pixels) != len(models[0].codes):
            raise DataError(f"There are {len(pixels)} images and {len(models[0].codes)} codes; give one for each.")
    rows = starting_rows(models[0], len(models[0].codes))
    originals = None if pixels is None else pixels.batch(rows)
    shape = _image_shape(models[0].decode(models[0].columns(rows[:1]))[0], originals)
    if runs is None:
        headline = "What each latent does"
    else:
        headline = f"What {models[0].name if len(models) == 1 else f'{len(models)} models'} learned"
    return {"title": title or headline, **payload(models, originals, rows, shape, precision)}


def render_explorer(content: dict[str, Any]) -> str:
    """Returns the page as text. Its content policy allows only its script and style sheet, by hash."""
    folder = resources.files("unbraid.show.explorer")
    script = "\n" + "\n".join(folder.joinpath(name).read_text("utf-8") for name in _SCRIPTS)
    style = "\n" + filled("colors.css") + folder.joinpath("explorer.css").read_text("utf-8")
    values = {
        "title": content["title"],
        "policy": content_policy(script, style),
        "style": style,
        "script": script,
        # JSON stays data whatever it contains: no "<" can end its element.
        "data": json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "version": __version__,
        "models": content["models"],
        "reasons": [(model["name"], model["reason"]) for model in content["models"] if model["reason"]],
    }
    return filled("explorer.html", values)


def _of_runs(runs: Sequence[Run]) -> tuple[list[ExploredModel], Any]:
    """Returns the models of the finished runs, and the images they were trained on."""
    if isinstance(runs, (str, Path, Run)) or not all(isinstance(run, Run) for run in runs):
        raise RunError(
            f"runs is {in_short(runs)}; expected a list of runs, such as runs_in(folder) or train(...) gives."
        )
    finished = [run for run in runs if run.has_model]
    if not finished or len(finished) > MAX_RUNS:
        raise RunError(
            f"{len(finished)} finished runs were given; an explorer shows 1 to {MAX_RUNS} side by side. `unbraid runs` "
            "lists them with their scores. Name a few of them."
        )
    datasets = {(run.spec.dataset, run.spec.subset) for run in finished}
    if len(datasets) > 1:
        raise RunError(
            f"These runs were trained on {len(datasets)} different sets of images, so their latents cannot be matched. "
            "Write an explorer for each."
        )
    labels = run_labels(finished)
    needs_label = len(finished) == 1 or len(set(labels)) > 1
    models = [
        ExploredModel.from_run(run, f"{label}, seed {run.seed}" if needs_label else f"seed {run.seed}")
        for run, label in zip(finished, labels, strict=True)
    ]
    # The model with the best MIG is first, because the first model labels the sliders.
    models.sort(key=lambda model: math.inf if model.score is None else -model.score)
    return models, finished[0].spec.training_data.open()


def _image_shape(image: Tensor, originals: Tensor | None) -> ImageShape:
    """Returns (channels, height, width) of a decoded image. Flat outputs take the shape of the originals."""
    shape = tuple(image.shape)
    if len(shape) == 2:
        shape = (1, *shape)
    if len(shape) == 1 and originals is not None and image.numel() == originals[0].numel():
        shape = tuple(originals.shape[1:])
    if len(shape) != 3 or shape[0] not in (1, 3) or min(shape[1:]) < 2:
        raise CodesError(
            f"The decoder outputs {tuple(image.shape)} for a code; an explorer shows images of one or three channels: "
            "(channels, height, width). Wrap it in a module that outputs that."
        )
    if originals is not None and torch.Size(shape) != originals.shape[1:]:
        raise DataError(
            f"The images are {tuple(originals.shape[1:])} and the decoder outputs {shape} (channels, height, width). "
            "Pass the images that were encoded."
        )
    return shape[0], shape[1], shape[2]
