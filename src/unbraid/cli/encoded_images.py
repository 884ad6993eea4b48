"""New images, read, encoded by a run and written as codes."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from unbraid._internal import files
from unbraid._internal.device import resolve_device
from unbraid._internal.table import plain_text
from unbraid.cli.console import say, stage
from unbraid.cli.image_files import picture_paths, read_pictures
from unbraid.cli.run_folders import loaded_model
from unbraid.codes import Codes
from unbraid.codes.codes_file import SUFFIXES, save_codes
from unbraid.codes.csv_file import without_columns
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pictures import fitted
from unbraid.datasets.user.from_arrays import FromArrays
from unbraid.errors import DataError, RunError, SpecError
from unbraid.models.trained.encode import encode as encode_images
from unbraid.training.runs.run import Run


def check_target(out: Path, images: Sequence[Path], *, force: bool) -> None:
    """Refuses a target that cannot or must not be written, before anything is read."""
    if out.suffix not in SUFFIXES:
        raise SpecError(f"--out is {out}; name an .npz, a .safetensors or a .csv file.")
    files.check_writable(out)
    if any(out.resolve() == path.resolve() for path in images):
        raise RunError(f"--out is {out}, which is one of the images. Name another file.")
    if out.exists() and not force:
        raise RunError(f"{out} exists. Name another file with --out, or replace it with --force.")


def encode_into(out: Path, run: Path, images: Sequence[Path], *, device: str, packages: Sequence[str]) -> None:
    """Encodes the images by the model of a run, writes the codes, and says where they are."""
    place, opened = resolve_device(device), Run.open(run, packages=packages)
    model = loaded_model(opened).to(place)
    with stage("Reading the images"):
        paths, read = _read(images, opened)
    with stage(f"Encoding {len(read)} images on {place}"):
        pixels = fitted(read, opened.spec.dataset.image_shape, str(images[0]))
        codes = encode_images(model, dataclasses.replace(read, pixels=pixels).to(place))
        _write(out, codes, [str(path) for path in paths])
    say(f"{len(codes)} codes of {codes.num_latents} latents are in {out}.")


def _read(images: Sequence[Path], run: Run) -> tuple[list[Path], FactorImages]:
    """Returns the images, and the files they are from where each has its own."""
    if images[0].suffix != ".npz":
        paths = picture_paths(images)
        return paths, read_pictures(paths, run.spec.dataset.image_shape)
    if len(images) > 1:
        raise DataError(f"{len(images)} files were given, the first an .npz. Give one .npz alone, or pictures.")
    return [], FromArrays(str(images[0])).load()


def _write(out: Path, codes: Codes, paths: Sequence[str]) -> None:
    """Writes the codes and, where there are, the names of the files.

    A table gets what it has columns for, and says what is not in it.
    """
    if out.suffix == ".csv":
        lost, paths = without_columns(codes), [plain_text(path) for path in paths]
        codes = dataclasses.replace(codes, std=codes.marginal_std, covariance=None, samples=None, groups=(), prior=None)
        if lost:
            say(f"A .csv has no place for {', '.join(lost)}: scores that need it name it.")
    save_codes(codes, out, paths)
