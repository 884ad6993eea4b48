"""`unbraid encode`."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid.cli.console import say
from unbraid.cli.options import Device, Force, Packages, RunFolder, check_target, parse_packages
from unbraid.cli.runs import loaded_model
from unbraid.errors import DataError, SpecError

if TYPE_CHECKING:
    from unbraid.datasets.dataset import FactorImages

_PICTURES = (".png", ".jpg", ".jpeg")


def encode(
    run: RunFolder,
    images: Annotated[
        list[Path],
        typer.Argument(metavar="IMAGES", help="An .npz with an array `images`, or .png and .jpg files, or folders."),
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
    also hold the prior and the groups of latents. Pictures must have the height and width of the training images; gray
    and color are converted. Factors in the .npz are kept, so that `unbraid score` can read the codes.

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
        raise SpecError(f"--out is {out}, which is one of the images. Name another file.")
    check_target("--out", out, SUFFIXES, force=force)
    place, opened = resolve_device(device), Run.open(run, packages=parse_packages(packages))
    if out.suffix == ".csv" and opened.spec.model.latents.num_discrete:
        raise SpecError(
            f"--out is {out}, and a .csv cannot hold the probabilities of discrete latents. Name an .npz file."
        )
    model, paths = loaded_model(opened).to(place), list[str]()
    say("Reading the images ...")
    if images[0].suffix != ".npz":
        pictures = picture_paths(images)
        read, paths = read_pictures(pictures, opened.spec.dataset.image_shape), list(map(str, pictures))
    elif len(images) == 1:
        read = FromArrays(str(images[0])).load()
    else:
        raise DataError(f"{len(images)} files were given, the first an .npz. Give one .npz, or only pictures.")
    say(f"Encoding {len(read)} images on {place} ...")
    pixels = fitted(read, opened.spec.dataset.image_shape, str(images[0]))
    codes = encode_images(model, dataclasses.replace(read, pixels=pixels).to(place))
    if out.suffix == ".csv":
        if lost := without_columns(codes):
            say(f"A .csv cannot hold {', '.join(lost)}, which some scores need. Name an .npz file to keep all.")
        codes = dataclasses.replace(codes, std=codes.marginal_std, covariance=None, samples=None, groups=(), prior=None)
        paths = [plain_text(path) for path in paths]
    save_codes(codes, out, paths)
    say(f"{len(codes)} codes of {codes.num_latents} latents are in {out}.")


def picture_paths(paths: Sequence[Path]) -> list[Path]:
    """Returns the paths of pictures. A folder is replaced by the pictures it contains, sorted by name."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(child for child in path.iterdir() if child.suffix.lower() in _PICTURES)
            if not inside:
                raise DataError(
                    f"The folder {path} holds no {', '.join(_PICTURES)} files. Name one that does, or an .npz file."
                )
            found.extend(inside)
        elif not path.exists():
            raise DataError(f"There is no file {path}. Name .png or .jpg files, a folder of them, or one .npz file.")
        elif path.suffix.lower() not in _PICTURES:
            raise DataError(f"{path} is neither a .png, .jpg or .npz file nor a folder. Convert it to one of these.")
        else:
            found.append(path)
    return found


def read_pictures(paths: Sequence[Path], image_shape: tuple[int, int, int]) -> "FactorImages":
    """Returns the pictures as images of this shape, converted to gray or color.

    Images are not resized; resize them beforehand.
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
            raise DataError(f"{path} cannot be read ({error.strerror}). Check its permissions.") from None
        # Before it is decoded: a picture of the wrong size may be a very large one.
        _, has_height, has_width = shape_of(content, str(path))
        if (has_height, has_width) != (height, width):
            raise DataError(wrong_size(str(path), (has_height, has_width), (height, width)))
        picture = decode(content, str(path), channels)
        pixels.append(picture[:, :, 0] if channels == 1 else picture)
    return unlabeled(np.stack(pixels))
