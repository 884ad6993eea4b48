"""`unbraid datasets`: lists, shows and downloads datasets."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid._internal.amounts import size_text
from unbraid._internal.names import kebab_case, suggestion
from unbraid.cli.console import echo, info_logging, output
from unbraid.cli.flags import ConfigFlags, Fields, Given, flag_name, known_fields
from unbraid.cli.options import Force, check_target
from unbraid.errors import SpecError

if TYPE_CHECKING:
    from unbraid.datasets.fetching.verification import Publication
    from unbraid.datasets.published.converted import ConvertedDataset
    from unbraid.datasets.training_data import TrainingData
    from unbraid.datasets.weights import Joint

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a dataset in `unbraid datasets`.")]

_PANELS = {
    "": "Images and their probabilities",
    "dataset.": "Fields of the dataset",
    "sampling.": "Fields of --sampling",
    "subset.": "Fields of --subset",
}
_OWN_FLAGS = ("sampling", "subset", "out", "joint", "seed", "force", "help")


def datasets() -> None:
    """List, show or download datasets.

    Without a subcommand, the datasets are listed.

    Examples:
      unbraid datasets
      unbraid datasets show dsprites
      unbraid datasets fetch mnist
    """


def datasets_list() -> None:
    """List the datasets.

    Each row shows the number and size of the images, the factors, the location and the license. Settings are the
    defaults of the dataset.

    Locations:
      drawn here     computed by unbraid at first use, without a download
      cached         downloaded and converted
      files found    found in a folder that you named; converted at first use
      to be fetched  `unbraid datasets fetch NAME` downloads the files
      ask the owner  no direct download; `fetch` prints instructions
      your files     your own images, named by a flag such as --dataset.path

    Example:
      unbraid datasets
    """
    from unbraid.cli.dataset_table import dataset_table

    output().print(dataset_table())
    echo("Show a dataset: unbraid datasets show NAME")
    echo("Train on a dataset: unbraid train --dataset NAME")


def _dataset_fields() -> Fields:
    return {name: known_fields("train")[name] for name in ("dataset", "sampling", "subset")}


def _short_name(path: str) -> str | None:
    """Returns the short name of a flag, such as `--resolution` for `--dataset.resolution`, or None without one."""
    name = path.removeprefix("dataset.")
    return None if name in (path, *_OWN_FLAGS) else flag_name(name)


@ConfigFlags(_dataset_fields, _PANELS, _short_name, argument="dataset")
def datasets_show(
    given: Given,
    name: Name,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page to write, an .html file. By default NAME.html.")
    ] = None,
    joint: Annotated[
        str | None,
        typer.Option(metavar="FACTOR,FACTOR", help="Also show the joint probabilities of two factors."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The seed of the samples.")] = 0,
    *,
    force: Force = False,
) -> None:
    """Write a page about a dataset.

    The page shows samples and, for each factor, a row of images that differ only in this factor. If the dataset has no
    such images, the row shows images with each value of the factor. With --sampling, samples follow its probabilities,
    and the page has a table of the probabilities. The tables of several samplings (--sampling.design A,B,C,D) are shown
    side by side. `unbraid train` has the same flags for the dataset, --sampling and --subset.

    Examples:
      unbraid datasets show dsprites
      unbraid datasets show dsprites --resolution 32 --shapes heart --out hearts.html
      unbraid datasets show dsprites --sampling correlated --sampling.factors scale,position_x --sampling.strength 0.2
      unbraid datasets show shaded-faces --sampling chen-design --sampling.design A,B,C,D
    """
    from unbraid.cli.build import build
    from unbraid.cli.dataset_table import dataset_class, describe_images
    from unbraid.datasets.dataset import FactorDataset
    from unbraid.datasets.training_data import TrainingData
    from unbraid.show.datasets import write_dataset_page
    from unbraid.show.datasets.joint_map import check_pair, map_of_images, maps_of_joint
    from unbraid.training.runs.spec_text import value_text

    dataset_name = kebab_case(dataset_class(name), FactorDataset)
    path = Path(f"{dataset_name}.html") if out is None else out
    check_target("--out", path, (".html",), force=force)
    shown, designs = _split_samplings(build(TrainingData, {"dataset": [dataset_name], **given}))
    for sampling in designs or (None,):
        replace(shown, sampling=sampling).check()
    pair = None if joint is None else [part.strip() for part in joint.split(",")]
    if pair is not None:
        check_pair(pair, shown.dataset.factors)
    images = shown.open()
    echo(f"Writing {path} ...")
    summary, *_ = (inspect.getdoc(type(shown.dataset)) or "").splitlines()
    settings = f"{describe_images(len(images), images.image_shape)}, {value_text(shown.dataset)}"
    notes, maps = [summary, settings], []
    if shown.subset is not None:
        notes.append(f"Subset: {value_text(shown.subset)}")
    for sampling in designs:
        maps += maps_of_joint(sampling, images.factor_table, f"Requested: {value_text(sampling)}")
    if pair is not None:
        maps.append(map_of_images(images, pair, "Probabilities of the images"))
    write_dataset_page(path, images, dataset_name, notes, maps, seed)
    echo(f"The page is in {path.resolve().as_uri()}")


def _split_samplings(built: "Sequence[TrainingData]") -> "tuple[TrainingData, list[Joint]]":
    """Returns the data to show and the requested joint distributions of factors.

    If several joint distributions are requested, the returned data has no sampling.
    """
    shown, designs = built[0], [each.sampling for each in built if each.sampling is not None]
    if len(built) == 1:
        return shown, designs
    if len({(each.dataset, each.subset) for each in built}) > 1:
        raise SpecError(
            f"The flags describe {len(built)} datasets; expected one. Give one value to each flag, except --sampling "
            "and its fields."
        )
    return replace(shown, sampling=None), designs


def datasets_fetch(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Download into a subfolder of this folder. Default: the cache."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Download only this file. May be repeated."),
    ] = None,
) -> None:
    """Download the files of a dataset.

    The files come from their owner or a mirror. Their checksums are compared with the published checksums. Without a
    published checksum, the checksum of the first download is recorded, and later downloads are compared with it. An
    interrupted download resumes. The license is printed first. unbraid redistributes no data. Please comply with the
    license.

    Examples:
      unbraid datasets fetch mnist
      unbraid datasets fetch shapes3d --out ~/data
      unbraid datasets fetch mpi3d --only mpi3d_toy.npz
    """
    from unbraid.cli.dataset_table import dataset_class, required_fields
    from unbraid.datasets.dataset import FactorDataset
    from unbraid.datasets.fetching.fetch import fetch, fetched_folder
    from unbraid.datasets.published.converted import ConvertedDataset

    cls = dataset_class(name)
    name = kebab_case(cls, FactorDataset)
    if needed := required_fields(cls):
        echo(f"There is nothing to download: {name} reads your own images, named by --dataset.{needed[0]}.")
        return
    if not issubclass(cls, ConvertedDataset):
        echo(
            f"There is nothing to download: the images of {name} are computed at first use. Show them: unbraid "
            f"datasets show {name}"
        )
        return
    publication = _with_files(cls, only or [])
    if out is None:
        folder = fetched_folder(publication)
    elif out.exists() and not out.is_dir():
        raise SpecError(f"--out is {out}, which is a file; expected a folder. Name a new or existing folder.")
    else:  # a folder of several datasets, some of which have files with the same names
        folder = Path(files.absolute(str(out))) / publication.subfolders[0]
    _print_publication(publication)
    sources = cls().find() if out is None else None
    there = folder if sources is None else sources[0].parent
    if there != folder and all((there / file.name).exists() for file in publication.files):
        echo(
            f"There is nothing to download: the files are in {there}. To have them in the cache too, copy them "
            f"into {folder}."
        )
    else:
        with info_logging("unbraid.datasets"):
            paths = fetch(publication, folder)
        echo(f"{len(paths)} {'file is' if len(paths) == 1 else 'files are'} in {folder}.")
    root = "" if out is None else f" --dataset.root {files.absolute(str(out))}"
    echo(f"Show the images: unbraid datasets show {name}{root}")


def _with_files(cls: "type[ConvertedDataset]", only: Sequence[str]) -> "Publication":
    """Returns the publication with the files named in `only`; if it is empty, with the files required by default."""
    publication = cls.publication
    for name in only:
        if publication.file(name) is None:
            valid = [file.name for file in publication.files]
            raise SpecError(f"--only is {name!r}; expected a published file. {suggestion(name, valid)}")
    chosen = tuple(file for file in publication.files if file.name in only) if only else cls().needed_files
    return replace(publication, files=chosen)


def _print_publication(publication: "Publication") -> None:
    """Prints the title, the homepage, the license, and the size of the download."""
    echo(publication.title, style="bold")
    echo(f"From: {publication.homepage}")
    echo(f"License: {publication.license}." + (f" {publication.license_note}" if publication.license_note else ""))
    sizes = [file.num_bytes for file in publication.files if file.url]
    if sizes:
        size = size_text(sum(filter(None, sizes))) if None not in sizes else "of unknown size"
        echo(f"To download: {len(sizes)} {'file' if len(sizes) == 1 else 'files'}, {size}.")
