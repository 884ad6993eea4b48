"""Heat map of the information of each latent about each factor, from which MIG is computed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.metrics.latent_readings import LEAST_SHARE, factor_shares
from unbraid.metrics.metric import Score
from unbraid.show.pages.svg import STRONG

MAX_LATENTS = 16  # only the most informative latents are shown


@final
@dataclass(frozen=True)
class Cell:
    """A cell of the heat map: `share` is I(z_j; v_k) / H(v_k), and `nats` is I(z_j; v_k).

    `mark` is 1 for the most informative latent of the factor, 2 for the second most informative, and 0 otherwise.
    """

    share: float
    nats: float
    mark: int = 0

    @property
    def is_strong(self) -> bool:
        return self.share >= STRONG


@final
@dataclass(frozen=True)
class HeatMap:
    """A table with a row for each latent and a column for each factor.

    `gaps` has the difference of the two largest shares in each column; the mean of the gaps is MIG. `num_hidden` is
    the number of latents without a row. `constant` has the factors that never vary.
    """

    factors: tuple[str, ...]
    entropies: tuple[float, ...]
    rows: tuple[tuple[int, tuple[Cell, ...]], ...]
    gaps: tuple[float, ...]
    num_hidden: int
    constant: tuple[str, ...]

    @property
    def shared(self) -> list[tuple[int, list[str]]]:
        """The latents that are most informative about several factors, and these factors. MIG ignores this."""
        marked = {
            j: [
                name
                for name, cell in zip(self.factors, cells, strict=True)
                if cell.mark == 1 and cell.share >= LEAST_SHARE
            ]
            for j, cells in self.rows
        }
        return [(j, names) for j, names in marked.items() if len(names) > 1]


def mig_heat_map(mig: Score, order: Sequence[int]) -> HeatMap:
    """Returns the heat map of a MIG, with latents in this order, most informative first.

    Factors that never vary have no column. After 16 rows, only latents that are first or second for a factor have a
    row.
    """
    names, gaps = list(mig.per_factor), list(mig.per_factor.values())
    varying = [k for k, gap in enumerate(gaps) if not math.isnan(gap)]
    shares = factor_shares(mig)[:, varying]
    nats = mig.tables["mutual_information"].clamp(min=0)[:, varying]
    ranks = shares.argsort(dim=0, descending=True, stable=True).argsort(dim=0)
    marks = (ranks + 1).where(ranks < 2, 0).tolist()
    cells = [tuple(map(Cell, *each)) for each in zip(shares.tolist(), nats.tolist(), marks, strict=True)]
    rows = [(j, cells[j]) for place, j in enumerate(order) if place < MAX_LATENTS or any(marks[j])]
    return HeatMap(
        factors=tuple(names[k] for k in varying),
        entropies=tuple(mig.tables["factor_entropy"][varying].tolist()),
        rows=tuple(rows),
        gaps=tuple(gaps[k] for k in varying),
        num_hidden=len(order) - len(rows),
        constant=tuple(name for k, name in enumerate(names) if k not in varying),
    )
