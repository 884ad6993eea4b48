"""The data sets that models were trained on, and what of them was held out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.config.own_configs import missing_classes
from unbraid.config.registry import short_name
from unbraid.config.text import text_of
from unbraid.show.pages.page import fixed
from unbraid.show.pages.pictures import FrameSheet, sheet
from unbraid.show.report.groups import Group
from unbraid.training.runs.pictures import some_rows
from unbraid.training.runs.spec import RunSpec

NUM_COLUMNS = 12
_HELD_OUT = "held_out_elbo"


@final
@dataclass(frozen=True)
class DataShown:
    """One data set, or one part of it.

    It has some of its images, its factors with the number of their values, and texts on the images that were trained on
    and held out.
    """

    name: str
    settings: str
    images: FrameSheet
    factors: tuple[tuple[str, str], ...]
    trained_on: str
    held_out: str
    sampling: str
    groups: tuple[Group, ...]


def data_shown(groups: Sequence[Group]) -> list[DataShown]:
    """Returns each data set with its subset and sampling, in the order in which the groups come."""
    groups = [group for group in groups if not missing_classes(group.spec.dataset)]
    keys = [text_of_data(group.spec) for group in groups]
    return [
        _shown([group for group, other in zip(groups, keys, strict=True) if other == key])
        for key in dict.fromkeys(keys)
    ]


def text_of_data(spec: RunSpec) -> tuple[str, str, str]:
    """Returns what is typed for the data set, its subset and its sampling."""
    return text_of(spec.dataset), text_of(spec.subset), text_of(spec.sampling)


def _shown(groups: Sequence[Group]) -> DataShown:
    spec = groups[0].spec
    images = spec.training_data.open()
    rows = some_rows(len(images), 2 * NUM_COLUMNS)
    columns = min(NUM_COLUMNS, len(rows))
    rows = rows[: len(rows) // columns * columns]
    num_all, num_trained = spec.dataset.num_images, len(images)
    _, *settings = text_of(spec.dataset).split(":", 1)
    return DataShown(
        name=short_name(spec.dataset),
        settings="".join(settings),
        images=sheet(images.batch(rows).unflatten(0, (-1, columns))),
        factors=tuple(
            (factor.name, "continuous" if factor.size == 0 else f"{factor.size}") for factor in spec.dataset.factors
        ),
        trained_on=f"{num_trained:,} of {num_all:,} images" if num_trained < num_all else f"all {num_all:,} images",
        held_out=_held_out(groups, num_all - num_trained),
        sampling="" if spec.sampling is None else text_of(spec.sampling),
        groups=tuple(groups),
    )


def _held_out(groups: Sequence[Group], count: int) -> str:
    """Returns how many images were held out, by what, and how well they are explained, where that was logged."""
    subset = groups[0].spec.subset
    if subset is None or count == 0:
        return ""
    said = f"{count:,} images, by --subset {text_of(subset)}"
    ends = [member.history.at_the_end(_HELD_OUT) for group in groups for member in group.members]
    known = sorted(end for end in ends if not math.isnan(end))
    if not known:
        return said
    middle = known[len(known) // 2]
    return f"{said}; their ELBO at the end is {fixed(middle, 1)} nats per image"
