"""A card for every model; the more models there are, the less each card holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.metrics.latent_readings import Reading, read_latents
from unbraid.show.pages.pictures import FrameSheet, sheet
from unbraid.show.report.groups import Group
from unbraid.show.report.heat_map import HeatMap, mig_heat_map
from unbraid.show.report.latent_pictures import traversal_sheet
from unbraid.show.report.members import ReportedRun

# Up to so many models have full cards; the cards of more have fewer latents, and neither images nor a table.
MAX_FULL = 12
# All traversals together, as characters of the page: frames that would take more are made smaller.
_MOST_CHARACTERS = 2_500_000


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
    return [Card(*each) if each[0].role else _card(*each, len(ordered)) for each in ordered]


def _card(member: ReportedRun, group: Group, num_cards: int) -> Card:
    is_full = num_cards <= MAX_FULL
    num_latents, num_frames, pixels = (16, 9, 64) if is_full else (4, 5, 32)
    pictures = member.run.pictures
    readings = read_latents(member.run.codes(), member.mig)
    used = [reading for reading in readings if not reading.is_unused]
    drawn = (used or readings)[:num_latents]
    frames = traversal_sheet(pictures, drawn, num_frames, pixels, lossy=not is_full)
    if len(frames.address) > _MOST_CHARACTERS // num_cards:
        frames = traversal_sheet(pictures, drawn, num_frames, pixels // 2, lossy=True)
    return Card(
        member,
        group,
        readings=tuple(drawn),
        num_hidden=len(used) - len(drawn) if used else 0,
        frames=frames,
        images=sheet(pictures.reconstructions(), pixels) if is_full else None,
        heat_map=mig_heat_map(member.mig, [r.latent for r in readings]) if is_full and member.mig else None,
    )
