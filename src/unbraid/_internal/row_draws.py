"""Random draws of rows from a table of images, for metrics and subsets.

All functions return the same rows for the same seed and stream, on every device and in any order of calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from unbraid._internal import draws


def permuted_rows(num_images: int, seed: int, stream: str) -> Int64[Tensor, " image"]:
    """Returns all row numbers in random order."""
    return draws.permutation(_seeds(seed), stream, 0, num_images)[0]


def images(
    num_draws: int, num_images: int, seed: int, stream: str, weights: Float[Tensor, " image"] | None = None
) -> Int64[Tensor, " draw"]:
    """Returns the image of each draw.

    Without weights, a random order of all images is repeated, so that draw counts differ by at most one.
    With weights p(n), images are drawn with replacement.
    """
    if weights is None:
        order = permuted_rows(num_images, seed, stream)
        return order.repeat(-(-num_draws // num_images))[:num_draws]
    cumulative = weights.double().cpu().cumsum(0)
    points = uniform((num_draws,), seed, stream) * cumulative[-1]
    return torch.searchsorted(cumulative, points, right=True).clamp(max=num_images - 1)


def uniform(shape: tuple[int, ...], seed: int, stream: str) -> Float64[Tensor, "..."]:
    """Returns uniform random numbers on (0, 1)."""
    return draws.uniform(_seeds(seed), stream, 0, shape)[0]


def integers(below: int, shape: tuple[int, ...], seed: int, stream: str) -> Int64[Tensor, "..."]:
    """Returns uniform random integers from 0 to `below` - 1."""
    return (uniform(shape, seed, stream) * below).long().clamp(max=below - 1)


def normal(shape: tuple[int, ...], seed: int, stream: str) -> Float64[Tensor, "..."]:
    """Returns standard normal random numbers."""
    return draws.normal(_seeds(seed), stream, 0, shape)[0]


def train_and_test_rows(
    num_images: int,
    num_train: int,
    num_test: int,
    seed: int,
    stream: str,
    known: Bool[Tensor, " image"] | None = None,
    weights: Float[Tensor, " image"] | None = None,
) -> tuple[Int64[Tensor, " train"], Int64[Tensor, " test"]]:
    """Returns disjoint training and test rows, or a 2-to-1 split of all rows if fewer than requested exist.

    Only `known` rows are used. With weights p(n), the images are split 2 to 1 and rows are drawn from each part with
    replacement, at most one per image of the part.
    """
    order = permuted_rows(num_images, seed, stream)
    if known is not None:
        order = order[known.cpu()[order]]
    if weights is not None:
        order = order[weights.cpu()[order] > 0]
    if len(order) == 0:
        return order, order
    if len(order) < num_train + num_test or weights is not None:
        split = max(1, 2 * len(order) // 3)
        train, test = order[:split], order[split:]
    else:
        train, test = order[:num_train], order[num_train : num_train + num_test]
    if weights is None:
        return train, test
    chosen = [
        part[images(min(number, len(part)), len(part), seed, f"{stream}/{name}", weights.cpu()[part])]
        for name, part, number in (("train", train, num_train), ("test", test, num_test))
        if len(part)
    ]
    return chosen[0], chosen[1] if len(chosen) > 1 else test


def rows_of_part(
    part: range,
    num_rows: int,
    seed: int,
    stream: str,
    known: Bool[Tensor, " image"] | None = None,
    weights: Float[Tensor, " image"] | None = None,
) -> Int64[Tensor, " row"]:
    """Returns at most `num_rows` random `known` rows of a range.

    With weights p(n) the rows are drawn with replacement.
    """
    order = part.start + permuted_rows(len(part), seed, stream)
    if known is not None:
        order = order[known.cpu()[order]]
    if weights is None:
        return order[:num_rows]
    order = order[weights.cpu()[order] > 0]
    if len(order) == 0:
        return order
    return order[images(min(num_rows, len(order)), len(order), seed, stream, weights.cpu()[order])]


@final
@dataclass(frozen=True)
class ImagesByValue:
    """The images with a known value of a factor, grouped by value, for fast draws given a value.

    `p(n)` is uniform unless weights are given. The tensors are on the CPU.
    """

    order: Int64[Tensor, " known"]
    starts: Int64[Tensor, " value_and_end"]
    cumulative: Float64[Tensor, " known_and_end"]
    value: Int64[Tensor, " image"]

    @classmethod
    def from_assignment(
        cls, assignment: Int64[Tensor, " image"], weights: Float[Tensor, " image"] | None = None
    ) -> "ImagesByValue":
        """Groups images by their value index. The index -1 marks a missing value."""
        assignment = assignment.cpu()
        known = assignment >= 0 if weights is None else (assignment >= 0) & (weights.cpu() > 0)
        rows = known.nonzero()[:, 0]
        order = rows[assignment[rows].argsort(stable=True)]
        counts = torch.bincount(assignment[rows], minlength=1)
        p = torch.ones(len(order), dtype=torch.float64) if weights is None else weights.cpu().double()[order]
        return cls(
            order,
            torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
            torch.cat([p.new_zeros(1), p.cumsum(0)]),
            assignment,
        )

    def draw(self, uniform: Float64[Tensor, "*draws"]) -> Int64[Tensor, "*draws"]:
        """Returns images from p(n)."""
        return self._at(uniform * self.cumulative[-1], torch.tensor(0), torch.tensor(len(self.order)))

    def draw_sharing(
        self, image: Int64[Tensor, "*draws"], uniform: Float64[Tensor, "*draws"]
    ) -> Int64[Tensor, "*draws"]:
        """Returns images from p(n | the factor has the same value as in `image`)."""
        value = self.value[image]
        first, last = self.starts[value], self.starts[value + 1]
        low, high = self.cumulative[first], self.cumulative[last]
        return self._at(low + uniform * (high - low), first, last)

    def _at(
        self, point: Float64[Tensor, "*draws"], first: Int64[Tensor, "..."], last: Int64[Tensor, "..."]
    ) -> Int64[Tensor, "*draws"]:
        place = torch.searchsorted(self.cumulative, point, right=True) - 1
        # Rounding at the end of a group must not lead into the next.
        return self.order[torch.minimum(torch.maximum(place, first), last - 1)]


def pairs_sharing_a_value(
    factors: Sequence[ImagesByValue], num_points: int, num_pairs: int, seed: int, stream: str
) -> tuple[Int64[Tensor, " point"], Int64[Tensor, "point pair"], Int64[Tensor, "point pair"]]:
    """Returns a uniformly drawn factor for each point, and a pair of images that share its value.

    The first image is drawn from p(n), the second from p(n | value of the first).
    """
    factor = integers(len(factors), (num_points,), seed, f"{stream}/factor")
    ours, theirs = (uniform((num_points, num_pairs), seed, f"{stream}/{place}") for place in ("first", "second"))
    first, second = (torch.empty(num_points, num_pairs, dtype=torch.int64) for _ in range(2))
    for k, images_by_value in enumerate(factors):
        chosen = factor == k
        first[chosen] = images_by_value.draw(ours[chosen])
        second[chosen] = images_by_value.draw_sharing(first[chosen], theirs[chosen])
    return factor, first, second


def batches_sharing_a_value(
    factors: Sequence[ImagesByValue], num_points: int, batch_size: int, seed: int, stream: str
) -> tuple[Int64[Tensor, " point"], Int64[Tensor, "point batch"]]:
    """Returns a uniformly drawn factor for each point, and a batch of images that share its value.

    The shared value is that of an image drawn from p(n).
    """
    factor = integers(len(factors), (num_points,), seed, f"{stream}/factor")
    leader, members = (
        uniform((num_points,), seed, f"{stream}/leader"),
        uniform((num_points, batch_size), seed, f"{stream}/members"),
    )
    batch = torch.empty(num_points, batch_size, dtype=torch.int64)
    for k, images_by_value in enumerate(factors):
        chosen = factor == k
        value_from = images_by_value.draw(leader[chosen])[:, None].expand(-1, batch_size)
        batch[chosen] = images_by_value.draw_sharing(value_from, members[chosen])
    return factor, batch


def _seeds(seed: int) -> Int64[Tensor, " member"]:
    return torch.tensor([seed], dtype=torch.int64)
