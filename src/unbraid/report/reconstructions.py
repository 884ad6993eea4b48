"""The same images through each model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid import draws
from unbraid.codes import Codes
from unbraid.data.dataset import FactorDataset
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.decode import likeliest
from unbraid.report.members import ReportedRun
from unbraid.report.pictures import Sheet, sheet
from unbraid.report.shown import Role
from unbraid.sampling import Subset

NUM_IMAGES = 8


@final
@dataclass(frozen=True)
class Reconstructions:
    """Holds images of one data set or subset, and the same images from the means (or likeliest categories) of their
    codes, for each of these members.
    """

    originals: Sheet
    by_role: dict[Role, Sheet]


def reconstructions(shown: Mapping[Role, ReportedRun]) -> list[Reconstructions]:
    """Returns one for each data set, and each subset of one, in the order in which the members come."""
    every = [_images_of(member) for member in shown.values()]
    distinct = [images for place, images in enumerate(every) if images not in every[:place]]
    return [
        _of_images({role: member for role, member in shown.items() if _images_of(member) == images})
        for images in distinct
    ]


def some_rows(num_images: int, count: int) -> Int64[Tensor, " row"]:
    """Returns rows from all over the data, the same every time. They are not at equal steps: through a grid, those
    would keep some factors fixed.
    """
    return draws.permutation(torch.tensor([0]), "reconstructions", 0, num_images)[0, :count]


def _images_of(member: ReportedRun) -> tuple[FactorDataset, Subset | None]:
    return member.run.spec.dataset, member.run.spec.subset


def _of_images(members: Mapping[Role, ReportedRun]) -> Reconstructions:
    """Returns the reconstructions of members that were trained on the same images."""
    images = next(iter(members.values())).run.spec.training_data.open()
    rows = some_rows(len(images), NUM_IMAGES)
    return Reconstructions(
        originals=sheet(images.batch(rows)[None]),
        by_role={role: sheet(_decoded(member, rows)[None]) for role, member in members.items()},
    )


@torch.no_grad()
def reconstructed(
    member: ReportedRun, model: AutoencoderModule, codes: Codes
) -> Float[Tensor, "row column channel height width"]:
    """Returns some images that a member was trained on, and below them what the model makes of their codes."""
    images = member.run.spec.training_data.open()
    rows = some_rows(len(images), NUM_IMAGES)
    decoded = model.decode(likeliest(codes, rows, model.latents.widths))
    return torch.stack([images.batch(rows).to(decoded), decoded])


@torch.no_grad()
def _decoded(member: ReportedRun, rows: Int64[Tensor, " row"]) -> Float[Tensor, "row channel height width"]:
    model = member.run.model()
    return model.decode(likeliest(member.run.codes(), rows, model.latents.widths))
