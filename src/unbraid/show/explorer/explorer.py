"""Writer of the explorer, an interactive HTML page for runs or for any decoder."""

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

# The files are joined to one script in this order.
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
    """Writes an HTML page with a slider for each latent, which decodes images in the browser. Returns the path.

    Pass either `runs` or a `decoder`. Finished runs of the same dataset are shown side by side. The model with the best
    MIG labels the sliders, and the latents of other models are matched to the latents of this model.

    A `decoder` is a torch module from codes to images in [0, 1]. It requires `codes` of some images (`Codes`, or a
    table of numbers), and optionally the `images` in the same order. `precision` is the type of the weights in the
    file: "half", "int8", or "auto" (int8 for large decoders, otherwise half). The page needs no server and no network.

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
    """Returns the content of the page as JSON, for the arguments of `write_explorer`."""
    check_value(precision, Precision, "precision")
    arguments = {"runs": runs, "decoder": decoder, "codes": codes, "images": images}
    given = [name for name, value in arguments.items() if value is not None]
    if given not in (["runs"], ["decoder", "codes"], ["decoder", "codes", "images"]):
        raise SpecError(
            f"Expected runs, or a decoder with codes, got {' and '.join(given) or 'neither'}. Call "
            "write_explorer(runs, path) or write_explorer(decoder=module, codes=codes, images=images)."
        )
    if runs is not None:
        models, pixels = _of_runs(runs)
    else:
        models, pixels = [ExploredModel.from_decoder(decoder, codes)], None if images is None else unlabeled(images)
        if pixels is not None and len(pixels) != len(models[0].codes):
            num_codes = len(models[0].codes)
            raise DataError(
                f"Expected one code per image, got {num_codes} codes of {len(pixels)} images. Pass one each."
            )
    rows = starting_rows(models[0], len(models[0].codes))
    originals = None if pixels is None else pixels.batch(rows)
    shape = _image_shape(models[0].decode(models[0].columns(rows[:1]))[0], originals)
    if runs is None:
        headline = "The effect of each latent"
    else:
        headline = f"The latents of {models[0].name if len(models) == 1 else f'{len(models)} models'}"
    return {"title": title or headline, **payload(models, originals, rows, shape, precision)}


def render_explorer(content: dict[str, Any]) -> str:
    """Returns the HTML of the page. Its content security policy allows only its own script and style sheet."""
    folder = resources.files("unbraid.show.explorer")
    script = "\n" + "\n".join(folder.joinpath(name).read_text("utf-8") for name in _SCRIPTS)
    style = "\n" + filled("colors.css") + folder.joinpath("explorer.css").read_text("utf-8")
    values = {
        "title": content["title"],
        "policy": content_policy(script, style),
        "style": style,
        "script": script,
        # An escaped "<" cannot end the element that contains the JSON.
        "data": json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "version": __version__,
        "models": content["models"],
        "reasons": [(model["name"], model["reason"]) for model in content["models"] if model["reason"]],
    }
    return filled("explorer.html", values)


def _of_runs(runs: Sequence[Run]) -> tuple[list[ExploredModel], Any]:
    """Returns the models of the finished runs, best MIG first, and their training images."""
    if isinstance(runs, (str, Path, Run)) or not all(isinstance(run, Run) for run in runs):
        raise RunError(f"Expected `runs` to be a list of Run, got {in_short(runs)}. Pass runs_in(folder), for example.")
    finished = [run for run in runs if run.has_model]
    if not finished or len(finished) > MAX_RUNS:
        raise RunError(
            f"Expected 1 to {MAX_RUNS} finished runs with weights, got {len(finished)}. Choose some of the runs; "
            "`unbraid runs` lists the runs with their scores."
        )
    datasets = {(run.spec.dataset, run.spec.subset) for run in finished}
    if len(datasets) > 1:
        raise RunError(
            f"Expected runs of the same dataset and subset, got {len(datasets)} different ones. Write an explorer for "
            "each dataset."
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
    """Returns (channels, height, width) of a decoded image. Flat outputs have the shape of the originals."""
    shape = tuple(image.shape)
    if len(shape) == 2:
        shape = (1, *shape)
    if len(shape) == 1 and originals is not None and image.numel() == originals[0].numel():
        shape = tuple(originals.shape[1:])
    if len(shape) != 3 or shape[0] not in (1, 3) or min(shape[1:]) < 2:
        raise CodesError(
            f"Expected the decoder to output an image (channels, height, width) with 1 or 3 channels, got the shape "
            f"{tuple(image.shape)}. Wrap the decoder in a module that reshapes its output."
        )
    if originals is not None and torch.Size(shape) != originals.shape[1:]:
        raise DataError(
            f"Expected images of the shape {shape} (channels, height, width), as decoded, got "
            f"{tuple(originals.shape[1:])}. Pass the images that were encoded."
        )
    return shape[0], shape[1], shape[2]
