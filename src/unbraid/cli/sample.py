"""`unbraid sample`: images drawn from the prior of a model."""

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import echo
from unbraid.cli.options import Device, Force, Packages, RunFolder, check_target, parse_packages
from unbraid.cli.runs import load_model
from unbraid.errors import SpecError

if TYPE_CHECKING:
    from torch import Tensor

_MOST_IN_A_PICTURE = 1024


def sample(
    run: RunFolder,
    num_images: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Number of images to draw.")] = 64,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of the draws.")] = 0,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write: .png (a grid of images) or .npz (uint8).")
    ] = Path("samples.png"),
    device: Device = "auto",
    *,
    force: Force = False,
    packages: Packages = None,
) -> None:
    """Draw images from the prior of a model.

    Codes are drawn from p(z) and decoded. For an unfinished run, the newest checkpoint is used. An .npz file has
    an array `images`, which `unbraid encode` and `--dataset from-arrays` can read.

    Examples:
      unbraid sample runs/beta-tcvae-0a1b2c3d4e5f-seed0
      unbraid sample runs/beta-tcvae-0a1b2c3d4e5f-seed0 --num-images 1000 --seed 1 --out samples.npz
    """
    from unbraid._internal.device import resolve_device
    from unbraid.training.runs.run import Run

    check_target("--out", out, (".png", ".npz"), force=force)
    if out.suffix == ".png" and num_images > _MOST_IN_A_PICTURE:
        raise SpecError(
            f"--num-images is {num_images}; expected at most {_MOST_IN_A_PICTURE} for a .png file. Name an .npz file "
            "with --out."
        )
    place, opened = resolve_device(device), Run.open(run, packages=parse_packages(packages))
    model = load_model(opened).to(place)
    echo(f"Drawing {num_images} images on {place} ...")
    images = model.sample(num_images, seed=seed).cpu()
    files.write_bytes(out, _png(images) if out.suffix == ".png" else _npz(images))
    echo(f"{num_images} images are in {out}.")


def _png(images: "Tensor") -> bytes:
    from unbraid.figures.labeled_sheet import LabeledSheet, stack

    stream, columns = io.BytesIO(), math.ceil(math.sqrt(len(images)))
    LabeledSheet(stack(images.split(columns))).image().save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def _npz(images: "Tensor") -> bytes:
    """Returns the content of an .npz file for `FromArrays`: images as uint8, or vectors as float32."""
    import numpy as np

    stream, are_vectors = io.BytesIO(), images.shape[1:3] == (1, 1)
    found = images[:, 0, 0].float() if are_vectors else (images.clamp(0, 1) * 255).round().byte()
    np.savez(stream, images=found.numpy())
    return stream.getvalue()
