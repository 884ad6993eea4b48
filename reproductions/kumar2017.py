"""Code of kumar2017.toml: Kumar et al. 2017, DIP-VAE, in its first version on arXiv."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from reproductions.code.correlation_pictures import bars, matrices
from reproductions.item import Code, Scale, Scores, family_and_weight
from reproductions.pictures import best_latents
from reproductions.scales import Reduction
from unbraid import MLP, Autoencoder, Conv, DSprites, RunSpec, figures
from unbraid.datasets import MNIST, AttributeFaces, CelebA, Chairs3D, ShadedFaces
from unbraid.datasets.subsets import ChosenValues, RandomSplit, RowRange
from unbraid.models import EsmaeiliMNIST
from unbraid.models.distributions import BernoulliLikelihood, GaussianLatents, GaussianLikelihood
from unbraid.objectives import DIPVAE, VAE, BetaVAE, Objective
from unbraid.training.optimizers import Adagrad, Adam

DIP, VECTORS = "DIP-VAE", "attribute-vector:num_train=10000000:num_test=10000000"
_RUNNING = DIPVAE(kind="i", off_diagonal=10.0, mode="moments", decay=0.9, rescale=True)
_OBJECTIVES: dict[str, Callable[[float], Objective]] = {
    "VAE": lambda _: VAE(),
    "beta-VAE": BetaVAE,
    DIP: lambda weight: DIPVAE(kind="i", off_diagonal=weight),
}
_CONTROLS = {"running covariance": _RUNNING, "gradient of a tenth": replace(_RUNNING, rescale=False)}
_SETS: dict[str, tuple[Any, Any, int]] = {
    "dsprites": (DSprites(), RandomSplit(0.9), 16_200),
    "celeba": (CelebA(), RandomSplit(0.9), 142_000),
    "digits": (MNIST(), RowRange(0, 54_000), 10_500),
    "chairs": (Chairs3D(models="809", masks=True), ChosenValues("identity", fraction=0.8), 60_000),
    "grid": (ShadedFaces(num_identities=809, num_azimuths=31, num_elevations=2, num_lightings=1), ChosenValues("identity", fraction=0.8), 60_000),
    "faces": (AttributeFaces(), RowRange(0, 18_000), 14_000),
    "traits": (AttributeFaces(attributes="continuous"), RowRange(0, 18_000), 14_000),
}
"""Images, the subset that is trained on, and the number of steps, 50 epochs."""
LAPTOP = Reduction(
    {
        DSprites: {"resolution": 32, "num_scales": 4, "num_orientations": 4, "num_positions": 8},
        MNIST: {"split": "test"},
        ShadedFaces: {"resolution": 32, "num_identities": 40, "num_azimuths": 15},
        AttributeFaces: {"resolution": 32, "num_people": 400},
    },
    {Objective: 3_000},
    width=0.25,
    nets={MLP: Conv((8, 8, 16, 16), hidden=64)},
    spec={"precision": "float32", "batch_size": 64},
    learning_rate=1e-3,
)


def spec(data: str, scale: Scale, label: str, *, num_steps: int = 0) -> RunSpec:
    """Returns what a label trains: "VAE", "beta-VAE 4", "DIP-VAE 10, running covariance"."""
    family, weight = family_and_weight(label.partition(", ")[0])
    control, (dataset, subset, steps) = label.rpartition(", ")[2], _SETS[data]
    net: Any = {"dsprites": MLP(), "digits": EsmaeiliMNIST()}.get(data, Conv(hidden=256))
    is_small, is_counted = data in ("dsprites", "digits"), data in ("dsprites", "digits", "chairs", "grid")
    likelihood: Any = BernoulliLikelihood() if is_counted else GaussianLikelihood()
    return RunSpec(
        dataset,
        Autoencoder(net, latents=GaussianLatents(10 if is_small else 32), likelihood=likelihood),
        _CONTROLS.get(control, _OBJECTIVES[family](weight)),
        num_steps=num_steps if data == "celeba" and num_steps else steps,
        batch_size={"dsprites": 2048, "digits": 512}.get(data, 64),
        optimizer=Adagrad(1e-2) if control == "Adagrad" else Adam(1e-3 if is_small else 1e-4),
        precision="bf16",
        subset=subset,
    )


def _above_the_vae(scores: Scores) -> Scores:
    """Adds in how many attributes the vectors of a DIP-VAE are right more often than those of the VAE of its seed."""
    ours, theirs = scores.get(DIP, {}), scores.get("VAE", {})
    names = [m for m in ours if m.startswith(f"{VECTORS}:") and not m.endswith(":majority") and " | " not in m]
    seeds = set.intersection(*(set(ours[m]) & set(theirs.get(m, {})) for m in names)) if names else set()
    return {DIP: {"attributes above the VAE": {s: float(sum(ours[m][s] > theirs[m][s] for m in names)) for s in sorted(seeds)}}}


_BETWEEN = " and "


def compute_correlations(label: str, seed: int) -> dict[str, float]:
    """Returns the correlation of each two labels, and the largest of them in size."""
    dataset: Any = CelebA() if label == _FACES else DSprites()
    names = [factor.name for factor in dataset.factors]
    values = dataset.open().values if label == _FACES else torch.cartesian_prod(*(torch.arange(f.size) for f in dataset.factors))
    if label == _TENTH:
        values = values[RandomSplit(0.9, seed, "test").rows(dataset.factors, values)]
    matrix = np.corrcoef(values.double().numpy(), rowvar=False)
    pairs = {f"{a}{_BETWEEN}{b}": float(matrix[i, j]) for i, a in enumerate(names) for j, b in enumerate(names) if i < j}
    return {"largest": max(map(abs, pairs.values())), **{f"correlation:{pair}": value for pair, value in pairs.items()}}


_WHOLE, _TENTH, _FACES = "2D Shapes, all images", "2D Shapes, a tenth", "CelebA, all faces"


def draw_correlations(scores: Any) -> Any:
    label = scores.settings[0]
    found = {number.of: number.value for number in scores.numbers if number.setting == label and number.of}
    names = list(dict.fromkeys(name for pair in found for name in pair.split(_BETWEEN)))
    matrix = np.eye(len(names))
    for pair, value in found.items():
        i, j = (names.index(name) for name in pair.split(_BETWEEN))
        matrix[i, j] = matrix[j, i] = value
    return figures.heat_map(matrix, names, names, ends=(-1.0, 1.0), label="correlation")


_TRAVERSALS = best_latents((f"{DIP} 10", "VAE", "beta-VAE 4"), 3.0)
CODE: dict[str, Code] = {
    "table2": Code(derive=_above_the_vae),
    "table3": Code(pictures=matrices()),
    "table4": Code(pictures=matrices()),
    "figure2": Code(pictures=bars(("Bangs", "Rosy_Cheeks"))),
    "table5": Code(pictures=_TRAVERSALS),
    "table6": Code(pictures=_TRAVERSALS),
    "figures3-8": Code(pictures=bars()),
    "figures9-12": Code(pictures=bars(("scale", "position_x", "position_y"))),
    "appendixB": Code(
        compute=compute_correlations,
        cases=lambda data: {_FACES: (0,)} if data == "celeba" else {_WHOLE: (0,), _TENTH: tuple(range(20))},
        reads=lambda data: (CelebA(),) if data == "celeba" else (),
        draw=draw_correlations,
    ),
}
