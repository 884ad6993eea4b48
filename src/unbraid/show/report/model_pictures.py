"""Pictures of models (traversals, reconstructions, samples), and a card for every model of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch

from unbraid.figures.curves import ends_of
from unbraid.metrics.latent_readings import Reading, read_latents
from unbraid.models.trained.latent_moves import Place
from unbraid.models.trained.traverse import NUM_FRAMES, RANGE
from unbraid.show.pages.pictures import FrameSheet, sheet
from unbraid.show.report.groups import Group
from unbraid.show.report.heat_map import HeatMap, mig_heat_map
from unbraid.show.report.members import ReportedRun, Role
from unbraid.training.runs.pictures import Pictures

POSITIONS = Place(0, 1).positions(RANGE, NUM_FRAMES)
MAX_LATENTS = 16  # only the most informative latents are shown
NUM_ROWS, NUM_COLUMNS = 2, 8  # of samples
# For more models than this, cards have fewer latents, and neither reconstructions nor a table.
MAX_FULL = 12
# The maximum number of characters of all traversals, above which frames are made smaller.
_MOST_CHARACTERS = 2_500_000


@final
@dataclass(frozen=True)
class Traversals:
    """Traversals of the used latents, most informative first, and the unused latents.

    A discrete latent has a frame for each category. `start` is the index of the image from which all traversals start.
    `num_hidden` is the number of latents that are not shown.
    """

    start: int
    used: tuple[tuple[Reading, FrameSheet], ...]
    unused: tuple[Reading, ...]
    num_hidden: int


def traversals(pictures: Pictures, readings: Sequence[Reading]) -> Traversals:
    """Returns the traversals of the most informative latents. `readings` has all latents, most informative first."""
    drawn = readings[:MAX_LATENTS]
    made = pictures.traversal([reading.latent for reading in drawn])
    frames = {strip.latent: strip.frames for strip in made.strips}
    ends = ends_of(list(frames.values()))
    used = [(reading, sheet(frames[reading.latent][None], ends=ends)) for reading in drawn if not reading.is_unused]
    unused = [reading for reading in drawn if reading.is_unused]
    return Traversals(made.strips[0].start, tuple(used), tuple(unused), num_hidden=len(readings) - len(drawn))


def traversal_sheet(
    pictures: Pictures, readings: Sequence[Reading], num_frames: int, max_pixels: int, *, lossy: bool
) -> FrameSheet:
    """Returns one picture of traversals, with a row for each of these latents.

    Categories of a discrete latent are repeated if there are fewer than `num_frames`.
    """
    made = pictures.traversal([reading.latent for reading in readings], num_frames)
    rows = [strip.frames[torch.linspace(0, len(strip.frames) - 1, num_frames).round().long()] for strip in made.strips]
    return sheet(torch.stack(rows), max_pixels, lossy=lossy)


def reconstructions(shown: Mapping[Role, ReportedRun]) -> list[tuple[FrameSheet, dict[Role, FrameSheet]]]:
    """Returns images of each dataset and subset, with the reconstructions by each model trained on these images.

    Reconstructions are decoded from the mean (or the likeliest categories) of q(z | x).
    """
    found: dict[Any, tuple[FrameSheet, dict[Role, FrameSheet]]] = {}
    for role, member in shown.items():
        originals, decoded = member.run.pictures.reconstructions()
        images, ends = (member.run.spec.dataset, member.run.spec.subset), ends_of([originals])
        originals_sheet = sheet(originals[None], ends=ends)
        found.setdefault(images, (originals_sheet, {}))[1][role] = sheet(decoded[None], ends=ends)
    return list(found.values())


def prior_samples(shown: Mapping[Role, ReportedRun]) -> dict[Role, FrameSheet]:
    """Returns samples of each model, decoded from the same random draws from the prior."""
    images = {role: member.run.pictures.samples() for role, member in shown.items()}
    return {role: sheet(drawn.unflatten(0, (NUM_ROWS, NUM_COLUMNS))) for role, drawn in images.items()}


@final
@dataclass(frozen=True, eq=False)
class Card:
    """The card of one model: its latents, traversals, reconstructions and heat map.

    The card of a model that the page shows in full has only the first two fields.
    """

    member: ReportedRun
    group: Group
    readings: tuple[Reading, ...] = ()
    num_hidden: int = 0
    frames: FrameSheet | None = None
    images: FrameSheet | None = None
    heat_map: HeatMap | None = None


def cards(ordered: Sequence[tuple[ReportedRun, Group]]) -> list[Card]:
    """Returns a card for each pair of a run and its group."""
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
