"""Latent traversals: images decoded from codes in which only one latent varies."""

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import as_floats
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.figures.traversal import Strip, Traversal
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.categories import likeliest
from unbraid.models.trained.latent_moves import Decoder, Place, decoding, places

RANGE = (-2.0, 2.0)
"""The central 95 % of a standard normal prior."""
NUM_FRAMES = 9

Range = tuple[float | int, float | int]
Words = Mapping[int, str] | Sequence[str]


@runtime_checkable
class PerLatent(Protocol):
    """A score with one value per latent."""

    @property
    def metric(self) -> str: ...

    @property
    def per_latent(self) -> tuple[float, ...]: ...


OrderBy = PerLatent | Sequence[float] | Tensor


def traverse(
    decoder: Decoder,
    code: Any,
    *,
    latents: int | Iterable[int] | None = None,
    range: Range | Mapping[int, Range] = RANGE,  # noqa: A002 (as in numpy.histogram)
    num_frames: int = NUM_FRAMES,
    images: int | Iterable[int] | None = None,
    order_by: OrderBy | None = None,
    labels: Words | None = None,
    grid: tuple[int, int] | None = None,
) -> Traversal:
    """Returns images decoded from codes in which one latent at a time moves, as a row of frames for each latent.

    Args:
        decoder: A model of unbraid, or any function of torch from codes to images. Discrete latents take each of their
            categories; other functions get the categories one-hot encoded.
        code: Code to start from, or a table of codes; or `Codes`, to start from the image whose code is nearest the
            mean.
        latents: Indices of the latents to move; by default all.
        range: First and last value of every latent, or a mapping from latent indices to such pairs.
        num_frames: Number of frames in a row.
        images: Rows of the table to start from; with several there is a row of frames for each latent and image.
        order_by: A score with one value per latent, or those values. Latents are sorted in descending order, and labels
            show the values.
        labels: Text to add to the labels, one per latent or by latent index.
        grid: Two latents for one picture instead: with (3, 5) latent 3 moves from row to row and latent 5 from column
            to column.

    Examples:
        >>> import torch
        >>> from torch import nn
        >>> decoder = nn.Sequential(nn.Linear(2, 64), nn.Sigmoid(), nn.Unflatten(1, (1, 8, 8)))
        >>> picture = traverse(decoder, torch.zeros(2), num_frames=5)
        >>> [strip.label for strip in picture.strips]
        ['z0', 'z1']
    """
    table, starts, where = _start(decoder, code, images)
    ends, (count,), words = _ends(range, len(where)), _whole([num_frames], "num_frames"), _words(labels, len(where))
    if count < 2:
        raise CodesError(f"num_frames is {count}; expected 2 or more.")
    with decoding(decoder, table.shape[1]) as decode:
        if grid is not None:
            if latents is not None or order_by is not None or len(starts) > 1:
                raise CodesError(
                    "A grid moves the two latents that it names, from one image. Leave latents and order_by out, and "
                    "give one image."
                )
            return _grid(decode, table[0], where, ends, count, grid, words, starts[0])
        rows, caption, numbers = _ordered(latents, order_by, len(where))
        strips = []
        for latent in rows:
            positions = where[latent].positions(ends[latent], count)
            for code, start in zip(table, starts, strict=True):
                label = _name(latent, words) + numbers.get(latent, "") + f", image {start}" * (len(starts) > 1)
                frames = decode(where[latent].moved(code, positions))
                strips.append(Strip(label, latent, start, positions, where[latent].num_categories > 0, frames))
    return Traversal(tuple(strips), caption)


@torch.no_grad()
def category_samples(
    model: AutoencoderModule, latent: int | None = None, *, num_draws: int = 10, seed: int = 0
) -> Traversal:
    """Returns a row of images for each category of a discrete latent, by default the first.

    The images are draws from the prior in which that latent has this category. Draw n has the same other latents in
    every row.
    """
    where = places(model, None, 0)
    discrete = [number for number, place in enumerate(where) if place.num_categories]
    if not discrete:
        raise CodesError("The model has no discrete latent, so there are no categories to draw images of.")
    chosen = discrete[0] if latent is None else latent
    if chosen not in discrete:
        known = ", ".join(map(str, discrete))
        raise CodesError(f"Latent {latent} is not discrete, or there is none; those with categories are {known}.")
    if num_draws < 1:
        raise CodesError(f"num_draws is {num_draws}; expected 1 or more.")
    place, rows = where[chosen], torch.arange(num_draws, device=next(model.parameters()).device)
    codes, others = model.prior_draws(rows, seed)
    strips = []
    for category in range(place.num_categories):
        put = torch.cat([place.moved(code, [float(category)]) for code in codes])
        blocks = torch.cat([put, others], dim=1).split(1024)
        frames = torch.cat([model.likelihood.mean(model.decoder(block)) for block in blocks]).cpu()
        draws = tuple(map(float, range(num_draws)))
        strips.append(Strip(f"category {category}", chosen, 0, draws, is_discrete=False, frames=frames))
    return Traversal(tuple(strips), f"draws from the prior by the category of z{chosen}")


def typical_image(codes: Codes) -> int:
    """Returns the image whose mean code is nearest the mean of all, with each latent scaled by its spread."""
    mean = codes.mean.double()
    centered = mean - mean.mean(dim=0)
    # The std of the posterior keeps unused latents, whose means differ little, from counting.
    spread = centered.square().mean(dim=0) + (0 if codes.std is None else codes.std.double().square().mean(dim=0))
    # A latent that never differs at all is as near everywhere.
    return int((centered.square() / spread.where(spread > 0, 1.0)).sum(dim=1).argmin())


def _start(
    decoder: Decoder, code: Any, images: int | Iterable[int] | None
) -> tuple[Float[Tensor, "start column"], list[int], tuple[Place, ...]]:
    """Returns the codes to start from, their image numbers, and the columns of each latent."""
    if isinstance(code, Codes):
        where = places(decoder, code, 0)
        starts = [typical_image(code)] if images is None else _numbers(images, len(code.mean), "image")
        if len(where) != code.num_latents:
            raise CodesError(
                f"The codes have {code.num_latents} latents, and the model {len(where)}. Pass its own codes."
            )
        return likeliest(code, torch.tensor(starts), [place.width for place in where]), starts, where
    table = as_floats("code", code)
    # Floats of Python and NumPy are double by default; most decoders are not.
    table = table if isinstance(code, Tensor) else table.to(torch.get_default_dtype())
    table = table[None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.numel() or not bool(table.isfinite().all()):
        raise CodesError(
            f"code has shape {tuple(table.shape)}; expected finite numbers: one code (latents), or a table of codes "
            "(images, latents)."
        )
    where = places(decoder, None, table.shape[1])
    if where[-1].first + where[-1].width != table.shape[1]:
        raise CodesError(
            f"A code has {table.shape[1]} numbers; this model's have {where[-1].first + where[-1].width}, in "
            f"{len(where)} latents."
        )
    starts = list(range(len(table))) if images is None else _numbers(images, len(table), "image")
    return table[starts], starts, where


def _grid(
    decode: Decoder,
    code: Float[Tensor, " column"],
    where: Sequence[Place],
    ends: Sequence[Range],
    num_frames: int,
    grid: Any,
    words: Mapping[int, str],
    start: int,
) -> Traversal:
    """Returns a row of frames for each position of the first latent, in which the second latent moves."""
    pair = _numbers(grid, len(where), "latent")
    if len(set(pair)) != 2 or len(pair) != 2:
        raise CodesError(f"grid is {grid!r}; expected the numbers of two different latents, such as (3, 5).")
    down, across = pair
    rows, columns = (where[latent].positions(ends[latent], num_frames) for latent in pair)
    strips = [
        Strip(
            label=f"{row:.3g}",
            latent=across,
            start=start,
            positions=columns,
            is_discrete=where[across].num_categories > 0,
            frames=decode(where[across].moved(there, columns)),
        )
        for row, there in zip(rows, where[down].moved(code, rows), strict=True)
    ]
    return Traversal(tuple(strips), f"{_name(down, words)} down, {_name(across, words)} across")


def _ordered(latents: Any, order_by: Any, num_latents: int) -> tuple[list[int], str, dict[int, str]]:
    """Returns the latents in the order of their rows, the name of the score, and its text for each latent."""
    rows = list(range(num_latents)) if latents is None else _numbers(latents, num_latents, "latent")
    if order_by is None:
        return rows, "", {}
    is_score = isinstance(order_by, PerLatent)
    caption, given = (order_by.metric, order_by.per_latent) if is_score else ("", order_by)
    numbers = as_floats("order_by", given)
    if numbers.shape != (num_latents,):
        raise CodesError(
            f"order_by {f'({caption}) ' if caption else ''}has {len(numbers) if numbers.ndim else 1} numbers for "
            f"{num_latents} latents. Give one for each, or a score with per_latent, such as that of informativeness."
        )
    scores = numbers.tolist()
    rows.sort(key=lambda latent: math.inf if math.isnan(scores[latent]) else -scores[latent])
    return rows, caption, {latent: f"  {scores[latent]:.2f}" for latent in rows}


def _words(labels: Any, num_latents: int) -> dict[int, str]:
    """Returns the text to add to the label of each latent."""
    if not labels and (labels is None or isinstance(labels, Mapping)):
        return {}
    if isinstance(labels, Mapping):
        return dict(zip(_numbers(labels, num_latents, "latent"), map(str, labels.values()), strict=True))
    if isinstance(labels, str) or not isinstance(labels, Iterable) or len(words := list(labels)) != num_latents:
        raise CodesError(
            f"labels is {labels!r}; expected a word for each of the {num_latents} latents, or words by the number of "
            "the latent: {3: 'scale'}."
        )
    return dict(enumerate(map(str, words)))


def _name(latent: int, words: Mapping[int, str]) -> str:
    return f"z{latent}" + (f" {words[latent]}" if latent in words else "")


def _ends(given: Any, num_latents: int) -> list[Range]:
    """Returns the range of each latent."""
    if isinstance(given, Mapping):
        named = dict(zip(_numbers(given, num_latents, "latent"), map(_checked_range, given.values()), strict=True))
        return [named.get(latent, RANGE) for latent in range(num_latents)]
    return [_checked_range(given)] * num_latents


def _checked_range(given: Any) -> Range:
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high)):
        raise CodesError(
            f"range is {given!r}; expected the two ends of a latent's movement, such as (-2, 2), or a pair for each "
            "latent by number: {3: (-4, 4)}."
        )
    return low, high


def _numbers(given: Any, count: int, what: str) -> list[int]:
    """Returns the given numbers of latents or images, checked against their `count`."""
    numbers = _whole(given if isinstance(given, Iterable) else [given], f"{what}s")
    if not numbers:
        raise CodesError(f"No {what} was named. Name at least one, or leave {what}s out.")
    outside = [number for number in numbers if not 0 <= number < count]
    if outside:
        raise CodesError(f"There is no {what} {outside[0]}: they are numbered from 0 to {count - 1}.")
    return numbers


def _whole(given: Iterable[Any], name: str) -> list[int]:
    try:
        return [operator.index(number) for number in given]
    except TypeError:
        raise CodesError(f"{name} is {given!r}; expected whole numbers.") from None
