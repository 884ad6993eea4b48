"""The same images through each model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid import draws
from unbraid.data.dataset import FactorDataset
from unbraid.models.decode import likeliest
from unbraid.report.members import Member, Role
from unbraid.report.pictures import Sheet, sheet

NUM_IMAGES = 8


@final
@dataclass(frozen=True)
class Reconstructions:
    """Images of one data set, and the same images from the means (or likeliest categories) of their codes, for each of these members."""

    originals: Sheet
    by_role: dict[Role, Sheet]


def reconstructions(shown: Mapping[Role, Member]) -> list[Reconstructions]:
    """One for each data set, in the order in which the members come."""
    every = [member.run.spec.dataset for member in shown.values()]
    datasets = [dataset for place, dataset in enumerate(every) if dataset not in every[:place]]
    return [_of_dataset(dataset, {role: m for role, m in shown.items() if m.run.spec.dataset == dataset}) for dataset in datasets]


def some_rows(num_images: int, count: int) -> Int64[Tensor, " row"]:
    """Rows from all over the data, the same every time. Not at equal steps: through a grid, those would keep some factors fixed."""
    return draws.permutation(torch.tensor([0]), "reconstructions", 0, num_images)[0, :count]


def _of_dataset(dataset: FactorDataset, members: Mapping[Role, Member]) -> Reconstructions:
    rows = some_rows(dataset.num_images, NUM_IMAGES)
    return Reconstructions(
        originals=sheet(dataset.load().batch(rows)[None]),
        by_role={role: sheet(_decoded(member, rows)[None]) for role, member in members.items()},
    )


@torch.no_grad()
def _decoded(member: Member, rows: Int64[Tensor, " row"]) -> Float[Tensor, "row channel height width"]:
    model = member.run.model()
    return model.decode(likeliest(member.run.codes(), rows, model.latents.widths))
