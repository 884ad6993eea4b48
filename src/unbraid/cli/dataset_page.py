"""The page of a data set."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

from unbraid._internal import files
from unbraid._internal.names import kebab_case
from unbraid.cli.build import build
from unbraid.cli.console import say, stage
from unbraid.cli.dataset_table import images_in_words, named
from unbraid.cli.flags import Given, known_flags
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.datasets.training_data import TrainingData
from unbraid.datasets.weights import Joint
from unbraid.errors import RunError, SpecError
from unbraid.training.runs.spec_text import name_text, value_text


def draw_dataset(name: str, given: Given, out: Path | None, joint: str | None, seed: int, *, force: bool) -> None:
    """Writes a page about the data set of this name, with the fields that were given."""
    dataset_name = kebab_case(named(name), FactorDataset)
    path = Path(f"{dataset_name}.html") if out is None else out
    _check_place(path, force=force)
    shown, designs = _one_and_designs(build(TrainingData, {"dataset": [dataset_name], **given}, known_flags("train")))
    for sampling in designs or (None,):
        replace(shown, sampling=sampling).check()
    pair = None if joint is None else _pair(joint, shown.dataset)
    images = shown.open()
    with stage(f"Writing {path}"):
        _write(path, shown, images, designs, pair, seed)
    say(f"The page is in {path.resolve().as_uri()}")


def _check_place(path: Path, *, force: bool) -> None:
    if path.suffix != ".html":
        raise SpecError(f"--out is {path}; the page is HTML, so name an .html file.")
    files.check_writable(path)
    if path.exists() and not force:
        raise RunError(f"{path} exists. Name another file with --out, or replace it with --force.")


def _one_and_designs(built: list[TrainingData]) -> tuple[TrainingData, list[Joint]]:
    """Returns what the picture is of, and the joints whose tables are drawn beside it.

    Where several joints were given, images are shown as they are without any.
    """
    shown, designs = built[0], [each.sampling for each in built if each.sampling is not None]
    if len(built) == 1:
        return shown, designs
    if len({(each.dataset, each.subset) for each in built}) > 1:
        raise SpecError(
            f"The flags describe {len(built)} data sets, and a page shows one. Give each number one value; only "
            "--sampling and its fields may have several, whose tables are drawn side by side."
        )
    return replace(shown, sampling=None), designs


def _pair(joint: str, dataset: FactorDataset) -> list[str]:
    from unbraid.show.datasets.joint_map import check_pair

    names = [part.strip() for part in joint.split(",")]
    check_pair(names, dataset.factors)
    return names


def _write(
    path: Path,
    shown: TrainingData,
    images: FactorImages,
    designs: Sequence[Joint],
    pair: list[str] | None,
    seed: int,
) -> None:
    from unbraid.show.datasets import write_dataset_page
    from unbraid.show.datasets.joint_map import map_of_images, maps_of_joint

    # The first line of its docstring describes it.
    what, *_ = (inspect.getdoc(type(shown.dataset)) or "").splitlines()
    notes, maps = [what, ", ".join([images_in_words(len(images), images.image_shape), *_settings(shown.dataset)])], []
    if shown.subset is not None:
        notes.append(f"Subset: {value_text(shown.subset)}")
    for sampling in designs:
        maps += maps_of_joint(sampling, images.factor_table, f"Asked for: {value_text(sampling)}")
    if pair is not None:
        maps.append(map_of_images(images, pair, "Among the images, as they are drawn"))
    write_dataset_page(path, images, kebab_case(type(shown.dataset), FactorDataset), notes, maps, seed)


def _settings(config: Any) -> list[str]:
    """Returns the fields that are not at their defaults, as text. Checksums are left out."""
    values = [(field, getattr(config, field.name)) for field in fields(config)]
    return [
        f"{name_text(field.name)} {value_text(value)}"
        for field, value in values
        if value != (field.default if field.default_factory is MISSING else field.default_factory())
        and not re.fullmatch("[0-9a-f]{64}", str(value))
    ]
