"""Traversals of several runs side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.errors import RunError
from unbraid.figures.side_by_side import SideBySide
from unbraid.metrics.unused_latents import informativeness, unused_latents
from unbraid.models.trained.matched_traversals import traverse_matched
from unbraid.training.runs.run import Run


def traverse_together(
    runs: Mapping[str, Run] | Sequence[Run],
    *,
    latents: Sequence[int] | None = None,
    num_latents: int | None = None,
    **options: Any,
) -> SideBySide:
    """Returns traversals of several runs that were trained on the same images, side by side. The latents of the others
    are matched with those of the first, so that each row shows what should be the same latent in every model.

    `runs` are by the names to write above them, or a list, whose names are those of the folders. Without `latents`,
    rows are the latents of the first run that say anything of the image, the most informative first, at most
    `num_latents` of them. `image`, `range`, `num_frames` and `min_std` are as in `traverse_matched`.
    """
    named = dict(runs) if isinstance(runs, Mapping) else {run.name: run for run in runs}
    if not named:
        raise RunError("No run was given to traverse. Give at least one.")
    first = next(iter(named.values()))
    for run in named.values():
        if (run.spec.dataset, run.spec.subset) != (first.spec.dataset, first.spec.subset):
            raise RunError(
                f"{run.name} was trained on other images than {first.name}, and latents are matched over the same "
                "images. Give runs of one data set and subset."
            )
    models = {name: (run.model(), run.codes()) for name, run in named.items()}
    if latents is None:
        _, codes = next(iter(models.values()))
        continuous = codes.without_discrete() if codes.probabilities else codes
        nats = informativeness(continuous)
        used = (~unused_latents(continuous, nats=nats)).nonzero()[:, 0].tolist()
        latents = sorted(used, key=lambda latent: -float(nats[latent]))[:num_latents] or None
    return traverse_matched(models, latents=latents, **options)
