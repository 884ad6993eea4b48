"""Traversals of several models side by side, with latents matched to the first model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from unbraid.codes import Codes
from unbraid.codes.matching import MatchedLatents, match_latents
from unbraid.errors import CodesError
from unbraid.figures.traversal import SideBySide, Strip, Traversal
from unbraid.models.trained.latent_moves import Decoder
from unbraid.models.trained.traverse import NUM_FRAMES, RANGE, Range, traverse, typical_image


def traverse_matched(
    models: Mapping[str, tuple[Decoder, Codes]],
    *,
    latents: Sequence[int] | None = None,
    image: int | None = None,
    range: Range = RANGE,  # noqa: A002 (as in numpy.histogram)
    num_frames: int = NUM_FRAMES,
    min_std: float = 0.05,
) -> SideBySide:
    """Returns traversals of several models side by side, with matched latents in each row.

    Args:
        models: Decoders and their codes of the same images, by name. Latents are matched to the first model. A latent
            with a negative correlation varies in the opposite direction, and its label has a minus sign.
        latents: Latents of the first model, one for each row; by default all that are not dead.
        image: Image to start from; by default the image whose code is closest to the mean in the first model.
        range: First and last value of the latents.
        num_frames: Number of frames in a row.
        min_std: Smallest std of the means of a latent that is not dead; see `match_latents`.
    """
    if not models:
        raise CodesError("models is empty; expected at least one model with codes. Pass e.g. {'VAE': (model, codes)}.")
    (_, ours), *_ = models.values()
    rows = list(match_latents(ours, ours, min_std=min_std).partners) if latents is None else list(latents)
    if not rows:
        raise CodesError(
            f"No latent of the first model has means with a std >= {min_std:g}; expected at least one. Pass latents, "
            "or lower min_std."
        )
    start = typical_image(ours) if image is None else image

    def strips(name: str, pairs: Sequence[MatchedLatents | None]) -> Traversal:
        decoder, codes = models[name]
        low, high = range
        found: list[Strip | None] = []
        for pair in pairs:
            if pair is None:
                found.append(None)
                continue
            is_reversed = pair.correlation < 0
            ends = (high, low) if is_reversed else (low, high)
            moved = traverse(
                decoder, codes, latents=[pair.second], images=[start], range=ends, num_frames=num_frames
            ).strips[0]
            # Positions come from the first model's latent, so that a column has the same value in all rows.
            found.append(replace(moved, label=_label(pair), positions=moved.positions[:: -1 if is_reversed else 1]))
        return Traversal(_without_gaps(found))

    first, *others = models
    own = [MatchedLatents(latent, latent, 1.0) for latent in rows]
    traversals = {first: _named(strips(first, own), rows)}
    for name in others:
        partners = match_latents(ours, models[name][1], min_std=min_std).partners
        traversals[name] = strips(name, [partners.get(latent) for latent in rows])
    return SideBySide(traversals)


def _label(pair: MatchedLatents) -> str:
    return f"{'-' if pair.correlation < 0 else ''}z{pair.second}  {abs(pair.correlation):.2f}"


def _named(traversal: Traversal, latents: Sequence[int]) -> Traversal:
    """Removes the correlations from the labels of the first model's traversal."""
    strips = (replace(strip, label=f"z{latent}") for strip, latent in zip(traversal.strips, latents, strict=True))
    return replace(traversal, strips=tuple(strips))


def _without_gaps(strips: Sequence[Strip | None]) -> tuple[Strip, ...]:
    """Replaces missing strips by blank strips. Raises if all strips are missing."""
    known = next((strip for strip in strips if strip is not None), None)
    if known is None:
        raise CodesError(
            "None of the latents has a match in another model; expected at least one match. Pass other latents, or "
            "lower min_std to include latents that vary less."
        )
    blank = replace(known, label="none", latent=-1, frames=torch.full_like(known.frames, torch.nan))
    return tuple(strip or blank for strip in strips)
