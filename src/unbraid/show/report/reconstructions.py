"""The same images through each model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from unbraid.datasets.dataset import FactorDataset
from unbraid.datasets.subsets import Subset
from unbraid.show.pages.pictures import FrameSheet, sheet
from unbraid.show.report.members import ReportedRun
from unbraid.show.report.shown import Role


@final
@dataclass(frozen=True)
class Reconstructions:
    """Images of one data set or subset, and their reconstructions by each of these members.

    Images are decoded from the means (or likeliest categories) of their codes.
    """

    originals: FrameSheet
    by_role: dict[Role, FrameSheet]


def reconstructions(shown: Mapping[Role, ReportedRun]) -> list[Reconstructions]:
    """Returns one for each data set, and each subset of one, in the order in which the members come."""
    every = [_images_of(member) for member in shown.values()]
    distinct = [images for place, images in enumerate(every) if images not in every[:place]]
    return [
        _of_images({role: member for role, member in shown.items() if _images_of(member) == images})
        for images in distinct
    ]


def _images_of(member: ReportedRun) -> tuple[FactorDataset, Subset | None]:
    return member.run.spec.dataset, member.run.spec.subset


def _of_images(members: Mapping[Role, ReportedRun]) -> Reconstructions:
    """Returns the reconstructions of members that were trained on the same images."""
    made = {role: member.run.pictures.reconstructions() for role, member in members.items()}
    originals, _ = next(iter(made.values()))
    return Reconstructions(sheet(originals[None]), {role: sheet(decoded[None]) for role, (_, decoded) in made.items()})
