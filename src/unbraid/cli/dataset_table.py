"""The table of datasets: contents, location and license."""

from dataclasses import MISSING, fields

from rich.console import Group
from rich.table import Table
from rich.text import Text

from unbraid._internal.names import suggestion
from unbraid.cli.flags import config_name
from unbraid.config.annotations import choices
from unbraid.datasets.dataset import FactorDataset
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import SpecError, UnbraidError

_MAX_FACTORS_NAMED = 7
_MAX_LICENSE_WIDTH = 20  # columns, so that a narrow screen has space for the factors
_LICENSE_OF_DRAWN = "Apache-2.0"  # images that unbraid draws have its license


def dataset_table() -> Table:
    """Returns a table with one row per dataset: images, factors, location and license."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("images, factors (values)")
    table.add_column("where, license", max_width=_MAX_LICENSE_WIDTH)
    for name, cls in choices(FactorDataset).items():
        where, license_name = _place_and_license(cls)
        table.add_row(name, _contents(cls), Group(Text(where), Text(license_name, style="dim")))
    return table


def dataset_class(name: str) -> type[FactorDataset]:
    """Returns the class of the dataset with this name. Raises SpecError for an unknown name."""
    known = choices(FactorDataset)
    if config_name(name) not in known:
        raise SpecError(f"Unknown dataset {name!r}. {suggestion(config_name(name), known)}")
    return known[config_name(name)]


def required_fields(cls: type) -> list[str]:
    """Returns the names of the fields without a default. Only datasets of the user's own images have such fields."""
    return [field.name for field in fields(cls) if field.default is field.default_factory is MISSING]


def describe_images(num_images: int, image_shape: tuple[int, int, int]) -> str:
    """Returns the number, size and color of images as text, for instance "60,000 images, 28 x 28, gray"."""
    channels, height, width = image_shape
    kind = {1: "gray", 3: "color"}.get(channels, f"{channels} channels")
    return f"{num_images:,} images, {height} x {width}, {kind}"


def _place_and_license(cls: type[FactorDataset]) -> tuple[str, str]:
    """Returns two texts: the location of the images (or how to get them), and their license."""
    if required_fields(cls):
        return "your files", "yours"
    if not issubclass(cls, ConvertedDataset):
        stand_in = f", a stand-in for {cls.stands_in_for}" if cls.stands_in_for else ""
        return f"drawn here{stand_in}", _LICENSE_OF_DRAWN
    dataset = cls()
    if dataset.is_converted:
        return "cached", cls.publication.license
    where = "to be fetched" if all(file.url for file in cls.publication.files) else "ask the owner"
    try:
        if dataset.find() is not None:
            where = "files found"
    except (OSError, UnbraidError):
        where = "files cannot be read"
    return where, cls.publication.license


def _contents(cls: type[FactorDataset]) -> Group:
    """Returns the images and factors of the default config. Both are unknown for a user's own images."""
    if required_fields(cls):
        return Group(Text("any images"), Text("any factors"))
    dataset = cls()
    factors = [  # without spaces, so that lines are only broken between factors
        f"{factor.name}({f'{factor.size:,}' if factor.size else 'continuous'})"
        for factor in dataset.factors[:_MAX_FACTORS_NAMED]
    ]
    if (more := len(dataset.factors) - len(factors)) > 0:
        factors.append(f"+{more}")
    return Group(Text(describe_images(dataset.num_images, dataset.image_shape)), Text(", ".join(factors)))
