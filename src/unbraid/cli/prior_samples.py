"""Images drawn from the prior of a run's model, as a picture or as an array."""

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.device import resolve_device
from unbraid.cli.console import say, stage
from unbraid.cli.run_folders import loaded_model
from unbraid.errors import RunError, SpecError
from unbraid.figures.labeled_sheet import LabeledSheet, stack
from unbraid.training.runs.run import Run

_MOST_IN_A_PICTURE = 1024


def check_target(out: Path, num_images: int, *, force: bool) -> None:
    """Refuses a target that cannot or must not be written, before anything is read."""
    if out.suffix not in (".png", ".npz"):
        raise SpecError(f"--out is {out}; name a .png or an .npz file.")
    if out.suffix == ".png" and num_images > _MOST_IN_A_PICTURE:
        raise SpecError(
            f"--num-images is {num_images}; a picture shows at most {_MOST_IN_A_PICTURE}. Name an .npz file with --out."
        )
    files.check_writable(out)
    if out.exists() and not force:
        raise RunError(f"{out} exists. Name another file with --out, or replace it with --force.")


def sample_into(out: Path, run: Path, num_images: int, seed: int, *, device: str, packages: Sequence[str]) -> None:
    """Draws images by the model of a run, writes them, and says where they are."""
    place, opened = resolve_device(device), Run.open(run, packages=packages)
    model = loaded_model(opened).to(place)
    with stage(f"Drawing {num_images} images on {place}"):
        images = model.sample(num_images, seed=seed).cpu()
        files.write_bytes(out, _png(images) if out.suffix == ".png" else _npz(images))
    say(f"{num_images} images are in {out}.")


def _png(images: Float[Tensor, "image channel height width"]) -> bytes:
    stream, columns = io.BytesIO(), math.ceil(math.sqrt(len(images)))
    LabeledSheet(stack(images.split(columns))).image().save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def _npz(images: Float[Tensor, "image channel height width"]) -> bytes:
    """Returns the images as bytes or, of a run that was trained on vectors, those: as `FromArrays` takes either."""
    stream, are_vectors = io.BytesIO(), images.shape[1:3] == (1, 1)
    found = images[:, 0, 0].float() if are_vectors else (images.clamp(0, 1) * 255).round().byte()
    np.savez(stream, images=found.numpy())
    return stream.getvalue()
