"""What is trained, for how long, and what is asked of it. Runs on 2D Shapes serve all items but those on faces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from unbraid.data import DSprites
from unbraid.data.dataset import FactorDataset
from unbraid.evaluation.scoring import Scoring
from unbraid.metrics import MIG, Correlations, TopAttributes, ZDiff
from unbraid.metrics.metric import Metric
from unbraid.model_scores import ModelScore, ReconstructionError
from unbraid.models import MLP, Autoencoder
from unbraid.objectives import DIPVAE, VAE, BetaVAE
from unbraid.objectives.objective import Objective
from unbraid.optimisers import Adam
from unbraid.papers.item import Choice, Scale
from unbraid.papers.work import TunedWork
from unbraid.precision import Precision
from unbraid.recipes import text_of
from unbraid.runs.spec import RunSpec
from unbraid.sampling import RandomSplit, Subset
from unbraid.studies.claims import Claim
from unbraid.studies.study import Setting, Study

VAE_, DIP = "VAE", "DIP-VAE"
WEIGHTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""The weights of the squared covariances that the paper tries."""

_FOLLOWED = ("scale", "position_x", "position_y")
_TOP = TopAttributes(attributes=_FOLLOWED, unordered="numbered")
_ALL, _LIVE = Correlations(unordered="numbered"), Correlations(min_std=0.05, unordered="numbered")

# Names of metrics, as studies call them.
ZDIFF, EXACT_MIG = text_of(ZDiff("svm")), text_of(MIG())
SQUARED, ABSOLUTE, NATS = (text_of(ReconstructionError(error)) for error in ("squared", "absolute", "cross_entropy"))
ALL_LATENTS, LIVE_LATENTS, TOP = text_of(_ALL), text_of(_LIVE), text_of(_TOP)

TABLE_METRICS: tuple[Metric | ModelScore, ...] = (
    ZDiff("svm"),
    MIG(),
    ReconstructionError(),
    ReconstructionError("absolute"),
    ReconstructionError("cross_entropy"),
)
# The same of every run, so that items which share runs find all their scores kept: codes are let go.
_METRICS = (*TABLE_METRICS, _ALL, _LIVE, _TOP)
TEST = Scoring(part="test")
_SPLIT = RandomSplit(0.9)
_SCORINGS = (TEST, Scoring(part="test", factors=("scale", "orientation", "position_x", "position_y")))


@final
@dataclass(frozen=True)
class Size:
    """Images, nets, length and seeds of one scale: `seeds` of the settings of tables, `seeds_of_grid` of all of figure
    1, `tuning_seeds` of the candidates among which a DIP-VAE is chosen.
    """

    dataset: FactorDataset
    model: Autoencoder
    num_steps: int
    batch_size: int
    betas: tuple[float, ...]
    weights: tuple[float, ...]
    seeds: tuple[int, ...]
    seeds_of_grid: tuple[int, ...]
    tuning_seeds: tuple[int, ...]
    precision: Precision = "bf16"
    rate: float = 1e-3
    metrics: tuple[Metric | ModelScore, ...] = _METRICS
    scorings: tuple[Scoring, ...] = _SCORINGS
    subset: Subset = _SPLIT


SIZES: Mapping[Scale, Size] = {
    "smoke": Size(
        dataset=DSprites(resolution=32, num_orientations=2, num_positions=4),
        model=Autoencoder(MLP((16,), (16,))),
        num_steps=4,
        batch_size=32,
        betas=(4.0, 60.0),
        weights=(1.0, 10.0),
        seeds=(0,),
        seeds_of_grid=(0,),
        tuning_seeds=(100,),
        precision="float32",
        scorings=(TEST,),
    ),
    "quick": Size(
        dataset=DSprites(),
        model=Autoencoder(MLP()),
        num_steps=16_200,
        batch_size=2048,
        betas=(2.0, 4.0, 8.0, 16.0, 60.0),
        weights=WEIGHTS,
        seeds=tuple(range(5)),
        seeds_of_grid=tuple(range(5)),
        tuning_seeds=(100, 101, 102),
    ),
    "paper": Size(
        dataset=DSprites(),
        model=Autoencoder(MLP()),
        num_steps=16_200,
        batch_size=2048,
        betas=(2.0, 4.0, 8.0, 16.0, 20.0, 25.0, 32.0, 60.0, 64.0, 100.0, 128.0, 200.0, 256.0),
        weights=WEIGHTS,
        seeds=tuple(range(20)),
        seeds_of_grid=tuple(range(5)),
        tuning_seeds=(100, 101, 102, 103, 104),
    ),
}

# Of one model of 16,200 steps on an H200, and of its scores, which processes compute meanwhile.
_SECONDS_OF_A_MODEL, _SECONDS_OF_COMPILING = 8.1 + 1.0, 150.0


def beta_vae(beta: float) -> str:
    """Returns what a beta-VAE of this weight is called."""
    return f"beta-VAE {beta:g}"


def dip_vae(weight: float) -> str:
    """Returns what a DIP-VAE with this weight of the squared covariances is called."""
    return f"DIP-VAE {weight:g}"


def setting(size: Size, label: str, seeds: Sequence[int]) -> Setting:
    """Returns a setting by its label, "VAE" or a family and its weight."""
    family, _, strength = label.partition(" ")
    objectives: Mapping[str, Objective] = {
        VAE_: VAE(),
        "beta-VAE": BetaVAE(beta=float(strength or 1)),
        DIP: DIPVAE(kind="i", off_diagonal=float(strength or 1)),
    }
    return Setting(label, _spec(size, objectives[family]), tuple(seeds), family)


def tuned_work(name: str, size: Size, labels: Sequence[str], claims: Sequence[Claim]) -> TunedWork:
    """Returns a study of these settings and of the DIP-VAE with the best Z-diff on seeds of its own."""
    candidates = [setting(size, dip_vae(weight), size.tuning_seeds) for weight in size.weights]
    return TunedWork(
        study=study(name, size, [setting(size, label, size.seeds) for label in labels]),
        chosen=DIP,
        candidates=tuple(candidates),
        seeds=size.seeds,
        metric=ZDIFF,
        claims=tuple(claims),
    )


def study(
    name: str, size: Size, settings: Sequence[Setting], claims: Sequence[Claim] = (), *, best_by: str | None = None
) -> Study:
    """Returns a study of these settings, on the images that were held out. With `best_by`, a metric, it keeps the best
    model of each setting, to be looked at.
    """
    return Study(
        name=f"kumar2017-{name}",
        settings=tuple(settings),
        metrics=size.metrics,
        scorings=size.scorings,
        keep="scores" if best_by is None else "best",
        best_by=best_by or EXACT_MIG,
        claims=tuple(claims),
    )


def num_of_table(size: Size, num_settings: int) -> int:
    """Returns how many models a table of so many settings takes, of which one is chosen."""
    return num_settings * len(size.seeds) + len(size.weights) * len(size.tuning_seeds)


def num_of_grid(size: Size) -> int:
    """Returns how many models the whole grid takes."""
    return (1 + len(size.betas) + len(size.weights)) * len(size.seeds_of_grid)


def seconds(num_models: int, of_one: float = _SECONDS_OF_A_MODEL) -> float:
    """Returns about how long so many models take on one H200."""
    return round(num_models * of_one + _SECONDS_OF_COMPILING)


def _spec(size: Size, objective: Objective) -> RunSpec:
    return RunSpec(
        dataset=size.dataset,
        model=size.model,
        objective=objective,
        num_steps=size.num_steps,
        batch_size=size.batch_size,
        optimiser=Adam(size.rate),
        precision=size.precision,
        subset=size.subset,
    )


SHARED_CHOICES = (
    Choice("nets, latents", "the CNN of Higgins et al.", "MLP(), 10 latents: Higgins et al. have no CNN on 2D Shapes"),
    Choice("optimiser, batch, steps", "not stated", "Adam 1e-3, 2048, 50 epochs (16,200 steps)"),
    Choice("split", "not stated for 2D Shapes", "nine tenths at random; all scores are of the other tenth"),
    Choice("covariance", "a running estimate whose past is constant", "that of the batch of 2048"),
    Choice(
        "weights",
        "lambda_od 1, 2, 5, 10, 20, 50 and lambda_d = 10 lambda_od; beta 1 to 256",
        "the same, and beta 20 and 60, which tables and figures have though the grid lacks them",
    ),
    Choice(
        "which DIP-VAE",
        "the best by Z-diff; its weight is not stated",
        "the best median Z-diff on seeds of its own, then tested on others",
    ),
    Choice(
        "Z-diff",
        "linear SVM, one against the rest, hinge loss, C = 0.01, on means; pairs and points not stated",
        "64 pairs; 10,000 points to fit, 5,000 to test; five factors (four, without shape, are kept beside)",
    ),
    Choice("error per pixel", "norm not stated", "squared, absolute and in nats; ratios to the VAE decide"),
    Choice("seeds", "not stated", "5 at quick, 20 at paper (5 over the whole grid of figure 1)"),
    Choice("precision", "not stated", "bfloat16 products, weights in float32"),
)
"""What all experiments on 2D Shapes leave open."""
