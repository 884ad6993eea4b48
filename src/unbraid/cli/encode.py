"""`unbraid encode`: codes of new images."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import echo
from unbraid.cli.options import Device, Force, Packages, RunFolder, check_target, parse_packages
from unbraid.cli.runs import load_model
from unbraid.errors import DataError, SpecError

if TYPE_CHECKING:
    from unbraid.datasets.dataset import FactorImages

_PICTURES = (".png", ".jpg", ".jpeg")


def encode(
    run: RunFolder,
    images: Annotated[
        list[Path],
        typer.Argument(
            metavar="IMAGES", help="An .npz file with an array `images`, or pictures or folders (.png, .jpg)."
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file of codes to write: .npz, .safetensors or .csv.")
    ] = Path("codes.npz"),
    device: Device = "auto",
    *,
    force: Force = False,
    packages: Packages = None,
) -> None:
    """Encode new images.

    Codes hold the mean and the std of each latent, and the probabilities of each discrete latent. Files other than .csv
    also hold the prior and the groups of latents. Pictures must have the height and width of the training images. Gray
    pictures are converted to color if the model needs it, and vice versa. Factors in the .npz file are copied to the
    codes, so that `unbraid score` can score them.

    Examples:
      unbraid encode runs/beta-tcvae-0a1b2c3d4e5f-seed0 photos --out codes.csv
      unbraid encode runs/beta-tcvae-0a1b2c3d4e5f-seed0 images.npz --out codes.npz
    """
    from unbraid._internal.device import resolve_device
    from unbraid._internal.table import plain_text
    from unbraid.codes.codes_file import SUFFIXES, save_codes
    from unbraid.codes.csv_file import without_columns
    from unbraid.datasets.pictures import fitted
    from unbraid.datasets.user.from_arrays import FromArrays
    from unbraid.models.trained.encode import encode as encode_images
    from unbraid.training.runs.run import Run

    if any(out.resolve() == path.resolve() for path in images):
        raise SpecError(f"--out is {out}, which is also an input file. Name another file.")
    check_target("--out", out, SUFFIXES, force=force)
    place, opened = resolve_device(device), Run.open(run, packages=parse_packages(packages))
    if out.suffix == ".csv" and opened.spec.model.latents.num_discrete:
        raise SpecError(
            f"--out is {out}, but a .csv file cannot hold the probabilities of discrete latents. Name an .npz file."
        )
    model, paths = load_model(opened).to(place), list[str]()
    echo("Reading the images ...")
    if images[0].suffix != ".npz":
        pictures = picture_paths(images)
        read, paths = read_pictures(pictures, opened.spec.dataset.image_shape), list(map(str, pictures))
    elif len(images) == 1:
        read = FromArrays(str(images[0])).load()
    else:
        raise DataError(f"Expected one .npz file or only pictures, got {images[0]} and others. Name only {images[0]}.")
    echo(f"Encoding {len(read)} images on {place} ...")
    pixels = fitted(read, opened.spec.dataset.image_shape, str(images[0]))
    codes = encode_images(model, dataclasses.replace(read, pixels=pixels).to(place))
    if out.suffix == ".csv":
        if lost := without_columns(codes):
            echo(f"A .csv file cannot hold {', '.join(lost)}, which some scores need. Name an .npz file to keep them.")
        codes = dataclasses.replace(codes, std=codes.marginal_std, covariance=None, samples=None, groups=(), prior=None)
        paths = [plain_text(path) for path in paths]
    save_codes(codes, out, paths)
    echo(f"{len(codes)} codes of {codes.num_latents} latents are in {out}.")


def picture_paths(paths: Sequence[Path]) -> list[Path]:
    """Returns the paths of pictures. A folder is replaced by the sorted paths of the pictures in it."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(child for child in path.iterdir() if child.suffix.lower() in _PICTURES)
            if not inside:
                raise DataError(
                    f"The folder {path} has no {', '.join(_PICTURES)} files. Name a folder of pictures or an .npz file."
                )
            found.extend(inside)
        elif not path.exists():
            raise DataError(f"There is no file {path}. Name pictures (.png, .jpg), a folder of them, or an .npz file.")
        elif path.suffix.lower() not in _PICTURES:
            raise DataError(f"Expected a .png, .jpg or .npz file or a folder, got {path}. Convert the file.")
        else:
            found.append(path)
    return found


def read_pictures(paths: Sequence[Path], image_shape: tuple[int, int, int]) -> "FactorImages":
    """Reads pictures, and converts them to gray or color as `image_shape` (channels, height, width) requires.

    Raises DataError for a picture with another height or width.
    """
    import numpy as np

    from unbraid.datasets.pictures import decode, shape_of, wrong_size
    from unbraid.datasets.user.from_arrays import unlabeled

    channels, height, width = image_shape
    pixels = []
    for path in paths:
        try:
            content = files.read_bytes(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror}). Check the permissions of the file.") from None
        # The size is checked before decoding, because the picture may be very large.
        _, has_height, has_width = shape_of(content, str(path))
        if (has_height, has_width) != (height, width):
            raise DataError(wrong_size(str(path), (has_height, has_width), (height, width)))
        picture = decode(content, str(path), channels)
        pixels.append(picture[:, :, 0] if channels == 1 else picture)
    return unlabeled(np.stack(pixels))
