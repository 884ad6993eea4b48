"""Random numbers and random rows of a table of images, for metrics and subsets.

The results depend only on the arguments: the same seed and stream give the same numbers on every device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from unbraid._internal import draws


def permuted_rows(num_images: int, seed: int, stream: str) -> Int64[Tensor, " image"]:
    """Returns a random permutation of all row numbers."""
    return draws.permutation(_seeds(seed), stream, 0, num_images)[0]


def draw_rows(
    num_draws: int, num_images: int, seed: int, stream: str, weights: Float[Tensor, " image"] | None = None
) -> Int64[Tensor, " draw"]:
    """Draws rows of images.

    Without weights, a random permutation of all rows is repeated, so that the counts of rows differ by at most one.
    With weights p(n), rows are drawn with replacement.
    """
    if weights is None:
        order = permuted_rows(num_images, seed, stream)
        return order.repeat(-(-num_draws // num_images))[:num_draws]
    cumulative = weights.double().cpu().cumsum(0)
    points = rand((num_draws,), seed, stream) * cumulative[-1]
    return torch.searchsorted(cumulative, points, right=True).clamp(max=num_images - 1)


def rand(shape: tuple[int, ...], seed: int, stream: str) -> Float64[Tensor, "..."]:
    """Returns uniform random numbers on the open interval (0, 1)."""
    return draws.uniform(_seeds(seed), stream, 0, shape)[0]


def randint(high: int, shape: tuple[int, ...], seed: int, stream: str) -> Int64[Tensor, "..."]:
    """Returns uniform random integers from 0 to `high` - 1."""
    return (rand(shape, seed, stream) * high).long().clamp(max=high - 1)


def randn(shape: tuple[int, ...], seed: int, stream: str) -> Float64[Tensor, "..."]:
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
    """Draws disjoint training and test rows. If there are fewer rows than requested, splits all rows 2 to 1.

    `known` masks the rows to use. With weights p(n), the rows are split 2 to 1. Each part is then sampled with
    replacement, with at most as many draws as rows.
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
        part[draw_rows(min(number, len(part)), len(part), seed, f"{stream}/{name}", weights.cpu()[part])]
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
    """Draws at most `num_rows` of the `known` rows of a range, with replacement if weights p(n) are given."""
    order = part.start + permuted_rows(len(part), seed, stream)
    if known is not None:
        order = order[known.cpu()[order]]
    if weights is None:
        return order[:num_rows]
    order = order[weights.cpu()[order] > 0]
    if len(order) == 0:
        return order
    return order[draw_rows(min(num_rows, len(order)), len(order), seed, stream, weights.cpu()[order])]


@final
@dataclass(frozen=True)
class ImagesByValue:
    """Images grouped by their value of one factor, for fast draws given a value. Images without a value are excluded.

    The image probabilities p(n) are uniform unless weights are given. The tensors are on the CPU.
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
        """Draws one image from p(n) for each uniform random number."""
        return self._at(uniform * self.cumulative[-1], torch.tensor(0), torch.tensor(len(self.order)))

    def draw_sharing(
        self, image: Int64[Tensor, "*draws"], uniform: Float64[Tensor, "*draws"]
    ) -> Int64[Tensor, "*draws"]:
        """Draws images from p(n | the factor has the same value as in `image`)."""
        value = self.value[image]
        first, last = self.starts[value], self.starts[value + 1]
        low, high = self.cumulative[first], self.cumulative[last]
        return self._at(low + uniform * (high - low), first, last)

    def _at(
        self, point: Float64[Tensor, "*draws"], first: Int64[Tensor, "..."], last: Int64[Tensor, "..."]
    ) -> Int64[Tensor, "*draws"]:
        place = torch.searchsorted(self.cumulative, point, right=True) - 1
        # Rounding at the end of a group must not select an image of the next group.
        return self.order[torch.minimum(torch.maximum(place, first), last - 1)]


def pairs_sharing_a_value(
    factors: Sequence[ImagesByValue], num_points: int, num_pairs: int, seed: int, stream: str
) -> tuple[Int64[Tensor, " point"], Int64[Tensor, "point pair"], Int64[Tensor, "point pair"]]:
    """Draws a factor for each point uniformly, and pairs of images with equal values of this factor.

    The first image of a pair is drawn from p(n), the second from p(n | value of the first).
    """
    factor = randint(len(factors), (num_points,), seed, f"{stream}/factor")
    uniforms = [rand((num_points, num_pairs), seed, f"{stream}/{place}") for place in ("first", "second")]
    first, second = (torch.empty(num_points, num_pairs, dtype=torch.int64) for _ in range(2))
    for k, images_by_value in enumerate(factors):
        chosen = factor == k
        first[chosen] = images_by_value.draw(uniforms[0][chosen])
        second[chosen] = images_by_value.draw_sharing(first[chosen], uniforms[1][chosen])
    return factor, first, second


def batches_sharing_a_value(
    factors: Sequence[ImagesByValue], num_points: int, batch_size: int, seed: int, stream: str
) -> tuple[Int64[Tensor, " point"], Int64[Tensor, "point batch"]]:
    """Draws a factor for each point uniformly, and a batch of images with equal values of this factor.

    The value of a batch is the factor's value in an image drawn from p(n).
    """
    factor = randint(len(factors), (num_points,), seed, f"{stream}/factor")
    leader, members = (
        rand((num_points,), seed, f"{stream}/leader"),
        rand((num_points, batch_size), seed, f"{stream}/members"),
    )
    batch = torch.empty(num_points, batch_size, dtype=torch.int64)
    for k, images_by_value in enumerate(factors):
        chosen = factor == k
        value_from = images_by_value.draw(leader[chosen])[:, None].expand(-1, batch_size)
        batch[chosen] = images_by_value.draw_sharing(value_from, members[chosen])
    return factor, batch


def _seeds(seed: int) -> Int64[Tensor, " member"]:
    return torch.tensor([seed], dtype=torch.int64)
