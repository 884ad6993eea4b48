"""The data sets as text: content, place and license."""

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import final

from rich.console import Console, ConsoleOptions, Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from unbraid._internal.names import suggestion
from unbraid.config.annotations import choices
from unbraid.datasets.dataset import Factor, FactorDataset
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import SpecError, UnbraidError

# Of more factors, the first are named.
_MAX_FACTORS_NAMED = 7
# On a narrow screen the factors need the room more.
_MAX_LICENSE_WIDTH = 20
# What is drawn here is made by unbraid, and is under its license.
_LICENSE_OF_DRAWN = "Apache-2.0"


def dataset_table() -> Table:
    """Returns a row for each data set: its images, its factors, where it is, and its license."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("images, factors (values)")
    table.add_column("where, license", max_width=_MAX_LICENSE_WIDTH)
    for name, cls in choices(FactorDataset).items():
        table.add_row(name, _contents(cls), Group(Text(where(cls)), Text(license_of(cls), style="dim")))
    return table


def named(name: str) -> type[FactorDataset]:
    """Returns the data set of this name, or raises an error that names those that there are."""
    known = choices(FactorDataset)
    canonical = name.lower().replace("_", "-")
    if canonical not in known:
        raise SpecError(f"There is no data set {name!r}. {suggestion(canonical, known)}")
    return known[canonical]


def license_of(cls: type[FactorDataset]) -> str:
    if issubclass(cls, ConvertedDataset):
        return cls.publication.license
    return "yours" if required(cls) else _LICENSE_OF_DRAWN


def where(cls: type[FactorDataset]) -> str:
    """Returns where the images are, or what has to be done to have them."""
    if required(cls):
        return "your files"
    if not issubclass(cls, ConvertedDataset):
        return f"drawn here, a stand-in for {cls.stands_in_for}" if cls.stands_in_for else "drawn here"
    dataset = cls()
    if dataset.is_converted:
        return "cached"
    try:
        if dataset.find() is not None:
            return "files found"
    except (OSError, UnbraidError):
        return "files cannot be read"
    return "to be fetched" if all(file.url for file in cls.publication.files) else "ask the owner"


def required(cls: type) -> list[str]:
    """Returns the fields without which the data set cannot be made: those that name a user's own images."""
    return [of_class.name for of_class in fields(cls) if of_class.default is of_class.default_factory is MISSING]


def images_in_words(num_images: int, image_shape: tuple[int, int, int]) -> str:
    """Returns for instance "60,000 images, 28 x 28, gray"."""
    channels, height, width = image_shape
    kind = {1: "gray", 3: "color"}.get(channels, f"{channels} channels")
    return f"{num_images:,} images, {height} x {width}, {kind}"


def _contents(cls: type[FactorDataset]) -> Group:
    """Returns the images and factors of the data set with its defaults.

    They are unknown where it has required fields.
    """
    if required(cls):
        return Group(Text("any images"), Text("any factors"))
    dataset = cls()
    factors = [_describe(factor) for factor in dataset.factors[:_MAX_FACTORS_NAMED]]
    if (more := len(dataset.factors) - len(factors)) > 0:
        factors.append(f"{more} more")
    return Group(Text(images_in_words(dataset.num_images, dataset.image_shape)), _Listed(factors))


def _describe(factor: Factor) -> str:
    return f"{factor.name} ({f'{factor.size:,}' if factor.size else 'continuous'})"


@final
@dataclass(frozen=True)
class _Listed:
    """Shows words with commas between them, in as many lines as it takes. Lines are broken at commas alone."""

    items: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        lines = [""]
        for item in [*(f"{item}," for item in self.items[:-1]), *self.items[-1:]]:
            longer = f"{lines[-1]} {item}".lstrip()
            if len(longer) <= options.max_width or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(item)
        yield Text("\n".join(lines))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widths = [len(item) + 1 for item in self.items]
        return Measurement(max(widths, default=0), sum(widths) + len(widths)).with_maximum(options.max_width)
