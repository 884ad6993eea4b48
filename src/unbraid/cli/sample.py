"""`unbraid sample`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.options import Device, Packages, parse_packages


def sample(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    num_images: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="How many images to draw.")] = 64,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Other seeds draw other images.")] = 0,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the images go: a .png that shows them, or an .npz of bytes.")
    ] = Path("samples.png"),
    device: Device = "auto",
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    packages: Packages = None,
) -> None:
    """Draw images from the prior of a model.

    Codes are drawn from p(z) and decoded. Of an unfinished run the model is that of its newest checkpoint. An .npz has
    an array `images`, which `unbraid encode` and `--dataset from-arrays` read.

    Examples:
      unbraid sample runs/beta-tcvae-0a1b2c3d4e5f-seed0
      unbraid sample runs/beta-tcvae-0a1b2c3d4e5f-seed0 --num-images 1000 --seed 1 --out samples.npz
    """
    from unbraid.cli.prior_samples import check_target, sample_into

    check_target(out, num_images, force=force)
    sample_into(out, run, num_images, seed, device=device, packages=parse_packages(packages))
