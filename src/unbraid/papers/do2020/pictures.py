"""Pictures of trained models: latents about the code of an image, as the authors' code shows them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid import figures
from unbraid.codes import Codes
from unbraid.data import DSprites
from unbraid.evaluation.top_latents import top_latents
from unbraid.figures.saving import rendered
from unbraid.metrics import MISJED, RMIG, Informativeness, Metric, Score, Separability
from unbraid.metrics.estimators import Quantised
from unbraid.papers.do2020.runs import BINS, FACTORS
from unbraid.papers.work import Work
from unbraid.recipes import text_of
from unbraid.runs.run import Run

BY_INFORMATION = Informativeness(BINS)
ENDS, NUM_FRAMES = 3.0, 11
_NUM_TOP, _MOST_IMAGES = 10, 10_000
_START = {"scale": 3, "orientation": 20, "position_x": 16, "position_y": 16}


def first_runs(work: Work, folder: Path) -> dict[str, Run]:
    """Returns the first run of each setting that is finished and has its weights."""
    found: dict[str, Run] = {}
    for each in work.study.runs(folder):  # type: ignore[attr-defined]
        if each.run.status == "finished" and not each.run.let_go:
            found.setdefault(each.setting.label, each.run)
    return found


def some_rows(codes: Codes) -> Codes:
    """Returns the codes of at most 10,000 images, evenly spaced: the same images for every run."""
    every = -(-len(codes) // _MOST_IMAGES)
    return codes.rows(torch.arange(0, len(codes), every))


def in_file_name(label: str) -> str:
    """Returns the label of a setting as the names of its pictures have it."""
    return label.lower().replace(",", "").replace(" ", "-").replace(".", "-")


def kept(run: Run, metric: Metric) -> Score:
    """Returns a score that the study has asked of the run."""
    return run.named_scores()[text_of(metric)]


def about(code: Float[Tensor, " column"], latents: Sequence[int], ends: float = ENDS) -> dict[int, tuple[float, float]]:
    """Returns the range of each latent about where it is in a code, as in the authors' code."""
    return {latent: (float(code[latent]) - ends, float(code[latent]) + ends) for latent in latents}


def most_informative(run: Run, count: int = _NUM_TOP) -> list[int]:
    """Returns the latents that say most of the image, the most first."""
    told = torch.tensor(kept(run, BY_INFORMATION).per_latent)
    return told.argsort(descending=True, stable=True)[:count].tolist()


def sprite(dataset: DSprites, shape: int) -> int:
    """Returns the number of the sprite that the authors start from; where there are fewer values, of one like it."""
    row = 0
    for factor in dataset.factors:
        value = shape if factor.name == "shape" else _START.get(factor.name, 0)
        row = row * factor.size + min(value, factor.size - 1)
    return row


def by_separability(work: Work, folder: Path) -> Mapping[str, bytes]:
    """Returns all latents of a run of each setting, the least separable first, with what they share and say."""
    found = {}
    for label, run in first_runs(work, folder).items():
        shared, told = (_scored(run, metric) for metric in _PER_LATENT)
        start, latents = sprite(_sprites(run), 0), range(len(told.per_latent))
        labels = {
            latent: f"SEP {shared.per_latent[latent]:.4f} INFO {told.per_latent[latent]:.4f}" for latent in latents
        }
        found[in_file_name(label)] = run.traverse(
            start,
            latents=latents,
            range=about(run.codes().mean[start], latents),
            num_frames=NUM_FRAMES,
            order_by=shared.per_latent,
            labels=labels,
        ).png()
    return found


def by_factor(work: Work, folder: Path) -> Mapping[str, bytes]:
    """Returns the three latents that say most of each factor, of a run of each setting, about a sprite of the authors'
    choice: a picture for each factor.
    """
    found = {}
    for label, run in first_runs(work, folder).items():
        score = kept(run, RMIG(BINS))
        for place, factor in enumerate(FACTORS):
            start, told = sprite(_sprites(run), place % 3), top_latents(score, factor, 3)
            found[f"{in_file_name(label)}-{factor}"] = run.traverse(
                start,
                latents=list(told),
                range=about(run.codes().mean[start], list(told)),
                num_frames=NUM_FRAMES,
                labels=told,
            ).png()
    return found


def misjed_maps(work: Work, folder: Path, *, num_bins: int, fraction: float = 1.0) -> Mapping[str, bytes]:
    """Returns the normalised MISJED of every two latents of a run of each setting, as colours, the most informative
    latents first. The diagonal is left out.
    """
    metric, found = MISJED(Quantised(num_bins, masses="rectangle")), {}
    for label, run in first_runs(work, folder).items():
        score, told = (_scored(run, each, fraction) for each in (metric, BY_INFORMATION))
        order = torch.tensor(told.per_latent).argsort(descending=True, stable=True)
        table = score.tables["misjed_normalised"][order][:, order].clone()
        table.fill_diagonal_(torch.nan)
        names = [f"z{latent}" for latent in order.tolist()]
        axes = figures.heat_map(table, names, names, ends=(0.0, 0.7), label="normalised MISJED")
        found[f"{in_file_name(label)}-misjed"] = rendered(axes)
    return found


def _scored(run: Run, metric: Metric, fraction: float = 1.0) -> Score:
    return run.score([metric], fraction=fraction, progress=False).scores[0]


_PER_LATENT: tuple[Metric, Metric] = (Separability(), Informativeness())


def _sprites(run: Run) -> DSprites:
    dataset = run.spec.dataset
    assert isinstance(dataset, DSprites)
    return dataset
