"""`unbraid encode`."""

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from torch import Tensor

from unbraid import files
from unbraid.cli.console import say, stage
from unbraid.cli.image_files import fitted, picture_paths, read_pictures
from unbraid.cli.options import Device, parse_device
from unbraid.codes import Codes, LatentPrior
from unbraid.data.dataset import FactorImages
from unbraid.data.own.arrays import FromArrays
from unbraid.errors import DataError, RunError, SpecError
from unbraid.metrics.score_rows import plain_text
from unbraid.models.encode import encode as encode_images
from unbraid.runs.codes_file import PRIOR
from unbraid.runs.run import Run


def encode(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.", show_default=False)],
    images: Annotated[
        list[Path],
        typer.Argument(
            metavar="IMAGES",
            help="One .npz with an array `images`, or .png and .jpg files, or folders of them.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the codes go: an .npz or a .csv file.")] = Path(
        "codes.npz"
    ),
    device: Device = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Turn new images into codes.

    A code is the mean and the std of each latent, and a table of probabilities for each discrete one; an .npz also
    holds the prior. Pictures must
    have the height and width that the run was trained on; grey and colour are converted. Factors in the .npz are passed
    on, so that `unbraid score` can read what comes out.

    Examples:
      unbraid encode runs/beta-tcvae-0a1b2c3d4e5f-seed0 photos --out codes.csv
      unbraid encode runs/beta-tcvae-0a1b2c3d4e5f-seed0 images.npz --out codes.npz
    """
    if out.suffix not in (".npz", ".csv"):
        raise SpecError(f"--out is {out}; name an .npz or a .csv file.")
    files.check_writable(out)
    if any(out.resolve() == path.resolve() for path in images):
        raise RunError(f"--out is {out}, which is one of the images. Name another file.")
    if out.exists() and not force:
        raise RunError(f"{out} exists. Name another file with --out, or replace it with --force.")
    place, opened = parse_device(device), Run.open(run)
    if out.suffix == ".csv" and opened.spec.model.latents.num_discrete:
        raise SpecError(
            f"--out is {out}, and a .csv has no place for the probabilities of discrete latents. Name an .npz file."
        )
    model = opened.model().to(place)
    with stage("Reading the images"):
        paths, read = _read(images, opened)
    with stage(f"Encoding {len(read)} images on {place}"):
        pixels = fitted(read, opened.spec.dataset.image_shape, str(images[0]))
        codes = encode_images(model, dataclasses.replace(read, pixels=pixels.to(place), factors=read.factors.to(place)))
        _write(out, codes, [str(path) for path in paths])
    if out.suffix == ".csv" and codes.prior != LatentPrior.standard(codes.num_latents):
        say("The prior of the run is not in the .csv, which has no place for it: scores that need one say so.")
    say(f"{len(codes)} codes of {codes.num_latents} latents are in {out}.")


def _read(images: Sequence[Path], run: Run) -> tuple[list[Path], FactorImages]:
    """The images, and the files they are from where each has its own."""
    if images[0].suffix != ".npz":
        paths = picture_paths(images)
        return paths, read_pictures(paths, run.spec.dataset.image_shape)
    if len(images) > 1:
        raise DataError(f"{len(images)} files were given, the first an .npz. Give one .npz alone, or pictures.")
    return [], FromArrays(str(images[0])).load()


def _write(out: Path, codes: Codes, paths: Sequence[str]) -> None:
    """Codes and, where there are, file names and factors."""
    factors = {labels.name: labels.values.cpu().numpy() for labels in codes.factors}
    if out.suffix == ".csv":
        files.write_text(out, _csv(_arrays({"mean": codes.mean, "std": codes.marginal_std}), factors, paths))
        return
    arrays = _arrays({"std": codes.std, "covariance": codes.covariance, "samples": codes.samples})
    # Discrete latents alone have no means.
    arrays |= {"mean": codes.mean.cpu().numpy()} if codes.mean.shape[1] > 0 else {}
    arrays |= {f"probabilities_{number}": table.cpu().numpy() for number, table in enumerate(codes.probabilities)}
    if codes.prior is not None:
        arrays |= {f"{PRIOR}{name}": tensor.cpu().numpy() for name, tensor in codes.prior.tensors().items()}
    if paths:
        arrays["files"] = np.array(paths, dtype=np.str_)
    if factors:
        arrays |= {
            "factors": np.stack(list(factors.values()), axis=1),
            "factor_names": np.array(list(factors), dtype=np.str_),
        }
    with files.atomic_writer(out) as stream:
        np.savez(stream, **cast(dict[str, Any], arrays))


def _arrays(tensors: Mapping[str, Tensor | None]) -> dict[str, np.ndarray]:
    """Those that are there."""
    return {
        name: tensor.cpu().numpy() for name, tensor in tensors.items() if tensor is not None and tensor.shape[1] > 0
    }


def _csv(arrays: dict[str, np.ndarray], factors: dict[str, np.ndarray], paths: Sequence[str]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    latents = [f"{name}_{latent}" for name, values in arrays.items() for latent in range(values.shape[1])]
    writer.writerow([*(["file"] if paths else []), *latents, *(f"factor:{name}" for name in factors)])
    numbers = np.concatenate(list(arrays.values()), axis=1)
    for row in range(len(numbers)):
        writer.writerow(
            [
                *([plain_text(paths[row])] if paths else []),
                *numbers[row].tolist(),
                *(column[row] for column in factors.values()),
            ]
        )
    return text.getvalue()
