"""The files of a data set, downloaded, and what is said of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unbraid._internal import files
from unbraid._internal.amounts import size_text
from unbraid._internal.names import kebab_case, suggestion
from unbraid.cli.console import log_as_lines, say
from unbraid.cli.dataset_table import named, required
from unbraid.datasets.dataset import FactorDataset
from unbraid.datasets.fetching.fetch import fetch, fetched_folder
from unbraid.datasets.fetching.verification import Publication
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import SpecError


def fetch_dataset(name: str, out: Path | None, only: Sequence[str]) -> None:
    """Downloads the files of a data set, or those that are named, and says where they are."""
    cls = named(name)
    if not issubclass(cls, ConvertedDataset):
        say(_nothing_to_fetch(cls))
        return
    publication, folder = _chosen(cls, only), _folder(cls.publication, out)
    _introduce(publication)
    if out is None and (there := _complete_elsewhere(cls, publication, folder)) is not None:
        say(
            f"Its files are in {there} already; there is nothing to fetch. To have them in the cache too, copy them "
            f"into {folder}."
        )
    else:
        with log_as_lines("unbraid.datasets"):
            paths = fetch(publication, folder)
        say(f"{len(paths)} {'file is' if len(paths) == 1 else 'files are'} in {folder}.")
    root = "" if out is None else f" --dataset.root {files.absolute(str(out))}"
    say(f"Look at the images with: unbraid datasets show {kebab_case(cls, FactorDataset)}{root}")


def _nothing_to_fetch(cls: type[FactorDataset]) -> str:
    name = kebab_case(cls, FactorDataset)
    if needed := required(cls):
        return f"{name} is for images of your own, which --dataset.{needed[0]} names: there is nothing to fetch."
    return (
        f"{name} is drawn here, when it is first used: there is nothing to fetch. Look at it with: unbraid datasets "
        f"show {name}"
    )


def _chosen(cls: type[ConvertedDataset], only: Sequence[str]) -> Publication:
    """Returns what is published, with these files only; without names, with those that are needed by default."""
    publication = cls.publication
    for name in only:
        if publication.file(name) is None:
            raise SpecError(f"--only is {name!r}. {suggestion(name, [file.name for file in publication.files])}")
    if only:
        chosen = tuple(file for file in publication.files if file.name in only)
    else:
        chosen = publication.files if required(cls) else cls().needed_files
    return replace(publication, files=chosen)


def _folder(publication: Publication, out: Path | None) -> Path:
    """Returns where the files go.

    In a data folder that several sets share they have a subfolder: some have files of the same names.
    """
    if out is None:
        return fetched_folder(publication)
    if out.exists() and not out.is_dir():
        raise SpecError(f"--out is {out}, which is a file. Name a folder, new or not.")
    return Path(files.absolute(str(out))) / publication.subfolders[0]


def _introduce(publication: Publication) -> None:
    say(publication.title, style="bold")
    say(f"From: {publication.homepage}")
    say(f"License: {publication.license}." + (f" {publication.license_note}" if publication.license_note else ""))
    sizes = [file.num_bytes for file in publication.files if file.url]
    if sizes:
        how_much = (
            size_text(sum(size for size in sizes if size is not None)) if None not in sizes else "of unknown size"
        )
        say(f"To download: {len(sizes)} {'file' if len(sizes) == 1 else 'files'}, {how_much}.")


def _complete_elsewhere(cls: type[ConvertedDataset], publication: Publication, folder: Path) -> Path | None:
    """Returns the folder, if it is not the one to fetch into, in which all these files are found."""
    if required(cls) or (sources := cls().find()) is None:
        return None
    there = sources[0].parent
    return there if there != folder and all((there / file.name).exists() for file in publication.files) else None
