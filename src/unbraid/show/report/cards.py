"""A card for every model; the more models there are, the less each card holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from unbraid.metrics.latent_readings import Reading, read_latents
from unbraid.show.pages.pictures import FrameSheet, sheet
from unbraid.show.report.groups import Group
from unbraid.show.report.heat_map import HeatMap, mig_heat_map
from unbraid.show.report.latent_pictures import traversal_sheet
from unbraid.show.report.members import ReportedRun


@final
@dataclass(frozen=True)
class Detail:
    """The content of a card: how many latents and frames of which size, and whether it has images and a table."""

    num_latents: int
    num_frames: int
    max_pixels: int
    has_images: bool
    has_table: bool
    lossy: bool


# All traversals together, as characters of the page: frames that would take more are made smaller.
MOST_CHARACTERS = 2_500_000
# By the largest number of models.
_DETAILS: Mapping[float, Detail] = {
    12: Detail(16, 9, 64, has_images=True, has_table=True, lossy=False),
    80: Detail(6, 7, 48, has_images=True, has_table=False, lossy=False),
    250: Detail(4, 5, 32, has_images=False, has_table=False, lossy=True),
    float("inf"): Detail(3, 5, 32, has_images=False, has_table=False, lossy=True),
}


@final
@dataclass(frozen=True, eq=False)
class Card:
    """Shows one model.

    That of a model that is shown in full elsewhere on the page is empty.
    """

    member: ReportedRun
    group: Group
    readings: tuple[Reading, ...] = ()
    num_hidden: int = 0
    frames: FrameSheet | None = None
    images: FrameSheet | None = None
    heat_map: HeatMap | None = None


def cards(ordered: Sequence[tuple[ReportedRun, Group]]) -> list[Card]:
    """Returns a card for each member, in this order."""
    detail = next(detail for most, detail in _DETAILS.items() if len(ordered) <= most)
    return [
        Card(member, group) if member.role else _card(member, group, detail, MOST_CHARACTERS // len(ordered))
        for member, group in ordered
    ]


def _card(member: ReportedRun, group: Group, detail: Detail, most: int) -> Card:
    pictures = member.run.pictures
    readings = read_latents(member.run.codes(), member.mig)
    used = [reading for reading in readings if not reading.is_unused]
    drawn = (used or readings)[: detail.num_latents]
    frames = traversal_sheet(pictures, drawn, detail.num_frames, detail.max_pixels, lossy=detail.lossy)
    if len(frames.address) > most:
        frames = traversal_sheet(pictures, drawn, detail.num_frames, detail.max_pixels // 2, lossy=True)
    return Card(
        member,
        group,
        readings=tuple(drawn),
        num_hidden=len(used) - len(drawn) if used else 0,
        frames=frames,
        images=sheet(pictures.reconstructions(), detail.max_pixels) if detail.has_images else None,
        heat_map=mig_heat_map(member.mig, [r.latent for r in readings]) if detail.has_table and member.mig else None,
    )
