"""Code of kumar2017.toml: Kumar et al. 2017, DIP-VAE, in its first version on arXiv."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from reproductions import figure
from reproductions.code.correlation_pictures import bars, matrices
from reproductions.item import Code, Experiment, Scale, Scores, Tuned
from reproductions.pictures import best_latents
from unbraid import MLP, Autoencoder, Conv, DSprites, RunSpec, Scoring, figures
from unbraid.config import text_of
from unbraid.datasets import MNIST, AttributeFaces, CelebA, Chairs3D, ShadedFaces
from unbraid.datasets.subsets import ChosenValues, RandomSplit, RowRange
from unbraid.metrics import MIG, AttributeVector, Correlations, TopAttributes, ZDiff
from unbraid.metrics.model import ReconstructionError
from unbraid.models import EsmaeiliMNIST
from unbraid.models.distributions import BernoulliLikelihood, GaussianLatents, GaussianLikelihood
from unbraid.objectives import DIPVAE, VAE, BetaVAE
from unbraid.studies import Claim, Setting, best_of, difference, ratio, share, trend
from unbraid.training.optimizers import Adagrad, Adam

DIP, WEIGHTS = "DIP-VAE", (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_TWELVE = "Arched_Eyebrows Attractive Bangs Black_Hair Blond_Hair Heavy_Makeup Male Mouth_Slightly_Open No_Beard Wavy_Hair"
TWELVE = (*_TWELVE.split(), "Wearing_Hat", "Wearing_Lipstick")
_FACTORS = ("shape", "scale", "orientation", "position_x", "position_y")
_TABLE = (ZDiff("svm"), MIG(), *(ReconstructionError(norm) for norm in ("squared", "absolute", "cross_entropy")))
ZDIFF, EXACT_MIG, SQUARED, ABSOLUTE, NATS = map(text_of, _TABLE)
_OF_SHAPES = (
    Correlations(unordered="numbered"),
    Correlations(min_std=0.05, unordered="numbered"),
    TopAttributes(attributes=("scale", "position_x", "position_y"), unordered="numbered"),
)
_VECTORS = AttributeVector(num_train=10**7, num_test=10**7)
_OF_FACES = (_VECTORS, Correlations(), Correlations(min_std=0.05), TopAttributes(), ReconstructionError())
VECTORS, ALL, LIVE, TOP, _ = map(text_of, _OF_FACES)
ALL_SHAPES, LIVE_SHAPES, TOP_SHAPES = map(text_of, _OF_SHAPES)
_TWO = TopAttributes(attributes=("Bangs", "Rosy_Cheeks"))
TEST = Scoring(part="test")
_LIKELIHOOD = {"digits": BernoulliLikelihood(), "chairs": BernoulliLikelihood(), "grid": BernoulliLikelihood()}


def _images(data: str, *, tiny: bool) -> tuple[Any, Any, int]:
    """Returns images, the subset that is trained on, and the number of steps, 50 epochs."""
    if data == "dsprites":
        return (DSprites(resolution=32, num_orientations=2, num_positions=4) if tiny else DSprites(), RandomSplit(0.9), 16_200)
    if data == "celeba":
        return CelebA(), RandomSplit(0.9), 142_000
    if data == "digits":
        return MNIST(), RowRange(0, 54_000), 10_500
    if data == "chairs":
        return Chairs3D(models="809", masks=True), ChosenValues("identity", fraction=0.8), 60_000
    if data == "grid":
        sizes = {"num_identities": 10, "num_azimuths": 4, "resolution": 32} if tiny else {"num_identities": 809, "num_azimuths": 31}
        return ShadedFaces(**sizes, num_elevations=2, num_lightings=1), ChosenValues("identity", fraction=0.8), 60_000
    kind = {"attributes": "continuous"} if data == "traits" else {}
    few = {"num_people": 24, "poses_per_person": 3, "resolution": 32}
    return AttributeFaces(**(few if tiny else {}), **kind), RowRange(0, 36 if tiny else 18_000), 14_000


def _spec(data: str, scale: Scale, label: str, num_steps: int = 0) -> RunSpec:
    """Returns what a label trains: "VAE", "beta-VAE 4", "DIP-VAE 10"."""
    tiny, (family, _, weight) = scale == "smoke", label.partition(", ")[0].partition(" ")
    dataset, subset, steps = _images(data, tiny=tiny)
    objectives = {"beta-VAE": BetaVAE(float(weight or 1)), DIP: DIPVAE(kind="i", off_diagonal=float(weight or 1))}
    net: Any = Conv((4, 4, 4, 4), 8) if tiny else Conv(hidden=256)
    num_latents = 4 if tiny else 32
    if data in ("dsprites", "digits"):
        small: Any = MLP((16,), (16,)) if data == "dsprites" else EsmaeiliMNIST((32,), 16, (16, 32))
        net, num_latents = small if tiny else MLP() if data == "dsprites" else EsmaeiliMNIST(), 10
    likelihood = _LIKELIHOOD.get(data, BernoulliLikelihood() if data == "dsprites" else GaussianLikelihood())
    return RunSpec(
        dataset,
        Autoencoder(net, latents=GaussianLatents(num_latents), likelihood=likelihood),
        objectives.get(family, VAE()),
        num_steps=4 if tiny else num_steps or steps,
        batch_size=16 if tiny else {"dsprites": 2048, "digits": 512}.get(data, 64),
        optimizer=Adam(1e-3 if data in ("dsprites", "digits") else 1e-4),
        precision="float32" if tiny else "bf16",
        subset=subset,
    )


def _setting(data: str, scale: Scale, label: str, seeds: Sequence[int], num_steps: int = 0) -> Setting:
    return Setting(label, _spec(data, scale, label, num_steps), tuple(seeds), label.partition(" ")[0])


def _seeds(scale: Scale, quick: int = 5, paper: int = 20) -> range:
    return range({"smoke": 1, "quick": quick, "paper": paper}[scale])


def _tuned(data: str, scale: Scale, labels: Sequence[str], study: dict[str, Any], chosen_by: str = ZDIFF, *, faces: bool = False) -> Experiment:
    """Returns these settings and the DIP-VAE with the best Z-diff on separate seeds."""
    tiny, seeds = scale == "smoke", _seeds(scale)
    weights = (1.0, 10.0) if tiny else (1.0, 5.0, 20.0) if faces and scale == "quick" else WEIGHTS
    tuning = (100,) if tiny else (100, 101) if data != "dsprites" and scale == "quick" else (100, 101, 102)
    candidates = tuple(_setting(data, scale, f"{DIP} {weight:g}", tuning) for weight in weights)
    settings = tuple(_setting(data, scale, label, seeds) for label in labels)
    return Experiment(settings, {"keep": "scores", **study}, Tuned(DIP, candidates, tuple(seeds), chosen_by))


def _shapes(labels: Sequence[str]) -> Callable[[str, Scale], Experiment]:
    four = Scoring(part="test", factors=("scale", "orientation", "position_x", "position_y"))

    def experiment(data: str, scale: Scale) -> Experiment:
        metrics = (*_TABLE, *_OF_SHAPES) if data == "dsprites" else _TABLE
        scorings = (TEST, four) if data == "dsprites" and scale != "smoke" else (TEST,)
        return _tuned(data, scale, labels, {"metrics": metrics, "scorings": scorings})

    return experiment


def _attributes(*labels: str, fitted: bool = False) -> Callable[[str, Scale], Experiment]:
    """Returns what is asked of attributes; `fitted`: attribute vectors fitted on the images trained on come first."""

    def experiment(data: str, scale: Scale) -> Experiment:
        fit = Scoring(part="test", fit="train")
        if data == "celeba":
            fit = replace(fit, factors=TWELVE)
        if data == "digits":
            fit = replace(fit, one_vs_rest=("digit",))
        scorings = (fit, TEST) if fitted else (TEST, fit)
        if data == "digits" and scale == "smoke":
            scorings = tuple(replace(each, fraction=0.02) for each in scorings)
        chosen_by = ZDiff("svm", pairs_per_point=4, num_train=100, num_test=50) if scale == "smoke" else ZDiff("svm")
        metrics = (*_OF_FACES, chosen_by, *((_TWO,) if data == "celeba" else ()))
        study = {"metrics": metrics, "scorings": scorings}
        return _tuned(data, scale, labels or _LABELS, study, text_of(chosen_by), faces=True)

    return experiment


_LABELS = ("VAE", "beta-VAE 2", "beta-VAE 4", "beta-VAE 8")


def _grid_labels(data: str, scale: Scale) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the beta-VAEs and the DIP-VAEs of the grid."""
    betas: tuple[int, ...] = (2, 4, 8, 16, 60 if data == "dsprites" else 64)
    weights = (1.0, 10.0) if scale == "smoke" else WEIGHTS
    if data in ("chairs", "grid"):
        betas, weights = (2, 4, 8, 16, 32), (10.0,) if scale == "smoke" else WEIGHTS
    if scale == "smoke":
        betas = (4,) if data in ("chairs", "grid") else (4, 60) if data == "dsprites" else (4, 8)
    if scale == "paper":
        betas = (2, 4, 8, 16, *((20, 25, 32, 60, 64) if data == "dsprites" else (25, 32, 64)), 100, 128, 200, 256)
    return tuple(f"beta-VAE {beta}" for beta in betas), tuple(f"{DIP} {weight:g}" for weight in weights)


def _grid(data: str, scale: Scale) -> Experiment:
    seeds = _seeds(scale, *((5, 5) if data == "dsprites" else (3, 3) if data in ("celeba", "faces") else (3, 5)))
    labels = ("VAE", *(label for each in _grid_labels(data, scale) for label in each))
    study = {"metrics": (*_TABLE, *(_OF_SHAPES if data == "dsprites" else ())), "scorings": (TEST,)}
    study |= {"keep": "best", "best_by": EXACT_MIG} if data in ("chairs", "grid") else {"keep": "scores"}
    return Experiment(tuple(_setting(data, scale, label, seeds) for label in labels), study)


def _three(asked: Mapping[str, TopAttributes]) -> Callable[[str, Scale], Experiment]:
    """Returns DIP-VAE 10, VAE and beta-VAE 4, of which the best models are shown."""

    def experiment(data: str, scale: Scale) -> Experiment:
        metrics = (asked[data], ReconstructionError()) if data in asked else _TABLE
        study = {"metrics": metrics, "scorings": (TEST,), "keep": "best", "best_by": text_of(metrics[0]) if asked else EXACT_MIG}
        steps = 100_000 if data == "celeba" else 0
        return Experiment(tuple(_setting(data, scale, label, _seeds(scale), steps) for label in _SHOWN), study)

    return experiment


_SHOWN = (f"{DIP} 10", "VAE", "beta-VAE 4")
_ASKED = {
    "celeba": TopAttributes(min_std=0.05, attributes=("Smiling", "Black_Hair", "Blond_Hair")),
    "traits": TopAttributes(min_std=0.05, attributes=("mouth_width", "azimuth", "hair_shade")),
}


def _controls(data: str, scale: Scale) -> Experiment:
    """Returns the models of table 1, the same with Adagrad, and DIP-VAEs with a running covariance."""
    plain = [_setting(data, scale, label, _seeds(scale)) for label in _CONTROLLED]
    adagrad = [replace(each, label=f"{each.label}, Adagrad", spec=replace(each.spec, optimizer=Adagrad(1e-2))) for each in plain]
    running = DIPVAE(kind="i", off_diagonal=10.0, mode="moments", decay=0.9, rescale=True)
    objectives = {_RUNNING: running, f"{_RUNNING}, gradient of a tenth": replace(running, rescale=False)}
    others = [replace(plain[-1], label=label, spec=replace(plain[-1].spec, objective=each)) for label, each in objectives.items()]
    study = {"metrics": (*_TABLE, *_OF_SHAPES), "scorings": (TEST,), "keep": "scores"}
    return Experiment((*plain, *adagrad, *others), study)


_CONTROLLED = ("VAE", "beta-VAE 4", "beta-VAE 60", f"{DIP} 10")
_RUNNING = f"{DIP} 10, running covariance"


def _grid_claims(data: str, scale: Scale) -> list[Claim]:
    betas, weights = _grid_labels(data, scale)
    ours, claims = best_of(weights, by=ZDIFF), []
    for beta in betas:
        text = f"The DIP-VAE with the best Z-diff has a higher one than {beta}"
        claims.append(Claim(f"{text}.", difference(ZDIFF, ours, beta), above=0.0, central=True))
        claims.append(Claim(f"It errs no more than {beta}, within a tenth.", ratio(SQUARED, ours, beta), below=1.1))
    strongest = Claim("The strongest DIP-VAE errs at most 1.5 times as much as the VAE.", ratio(SQUARED, weights[-1], "VAE"), below=1.5)
    return [*claims, Claim("The error of a beta-VAE grows with beta.", trend(SQUARED, ("VAE", *betas)), above=0.0, central=True), strongest]


def _above_the_vae(scores: Scores) -> Scores:
    """Adds in how many attributes the vectors of a DIP-VAE are right more often than those of the VAE of its seed."""
    ours, theirs = scores.get(DIP, {}), scores.get("VAE", {})
    names = [m for m in ours if m.startswith(f"{VECTORS}:") and not m.endswith(":majority") and " | " not in m]
    seeds = set.intersection(*(set(ours[m]) & set(theirs.get(m, {})) for m in names)) if names else set()
    return {DIP: {"attributes above the VAE": {s: float(sum(ours[m][s] > theirs[m][s] for m in names)) for s in sorted(seeds)}}}


def _saturated(data: str, scale: Scale) -> list[Claim]:
    labels = ("VAE", *(label for each in _grid_labels(data, scale) for label in each))
    return [Claim("Z-diff is 98 % or more in more than four of five models.", share(ZDIFF, labels, at_least=0.98), above=0.8, central=True)]


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


def correlations_experiment(data: str, scale: Scale) -> Experiment:
    cases = {_FACES: (0,)} if data == "celeba" else {_WHOLE: (0,), _TENTH: tuple(range(2 if scale == "smoke" else 20))}
    return Experiment(compute=compute_correlations, cases=cases, reads=(CelebA(),) if data == "celeba" else ())


def _draw_paths(scores: Any) -> Any:
    table = figure.rows_of(scores, [SQUARED, ZDIFF])
    return figures.median_paths(table, SQUARED, ZDIFF, labels=("squared error per pixel", "Z-diff (SVM)"))


_ORDERED = (*_LABELS, "beta-VAE 64", DIP)
_STRIPS = functools.partial(figure.per_metric, "strip")
_TABLE1 = {"Z-diff (SVM) ↑": ZDIFF, "MIG of the same models ↑": EXACT_MIG}
_AB = _STRIPS({"mean |correlation|, all ↓": ALL, "mean |correlation|, in use ↓": LIVE}, (*_LABELS, DIP))
_AB_SHAPES = _STRIPS({"mean |correlation|, all ↓": ALL_SHAPES, "mean |correlation|, in use ↓": LIVE_SHAPES})
_TRAVERSALS = best_latents(_SHOWN, 3.0)


def _followed(metric: str) -> Any:
    return _STRIPS({"|correlation| with the attribute ↑": metric, "less the largest other ↑": f"{metric}:margin"}, _ORDERED)


CODE: dict[str, Code] = {
    "table1": Code(_shapes(("VAE", "beta-VAE 4", "beta-VAE 60")), draw=_STRIPS(_TABLE1)),
    "table1-controls": Code(_controls, draw=_STRIPS({"Z-diff ↑": ZDIFF, "squared error ↓": SQUARED})),
    "table1-celeba": Code(_shapes(("VAE", "beta-VAE 4", "beta-VAE 8")), draw=_STRIPS(_TABLE1)),
    "figure1": Code(_grid, _grid_claims, draw=_draw_paths),
    "table2": Code(
        _attributes(fitted=True),
        derive=_above_the_vae,
        draw=_STRIPS({"mean accuracy ↑": VECTORS, "squared error per pixel ↓": SQUARED}, (*_LABELS, DIP)),
    ),
    "table3": Code(
        _shapes(("VAE", "beta-VAE 4", "beta-VAE 20")), draw=_AB_SHAPES, pictures=matrices(("VAE", "beta-VAE 4", "beta-VAE 20", DIP), _FACTORS)
    ),
    "table4": Code(_attributes(), draw=_AB, pictures=matrices((*_LABELS, DIP))),
    "figure2": Code(_attributes(), draw=_followed(text_of(_TWO)), pictures=bars((*_LABELS, DIP), ("Bangs", "Rosy_Cheeks"))),
    "table5": Code(
        _three(_ASKED),
        draw=_STRIPS({"follows (CelebA) ↑": text_of(_ASKED["celeba"]), "follows (drawn) ↑": text_of(_ASKED["traits"]), "error ↓": SQUARED}),
        pictures=_TRAVERSALS,
    ),
    "text-chairs": Code(_grid, _saturated, draw=_STRIPS(_TABLE1, height=3.4)),
    "table6": Code(
        _three({}), draw=_STRIPS({"MIG of azimuth ↑": f"{EXACT_MIG}:azimuth", "squared error per pixel ↓": SQUARED}), pictures=_TRAVERSALS
    ),
    "figures3-8": Code(_attributes(*_LABELS, "beta-VAE 64"), draw=_followed(TOP), pictures=bars(_ORDERED)),
    "figures9-12": Code(
        _shapes(("VAE", "beta-VAE 4", "beta-VAE 20")),
        draw=figure.medians({n: f"{TOP_SHAPES}:{n}" for n in (*_FACTORS, "runner_up")}, ("VAE", "beta-VAE 4", "beta-VAE 20", DIP)),
        pictures=bars(("VAE", "beta-VAE 4", "beta-VAE 20", DIP), ("scale", "position_x", "position_y")),
    ),
    "appendixB": Code(correlations_experiment, draw=draw_correlations),
}
