"""`unbraid datasets`: lists datasets, shows one, or fetches one."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbraid._internal import files
from unbraid._internal.amounts import size_text
from unbraid._internal.names import kebab_case, suggestion
from unbraid.cli.console import informative, output, say
from unbraid.cli.flags import ConfigFlags, Fields, Given, known_fields, spelled
from unbraid.cli.options import Force, check_target
from unbraid.errors import SpecError

if TYPE_CHECKING:
    from unbraid.datasets.fetching.verification import Publication
    from unbraid.datasets.published.converted import ConvertedDataset
    from unbraid.datasets.training_data import TrainingData
    from unbraid.datasets.weights import Joint

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset, as `unbraid datasets` lists it.")]

_PANELS = {
    "": "Which images, and how likely they are",
    "dataset.": "Fields of the dataset",
    "sampling.": "Fields of --sampling",
    "subset.": "Fields of --subset",
}
_OWN_FLAGS = ("sampling", "subset", "out", "joint", "seed", "force", "help")


def datasets() -> None:
    """List the datasets, show one, or fetch one.

    Without a command, they are listed.

    Examples:
      unbraid datasets
      unbraid datasets show dsprites
      unbraid datasets fetch mnist
    """


def datasets_list() -> None:
    """List the datasets.

    A row has the number and size of the images, their factors, location and license, for the default settings of the
    dataset.

    Locations:
      drawn here     made by unbraid at first use, without a download
      cached         converted, and ready
      files found    in a folder that you named; converted at first use
      to be fetched  `unbraid datasets fetch NAME` downloads the files
      ask the owner  no direct download: `fetch` prints which file to put where
      your files     images of your own, named by a flag such as --dataset.path

    Example:
      unbraid datasets
    """
    from unbraid.cli.dataset_table import dataset_table

    output().print(dataset_table())
    say("Look at one with: unbraid datasets show NAME")
    say("Train on one with: unbraid train --dataset NAME")


def _shown_fields() -> Fields:
    return {name: known_fields("train")[name] for name in ("dataset", "sampling", "subset")}


def _short_name(path: str) -> str | None:
    """Returns the short name of a flag of `train`: `--resolution` for `--dataset.resolution`."""
    name = path.removeprefix("dataset.")
    return None if name in (path, *_OWN_FLAGS) else spelled(name)


@ConfigFlags(_shown_fields, _PANELS, _short_name, argument="dataset")
def datasets_show(
    given: Given,
    name: Name,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page to write, an .html file. By default NAME.html.")
    ] = None,
    joint: Annotated[
        str | None,
        typer.Option(metavar="FACTOR,FACTOR", help="Also draw the joint probabilities of two factors."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The seed of the samples.")] = 0,
    *,
    force: Force = False,
) -> None:
    """Write a page about a dataset.

    The page shows samples, and for each factor a row of images that differ only in this factor or, if there are none,
    images for each value. With --sampling, the samples are drawn accordingly, and the page also shows the table of
    probabilities. The tables of several samplings (--sampling.design A,B,C,D) are shown side by side. Fields of the
    dataset, --sampling and --subset are the same as for `unbraid train`.

    Examples:
      unbraid datasets show dsprites
      unbraid datasets show dsprites --resolution 32 --shapes heart --out hearts.html
      unbraid datasets show dsprites --sampling correlated --sampling.factors scale,position_x --sampling.strength 0.2
      unbraid datasets show shaded-faces --sampling chen-design --sampling.design A,B,C,D
    """
    from unbraid.cli.build import build
    from unbraid.cli.dataset_table import images_in_words, named
    from unbraid.datasets.dataset import FactorDataset
    from unbraid.datasets.training_data import TrainingData
    from unbraid.show.datasets import write_dataset_page
    from unbraid.show.datasets.joint_map import check_pair, map_of_images, maps_of_joint
    from unbraid.training.runs.spec_text import value_text

    dataset_name = kebab_case(named(name), FactorDataset)
    path = Path(f"{dataset_name}.html") if out is None else out
    check_target("--out", path, (".html",), force=force)
    shown, designs = _one_and_designs(build(TrainingData, {"dataset": [dataset_name], **given}))
    for sampling in designs or (None,):
        replace(shown, sampling=sampling).check()
    pair = None if joint is None else [part.strip() for part in joint.split(",")]
    if pair is not None:
        check_pair(pair, shown.dataset.factors)
    images = shown.open()
    say(f"Writing {path} ...")
    summary, *_ = (inspect.getdoc(type(shown.dataset)) or "").splitlines()
    settings = f"{images_in_words(len(images), images.image_shape)}, {value_text(shown.dataset)}"
    notes, maps = [summary, settings], []
    if shown.subset is not None:
        notes.append(f"Subset: {value_text(shown.subset)}")
    for sampling in designs:
        maps += maps_of_joint(sampling, images.factor_table, f"Asked for: {value_text(sampling)}")
    if pair is not None:
        maps.append(map_of_images(images, pair, "Among the images, as they are drawn"))
    write_dataset_page(path, images, dataset_name, notes, maps, seed)
    say(f"The page is in {path.resolve().as_uri()}")


def _one_and_designs(built: "Sequence[TrainingData]") -> "tuple[TrainingData, list[Joint]]":
    """Returns the data to show, and the joint distributions whose tables are drawn beside it.

    With several joint distributions, the images are drawn without any of them.
    """
    shown, designs = built[0], [each.sampling for each in built if each.sampling is not None]
    if len(built) == 1:
        return shown, designs
    if len({(each.dataset, each.subset) for each in built}) > 1:
        raise SpecError(
            f"The flags describe {len(built)} datasets, and a page shows one. Give each number one value; only "
            "--sampling and its fields may have several, whose tables are drawn side by side."
        )
    return replace(shown, sampling=None), designs


def datasets_fetch(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Put the files into a subfolder of this folder. By default the cache."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Fetch only this file, if several are published. May be repeated."),
    ] = None,
) -> None:
    """Download the files of a dataset.

    They are downloaded from their owner or a mirror, and compared with the published checksum. If there is none, the
    checksum of the first download is recorded, and later ones are compared with it. A download that was interrupted
    resumes where it stopped. The license is printed first: unbraid redistributes nothing, and you are responsible for
    keeping to it.

    Examples:
      unbraid datasets fetch mnist
      unbraid datasets fetch shapes3d --out ~/data
      unbraid datasets fetch mpi3d --only mpi3d_toy.npz
    """
    from unbraid.cli.dataset_table import named, required
    from unbraid.datasets.dataset import FactorDataset
    from unbraid.datasets.fetching.fetch import fetch, fetched_folder
    from unbraid.datasets.published.converted import ConvertedDataset

    cls = named(name)
    name = kebab_case(cls, FactorDataset)
    if needed := required(cls):
        say(f"{name} is for images of your own, given by --dataset.{needed[0]}. There is nothing to fetch.")
        return
    if not issubclass(cls, ConvertedDataset):
        say(
            f"{name} is drawn here, when it is first used: there is nothing to fetch. Look at it with: unbraid "
            f"datasets show {name}"
        )
        return
    publication = _with_files(cls, only or [])
    if out is None:
        folder = fetched_folder(publication)
    elif out.exists() and not out.is_dir():
        raise SpecError(f"--out is {out}, which is a file. Name a folder, new or not.")
    else:  # a data folder that several sets share: some have files of the same names
        folder = Path(files.absolute(str(out))) / publication.subfolders[0]
    _introduce(publication)
    sources = cls().find() if out is None else None
    there = folder if sources is None else sources[0].parent
    if there != folder and all((there / file.name).exists() for file in publication.files):
        say(
            f"Its files are in {there} already; there is nothing to fetch. To have them in the cache too, copy them "
            f"into {folder}."
        )
    else:
        with informative("unbraid.datasets"):
            paths = fetch(publication, folder)
        say(f"{len(paths)} {'file is' if len(paths) == 1 else 'files are'} in {folder}.")
    root = "" if out is None else f" --dataset.root {files.absolute(str(out))}"
    say(f"Look at the images with: unbraid datasets show {name}{root}")


def _with_files(cls: "type[ConvertedDataset]", only: Sequence[str]) -> "Publication":
    """Returns the publication with only these files; without names, with the files that are needed by default."""
    publication = cls.publication
    for name in only:
        if publication.file(name) is None:
            raise SpecError(f"--only is {name!r}. {suggestion(name, [file.name for file in publication.files])}")
    chosen = tuple(file for file in publication.files if file.name in only) if only else cls().needed_files
    return replace(publication, files=chosen)


def _introduce(publication: "Publication") -> None:
    """Prints the title, the owner, the license, and the size of the download."""
    say(publication.title, style="bold")
    say(f"From: {publication.homepage}")
    say(f"License: {publication.license}." + (f" {publication.license_note}" if publication.license_note else ""))
    sizes = [file.num_bytes for file in publication.files if file.url]
    if sizes:
        how_much = size_text(sum(filter(None, sizes))) if None not in sizes else "of unknown size"
        say(f"To download: {len(sizes)} {'file' if len(sizes) == 1 else 'files'}, {how_much}.")
