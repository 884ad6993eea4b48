"""Pictures of what single latents do, of the best model of each setting."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from unbraid.errors import CodesError
from unbraid.papers.work import StudyWork, Work
from unbraid.studies import best_traversals

_NUM_ROWS = 8


def best_latents(
    work: Work, folder: Path, labels: Sequence[str], reach: float, min_std: float = 0.05
) -> Mapping[str, bytes]:
    """Returns the best model of each setting side by side as a PNG: each row moves a latent of the first as far as
    `reach` to either side, and the matched latents of the others. It is empty where a model has no latent whose means
    have this std.
    """
    assert isinstance(work, StudyWork)
    ends = (-reach, reach)
    try:
        shown = best_traversals(work.study, folder, settings=labels, range=ends, num_latents=_NUM_ROWS, min_std=min_std)
    except CodesError:
        return {}
    return {"traversals": shown.png()}
