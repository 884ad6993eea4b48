"""TensorBoard files: losses during training, or codes, figures, losses and scores of a finished run."""

import importlib.util
import math
from io import BytesIO
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from unbraid import figures
from unbraid._internal.progress import Event
from unbraid.codes import Codes, Labels
from unbraid.errors import RunError, SpecError
from unbraid.figures.saving import rendered
from unbraid.training.runs.run import Run

_MAX_SPRITE_PIXELS = 8192  # the maximum size of the sprite image of the projector


def write_tensorboard(run: Run, folder: Path | str, *, num_images: int = 1000, losses: bool = True) -> Path:
    """Writes files of a finished run for `tensorboard --logdir FOLDER`. Returns the new folder.

    The projector shows the means of codes with images and factors. The folder also has a traversal, the scores and the
    losses of the run and, if matplotlib is installed, heat maps of latents and factors.

    Args:
        run: The run.
        folder: The parent of the new folder.
        num_images: The number of images in the projector, evenly spaced in the training data.
        losses: Whether to write the loss and its terms. Pass False if `TensorBoardListener` has already written them.
    """
    new_writer = _summary_writer()
    place = Path(folder) / run.name
    if (place / "projector_config.pbtxt").exists():
        raise RunError(f"Expected a folder without codes, got {place}. Remove this folder, or name another one.")
    if num_images < 1:
        raise SpecError(f"Expected `num_images` to be an integer >= 1, got {num_images}. Pass for example 1000.")
    codes, traversal = run.codes(), run.traverse()
    with new_writer(str(place)) as writer:
        _add_codes(writer, run, codes, torch.linspace(0, len(codes) - 1, min(len(codes), num_images)).long())
        writer.add_image("traversal", _pixels(traversal.png()), run.spec.num_steps, dataformats="HWC")
        for name, png in _maps(codes).items():
            writer.add_image(name, _pixels(png), run.spec.num_steps, dataformats="HWC")
        for name, score in run.named_scores().items():
            writer.add_scalar(f"scores/{name}", score.value, run.spec.num_steps)
        for name in run.history.columns[1:] if losses else ():
            for step, value in zip(run.history["step"], run.history[name], strict=True):
                if math.isfinite(value):
                    writer.add_scalar(name, value, int(step))
    return place


@final
class TensorBoardListener:
    """Callback of `train` that writes loss curves for `tensorboard --logdir FOLDER`, with a subfolder for each run.

    Example: `train(spec, watch=TensorBoardListener(folder))`.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder, self._new_writer = Path(folder), _summary_writer()
        self._writers: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        for place, run in enumerate(event.runs if event.values else ()):
            if run not in self._writers:
                self._writers[run] = self._new_writer(str(self._folder / run))
            for name, values in event.values.items():
                if math.isfinite(values[place]):  # NaN after a failure
                    self._writers[run].add_scalar(name, values[place], event.done)
            if event.is_over:
                self._writers.pop(run).close()

    def close(self) -> None:
        """Closes the files of unfinished runs, for instance after an interruption."""
        while self._writers:
            self._writers.popitem()[1].close()


def _summary_writer() -> Any:
    """Returns the class `SummaryWriter` of torch. Raises SpecError if tensorboard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise SpecError(
            f"TensorBoard files require tensorboard ({error}). Install it: pip install 'unbraid[tensorboard]'."
        ) from None
    return SummaryWriter


def _add_codes(writer: Any, run: Run, codes: Codes, rows: Int64[Tensor, " row"]) -> None:
    chosen = codes[rows]
    names, labels = list(chosen.factor_names), [_texts(factor) for factor in chosen.factors]
    writer.add_embedding(
        chosen.with_discrete_as_columns().mean,
        # The projector accepts a header only for several columns.
        metadata=None if not labels else labels[0] if len(labels) == 1 else list(map(list, zip(*labels, strict=True))),
        metadata_header=names if len(names) > 1 else None,
        label_img=_small_images(run, rows),
        global_step=run.spec.num_steps,
        tag="codes",
    )


def _small_images(run: Run, rows: Int64[Tensor, " row"]) -> Tensor | None:
    """Returns square color images for the projector, or None for vectors and too many or too large images."""
    _, height, width = run.spec.dataset.image_shape
    side, num_across = max(height, width), math.ceil(math.sqrt(len(rows)))
    if run.spec.dataset.holds_vectors or side * num_across > _MAX_SPRITE_PIXELS:
        return None
    images = run.spec.training_data.open().batch(rows).cpu()
    padded = torch.nn.functional.pad(images, (0, side - width, 0, side - height))
    return padded.expand(-1, 3, -1, -1)


def _texts(labels: Labels) -> list[str]:
    known = labels.is_known.tolist()
    values = (labels.values.argmax(dim=1) if labels.is_soft else labels.values).tolist()
    return [f"{value:.4g}" if is_known else "?" for value, is_known in zip(values, known, strict=True)]


def _maps(codes: Codes) -> dict[str, bytes]:
    """Returns PNG files of heat maps of latents and factors by name, or an empty dict without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None or codes.mean.shape[1] == 0:
        return {}
    ordered = [labels for labels in codes.factors if labels.ordered and not labels.is_soft]
    varying = [labels for labels in ordered if len(labels.values[labels.is_known].unique()) > 1]
    found = {"latents_latents": rendered(figures.latent_latent_map(codes))} if codes.mean.shape[1] > 1 else {}
    return found | ({"latents_factors": rendered(figures.latent_factor_map(codes))} if varying else {})


def _pixels(png: bytes) -> UInt8[np.ndarray, "height width channel"]:
    from PIL import Image

    with Image.open(BytesIO(png)) as picture:
        return np.asarray(picture.convert("RGB"))
