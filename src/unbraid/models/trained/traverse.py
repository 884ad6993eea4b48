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
"""Default range of a latent, the central 95 % of a standard normal prior."""
NUM_FRAMES = 9

Range = tuple[float | int, float | int]
Words = Mapping[int, str] | Sequence[str]


@runtime_checkable
class PerLatent(Protocol):
    """Protocol of a score with one value per latent."""

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
    """Returns a latent traversal: for each latent, a row of images decoded from codes in which only it varies.

    Args:
        decoder: A model of unbraid, or any function or module from codes to images. Discrete latents take each of their
            categories, one-hot encoded.
        code: Code to start from, or a table of codes. With `Codes`, the traversal starts from the image whose code is
            closest to the mean.
        latents: Indices of the latents to vary; by default all.
        range: First and last value of every latent, or a mapping from latent indices to such pairs.
        num_frames: Number of frames in a row.
        images: Rows of the table to start from, with a row of frames for each latent and image; by default all.
        order_by: A score with one value per latent, or the values. Latents are sorted in descending order, and labels
            include the values.
        labels: Text to add to the labels, one per latent or by latent index.
        grid: Two latents for one grid of frames instead of rows. With (3, 5), latent 3 varies between rows and latent
            5 between columns.

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
        raise CodesError(f"num_frames is {count}; expected an integer >= 2. Pass e.g. num_frames=9.")
    with decoding(decoder, table.shape[1]) as decode:
        if grid is not None:
            if latents is not None or order_by is not None or len(starts) > 1:
                raise CodesError(
                    f"grid is {grid!r} together with latents, order_by or several images; expected a grid of two "
                    "latents and one image. Omit latents and order_by, and pass one image."
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
    """Returns a row of images for each category of a discrete latent, by default the first discrete latent.

    The images are decoded from draws of the prior in which the latent is set to the category. The other latents of draw
    n are the same in every row.
    """
    where = places(model, None, 0)
    discrete = [number for number, place in enumerate(where) if place.num_categories]
    if not discrete:
        raise CodesError("The model has 0 discrete latents; expected at least 1. Use a model with ConcreteLatents.")
    chosen = discrete[0] if latent is None else latent
    if chosen not in discrete:
        known = ", ".join(map(str, discrete))
        raise CodesError(f"latent is {latent}; expected the index of a discrete latent. Pass one of: {known}.")
    if num_draws < 1:
        raise CodesError(f"num_draws is {num_draws}; expected an integer >= 1. Pass e.g. num_draws=10.")
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
    """Returns the index of the image whose code is closest to the mean code, with each latent scaled by its std."""
    mean = codes.mean.double()
    centered = mean - mean.mean(dim=0)
    # Unused latents, whose means vary little, get little weight through the std of the posterior.
    spread = centered.square().mean(dim=0) + (0 if codes.std is None else codes.std.double().square().mean(dim=0))
    # A constant latent has no effect; 1 avoids a division by 0.
    return int((centered.square() / spread.where(spread > 0, 1.0)).sum(dim=1).argmin())


def _start(
    decoder: Decoder, code: Any, images: int | Iterable[int] | None
) -> tuple[Float[Tensor, "start column"], list[int], tuple[Place, ...]]:
    """Returns the codes to start from, their image indices, and the columns of each latent."""
    if isinstance(code, Codes):
        where = places(decoder, code, 0)
        starts = [typical_image(code)] if images is None else _numbers(images, len(code.mean), "image")
        if len(where) != code.num_latents:
            raise CodesError(
                f"The codes have {code.num_latents} latents; expected {len(where)}. Pass codes of this model."
            )
        return likeliest(code, torch.tensor(starts), [place.width for place in where]), starts, where
    table = as_floats("code", code)
    # Floats of Python and NumPy are float64, and the weights of most decoders are float32.
    table = table if isinstance(code, Tensor) else table.to(torch.get_default_dtype())
    table = table[None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.numel() or not bool(table.isfinite().all()):
        raise CodesError(
            f"code has shape {tuple(table.shape)} or values that are not finite; expected finite numbers. Pass one "
            "code (latents) or a table of codes (images, latents)."
        )
    where = places(decoder, None, table.shape[1])
    if where[-1].first + where[-1].width != table.shape[1]:
        raise CodesError(
            f"code has {table.shape[1]} columns; expected {where[-1].first + where[-1].width} for the {len(where)} "
            "latents of this model. Pass a code of this model."
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
    """Returns a row of frames for each value of the first latent, in which the second latent varies."""
    pair = _numbers(grid, len(where), "latent")
    if len(set(pair)) != 2 or len(pair) != 2:
        raise CodesError(f"grid is {grid!r}; expected the indices of two different latents. Pass e.g. (3, 5).")
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
    """Returns the latents in row order, the name of the score, and the text of the score for each latent."""
    rows = list(range(num_latents)) if latents is None else _numbers(latents, num_latents, "latent")
    if order_by is None:
        return rows, "", {}
    is_score = isinstance(order_by, PerLatent)
    caption, given = (order_by.metric, order_by.per_latent) if is_score else ("", order_by)
    numbers = as_floats("order_by", given)
    if numbers.shape != (num_latents,):
        raise CodesError(
            f"order_by {f'({caption}) ' if caption else ''}has {len(numbers) if numbers.ndim else 1} values; expected "
            f"{num_latents}, one per latent. Pass such values, or a score with per_latent, e.g. of Informativeness."
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
            f"labels is {labels!r}; expected a text for each of the {num_latents} latents, or a mapping from latent "
            "indices to texts. Pass e.g. {3: 'scale'}."
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
            f"range is {given!r}; expected a pair of finite numbers, or a mapping from latent indices to pairs. Pass "
            "e.g. (-2, 2) or {3: (-4, 4)}."
        )
    return low, high


def _numbers(given: Any, count: int, what: str) -> list[int]:
    """Returns indices of latents or images as a list, after checking that they are below `count`."""
    numbers = _whole(given if isinstance(given, Iterable) else [given], f"{what}s")
    if not numbers:
        raise CodesError(f"{what}s is empty; expected at least one {what}. Pass an index, or omit {what}s.")
    outside = [number for number in numbers if not 0 <= number < count]
    if outside:
        raise CodesError(f"{what.capitalize()} {outside[0]} does not exist. Pass indices from 0 to {count - 1}.")
    return numbers


def _whole(given: Iterable[Any], name: str) -> list[int]:
    try:
        return [operator.index(number) for number in given]
    except TypeError:
        raise CodesError(f"{name} is {given!r}; expected integers. Pass integers.") from None
