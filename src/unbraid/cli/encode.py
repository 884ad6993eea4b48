"""`unbraid encode`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.options import Device, Packages, parse_packages


def encode(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    images: Annotated[
        list[Path],
        typer.Argument(
            metavar="IMAGES",
            help="One .npz with an array `images`, or .png and .jpg files, or folders of them.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the codes go: an .npz, .safetensors or .csv file.")
    ] = Path("codes.npz"),
    device: Device = "auto",
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    packages: Packages = None,
) -> None:
    """Turn new images into codes.

    A code is the mean and the std of each latent, and a table of probabilities for each discrete one; all but a
    .csv also hold the prior and the groups of latents. Pictures must have the height and width that the run was trained
    on; gray and color are converted. Factors in the .npz are passed on, so that `unbraid score` can read what comes
    out.

    Examples:
      unbraid encode runs/beta-tcvae-0a1b2c3d4e5f-seed0 photos --out codes.csv
      unbraid encode runs/beta-tcvae-0a1b2c3d4e5f-seed0 images.npz --out codes.npz
    """
    from unbraid.cli.encoded_images import check_target, encode_into

    check_target(out, images, force=force)
    encode_into(out, run, images, device=device, packages=parse_packages(packages))
