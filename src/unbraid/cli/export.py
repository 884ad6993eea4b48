"""`unbraid export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.console import say
from unbraid.cli.options import Force, Packages, RunFolder, parse_packages


def export(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder of the two files. Default: the folder of RUN.")
    ] = None,
    to: Annotated[
        Literal["onnx", "torch"], typer.Option(help="ONNX, or files of torch.export, which readers unpickle.")
    ] = "onnx",
    *,
    force: Force = False,
    packages: Packages = None,
) -> None:
    """Write the encoder and the decoder of a run as ONNX files.

    The encoder takes images and outputs mean and std of each latent; the decoder takes a code and outputs the
    decoded image. Neither draws random numbers, and batches may have any size. Both are compared with torch before they
    are written, and their checksums are recorded in the run.

    Examples:
      unbraid export runs/beta-tcvae-0a1b2c3d4e5f-seed0 --out exported
      unbraid score --encoder exported/encoder.onnx --dataset dsprites
    """
    from unbraid.training.runs.run import Run

    opened = Run.open(run, packages=parse_packages(packages))
    folder = opened.folder / to if out is None else out
    say(f"Exporting {opened.name} ...")
    write = opened.export_onnx if to == "onnx" else opened.export_torch
    written = write(folder, force=force)
    for each in written:
        checked = ""
        if each.largest_difference is not None:
            checked = f", within {each.largest_difference:.1e} of torch by onnxruntime (opset {each.opset})"
        say(f"{each.path}: SHA-256 {each.sha256[:12]}...{checked}")
