"""`unbraid export`: ONNX files of a run."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.console import echo
from unbraid.cli.options import Force, Packages, RunFolder, parse_packages


def export(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the files to this folder. Default: the folder of RUN."),
    ] = None,
    to: Annotated[
        Literal["onnx", "torch"], typer.Option(help="The format. Loading a file of torch.export unpickles it.")
    ] = "onnx",
    *,
    force: Force = False,
    packages: Packages = None,
) -> None:
    """Write the encoder and the decoder of a run as ONNX files.

    The input of the encoder is images, and its outputs are the mean and std of each latent. The input of the decoder is
    codes, and its output is images. Both are deterministic and accept batches of any size. Before the files are
    written, the outputs are compared with torch. Checksums of the files are recorded in the run.

    Examples:
      unbraid export runs/beta-tcvae-0a1b2c3d4e5f-seed0 --out exported
      unbraid score --encoder exported/encoder.onnx --dataset dsprites
    """
    from unbraid.training.runs.run import Run

    opened = Run.open(run, packages=parse_packages(packages))
    folder = opened.folder / to if out is None else out
    echo(f"Exporting {opened.name} ...")
    write = opened.export_onnx if to == "onnx" else opened.export_torch
    written = write(folder, force=force)
    for each in written:
        checked = ""
        if each.largest_difference is not None:
            checked = f", within {each.largest_difference:.1e} of torch by onnxruntime (opset {each.opset})"
        echo(f"{each.path}: SHA-256 {each.sha256[:12]}...{checked}")
