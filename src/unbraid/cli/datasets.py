"""`unbraid datasets`."""

from dataclasses import MISSING, fields

from rich.table import Table

from unbraid.cli.console import output, say
from unbraid.data.dataset import Factor, FactorDataset
from unbraid.runs.recipes import choices


def datasets() -> None:
    """List the data sets.

    How many images of which size, what varies in them, and where they come from. Each can be set up differently; this is what they are by default.

    Example:
      unbraid datasets
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("name", "images", "size", "factors (values)", "images come from"):
        table.add_column(name, overflow="fold", justify="right" if name == "images" else "left")
    for name, cls in choices(FactorDataset).items():
        table.add_row(name, *_facts(cls), _source(cls))
    output().print(table)
    say("Use one with: unbraid train --dataset NAME. `unbraid train --help` lists what can be set.")


def _facts(cls: type) -> tuple[str, str, str]:
    """Images, size and factors of the data set as it is by default; unknown where it needs to be told something first."""
    if _required(cls):
        return "any", "any", "any"
    dataset: FactorDataset = cls()
    return f"{dataset.num_images:,}", " x ".join(map(str, dataset.image_shape)), ", ".join(map(_describe, dataset.factors))


def _describe(factor: Factor) -> str:
    return f"{factor.name} ({factor.size or 'continuous'})"


def _source(cls: type[FactorDataset]) -> str:
    if required := _required(cls):
        return f"a file of yours, --dataset.{required[0]}"
    return "drawn here" if cls.origin == "drawn" else "files, --dataset.root or UNBRAID_DATA"


def _required(cls: type) -> list[str]:
    return [of_class.name for of_class in fields(cls) if of_class.default is of_class.default_factory is MISSING]
