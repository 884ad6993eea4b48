"""The information of each latent about each factor, as a table that explains MIG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from unbraid.metrics.latent_readings import LEAST_SHARE, factor_shares
from unbraid.metrics.metric import Score
from unbraid.show.pages.svg import STRONG

# A model may have hundreds of latents; the most informative ones are enough.
MAX_LATENTS = 16


@final
@dataclass(frozen=True)
class Cell:
    """I(z_j; v_k) / H(v_k), and I(z_j; v_k).

    `mark` is 1 for the most informative latent of the factor, 2 for the runner-up, else 0.
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
    """A table of latents by factors.

    `gaps` are the largest minus the second largest share of each column. Their mean is MIG.
    """

    factors: tuple[str, ...]
    entropies: tuple[float, ...]
    rows: tuple[tuple[int, tuple[Cell, ...]], ...]
    gaps: tuple[float, ...]
    num_hidden: int
    constant: tuple[str, ...]

    @property
    def shared(self) -> list[tuple[int, list[str]]]:
        """The latents that are the most informative about several factors at once, which MIG does not detect."""
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
    """Returns the map of a MIG, with the latents in this order, the most informative first.

    Factors that never vary have no column. Beyond a limit, only the first two latents of a factor have a row.
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
