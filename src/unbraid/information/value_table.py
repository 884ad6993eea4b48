"""Labels of all factors as input of the information estimators."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from unbraid.errors import CodesError

# Rows per block of an addition. On a CPU, blocks fit in the cache and are too small for multithreading in torch. On a
# GPU, launching an addition takes longer than a small addition, so blocks are large.
_ROWS_PER_BLOCK = {"cpu": 32_768, "cuda": 1_048_576}
# On a GPU, additions to the same entry are serialized. With few groups, each group has several copies of its entries,
# so that there are about this many.
_NUM_PLACES = {"cpu": 1, "cuda": 4_096}


@final
@dataclass(frozen=True)
class ValueTable:
    """Table of the image probabilities p(n) and the factor values p(v_k | n) of all images.

    `assignments` has an entry for each factor: value indices, with -1 for unknown values, or probabilities of the
    values, with rows of zeros for unknown values. `sizes` is the number of values of each factor, including values that
    do not occur. `weights` is p(n) and sums to one.

    Estimators read a table with a row for each image. The first column is p(n), and the others are p(n) p(v_k | n) for
    each value of each factor. `columns` computes selected rows, and `grouped_columns` sums of rows.
    """

    assignments: tuple[Int[Tensor, " image"] | Float[Tensor, "image _value"], ...]
    sizes: tuple[int, ...]
    weights: Float64[Tensor, " image"]

    @classmethod
    def from_assignments(
        cls,
        assignments: tuple[Int[Tensor, " image"] | Float[Tensor, "image _value"], ...],
        num_images: int,
        weights: Float[Tensor, " image"] | None = None,
        device: torch.device | str | None = None,
    ) -> "ValueTable":
        """Creates a table. Weights are scaled to sum to one; the default is equal weights."""
        if any(len(assignment) != num_images for assignment in assignments):
            raise CodesError(
                f"The factors have {[len(a) for a in assignments]} labels; expected {num_images}. Pass one label per "
                "image."
            )
        device = device or (assignments[0].device if assignments else None)
        p = torch.ones(num_images, dtype=torch.float64) if weights is None else weights.double()
        p = p.to(device)
        sizes = tuple(a.shape[1] if a.ndim == 2 else max(int(a.max()) + 1, 1) for a in assignments)
        return cls(tuple(a.to(device) for a in assignments), sizes, p / p.sum())

    def sample(self, rows: Int[Tensor, " row"], weights: Float64[Tensor, " row"]) -> "ValueTable":
        """Selects images and replaces their weights. Columns of values that no longer occur are kept."""
        return ValueTable(tuple(a[rows] for a in self.assignments), self.sizes, weights / weights.sum())

    @property
    def num_columns(self) -> int:
        return 1 + sum(self.sizes)

    @cached_property
    def value_masses(self) -> Float64[Tensor, " column"]:
        """Sums of the columns: 1, and p(v_k) of each value times the fraction of images with a label."""
        return self.grouped_columns(torch.zeros_like(self.weights, dtype=torch.int64), 1)[0, 0]

    def columns(self, rows: Int[Tensor, " row"]) -> Float64[Tensor, "row column"]:
        """Returns selected rows of the table."""
        p, start = self.weights[rows], 1
        # With an additional column for unknown values, which is dropped at the end.
        table = torch.zeros(len(rows), self.num_columns + 1, dtype=torch.float64, device=p.device)
        table[:, 0] = p
        for assignment, size in zip(self.assignments, self.sizes, strict=True):
            values = assignment[rows]
            if values.ndim == 2:
                table[:, start : start + size] = values * p[:, None]
            else:
                table.scatter_(1, torch.where(values < 0, self.num_columns, values + start).long()[:, None], p[:, None])
            start += size
        return table[:, :-1]

    def grouped_columns(
        self,
        groups: Int[Tensor, " image"],
        num_groups: int,
        scales: Callable[[slice], Sequence[Float64[Tensor, " row"]]] | None = None,
    ) -> Float64[Tensor, "scale group column"]:
        """Returns the sums of the scaled rows of each group of images.

        `scales` is a function that returns one or more scales for each of the given rows. The result has a table for
        each scale. The default is a single scale of 1.
        """
        scales = scales or (lambda rows: (torch.ones_like(self.weights[rows]),))
        # Without factors, a factor with only unknown values is used.
        assignments, sizes = (
            self._with_unknown or (torch.zeros_like(self.weights, dtype=torch.int64),),
            self.sizes or (0,),
        )
        kind = "cpu" if self.weights.device.type == "cpu" else "cuda"
        num_copies = max(1, _NUM_PLACES[kind] // num_groups)
        if num_copies > 1:
            groups = groups + num_groups * (torch.arange(len(groups), device=groups.device) % num_copies)
        tables = [
            self.weights.new_zeros(len(scales(slice(0, 0))), num_copies * num_groups * (size + 1)) for size in sizes
        ]
        for begin in range(0, len(self.weights), _ROWS_PER_BLOCK[kind]):
            rows = slice(begin, begin + _ROWS_PER_BLOCK[kind])
            scaled = [scale * self.weights[rows] for scale in scales(rows)]
            for table, assignment, size in zip(tables, assignments, sizes, strict=True):
                _add_rows(table, groups[rows] * (size + 1), assignment[rows], scaled)
        by_factor = [table.unflatten(1, (num_copies, num_groups, -1)).sum(dim=1) for table in tables]
        return torch.cat([by_factor[0].sum(dim=2, keepdim=True), *(table[:, :, :-1] for table in by_factor)], dim=2)

    def split(self, table: Float64[Tensor, "*axes column"]) -> tuple[Float64[Tensor, "*axes _value"], ...]:
        """Splits the columns by factor, without the first column."""
        return table[..., 1:].split(self.sizes, dim=-1)

    def factor_sums(self, table: Float64[Tensor, "*axes column"]) -> Float64[Tensor, "*axes factor"]:
        """Returns the sum of each factor's columns."""
        if not self.sizes:
            return table[..., :0]
        return torch.stack([part.sum(dim=-1) for part in self.split(table)], dim=-1)

    @cached_property
    def _with_unknown(self) -> tuple[Int64[Tensor, " image"] | Float64[Tensor, "image _value"], ...]:
        """Assignments with an additional value for images with an unknown value."""
        return tuple(
            torch.cat([a.double(), 1 - a.double().sum(dim=1, keepdim=True)], dim=1)
            if a.ndim == 2
            else torch.where(a < 0, size, a).long()
            for a, size in zip(self.assignments, self.sizes, strict=True)
        )


def _add_rows(
    table: Float64[Tensor, "scale place"],
    places: Int[Tensor, " row"],
    assignment: Int64[Tensor, " row"] | Float64[Tensor, "row _value"],
    scaled: Sequence[Float64[Tensor, " row"]],
) -> None:
    """Adds scaled rows to the table of one factor, in place, at the offset of their group plus their value."""
    # One scale at a time, because `index_add_` is several times faster for vectors than for matrices.
    for sums, scale in zip(table, scaled, strict=True):
        if assignment.ndim == 1:
            sums.index_add_(0, places + assignment, scale)
        else:
            for value, probability in enumerate(assignment.unbind(1)):
                sums.index_add_(0, places + value, scale * probability)
