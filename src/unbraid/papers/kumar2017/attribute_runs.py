"""The runs on images with attributes, which tables 2 and 4 and figures 2 to 8 share: CelebA, and its stand-ins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

from unbraid.data import MNIST, AttributeFaces, CelebA
from unbraid.data.dataset import FactorDataset
from unbraid.distributions import GaussianLatents, GaussianLikelihood
from unbraid.distributions.likelihoods.likelihood import BernoulliLikelihood, Likelihood
from unbraid.evaluation.scoring import Scoring
from unbraid.metrics import AttributeVector, Correlations, TopAttributes, ZDiff
from unbraid.model_scores import ReconstructionError
from unbraid.models import Autoencoder, Conv, EsmaeiliMNIST
from unbraid.models.architecture import Architecture
from unbraid.objectives import DIPVAE, VAE, BetaVAE
from unbraid.objectives.objective import Objective
from unbraid.optimisers import Adam
from unbraid.papers.item import Choice, Scale
from unbraid.papers.kumar2017.runs import DIP, VAE_, WEIGHTS, beta_vae, dip_vae
from unbraid.papers.work import TunedWork
from unbraid.recipes import text_of
from unbraid.runs.spec import RunSpec
from unbraid.sampling import RandomSplit, RowRange, Subset
from unbraid.studies.claims import Claim
from unbraid.studies.study import Setting, Study

Images = Literal["celeba", "faces", "digits"]

TWELVE = (
    "Arched_Eyebrows",
    "Attractive",
    "Bangs",
    "Black_Hair",
    "Blond_Hair",
    "Heavy_Makeup",
    "Male",
    "Mouth_Slightly_Open",
    "No_Beard",
    "Wavy_Hair",
    "Wearing_Hat",
    "Wearing_Lipstick",
)
"""The attributes of table 2: those that change most from model to model."""
SHOWN_IN_FIGURE_2 = ("Bangs", "Rosy_Cheeks")

# As many images as there are.
_VECTORS = AttributeVector(num_train=10**7, num_test=10**7)
_ALL, _LIVE, _TOP = Correlations(), Correlations(min_std=0.05), TopAttributes()
_TWO = TopAttributes(attributes=SHOWN_IN_FIGURE_2)
_METRICS = (_VECTORS, _ALL, _LIVE, _TOP, ReconstructionError())

# Names of metrics, as studies call them.
VECTORS, ERROR = text_of(_VECTORS), text_of(ReconstructionError())
ALL_LATENTS, LIVE_LATENTS, TOP, TOP_OF_TWO = text_of(_ALL), text_of(_LIVE), text_of(_TOP), text_of(_TWO)

LABELS = (VAE_, beta_vae(2), beta_vae(4), beta_vae(8))
"""The settings of table 2 beside DIP-VAE, in their order."""
SCALES: tuple[Scale, ...] = ("smoke", "quick", "paper")

_SEEDS: Mapping[Scale, int] = {"smoke": 1, "quick": 5, "paper": 20}
_CANDIDATES: Mapping[Scale, tuple[float, ...]] = {"smoke": (1.0, 10.0), "quick": (1.0, 5.0, 20.0), "paper": WEIGHTS}
_TUNING_SEEDS: Mapping[Scale, tuple[int, ...]] = {"smoke": (100,), "quick": (100, 101), "paper": (100, 101, 102)}
_SMALL_CONV = Conv((8, 8, 16, 16), hidden=16)
_SECONDS_OF_COMPILING = 150.0


@final
@dataclass(frozen=True)
class _Kind:
    """What is trained on which images, and what is asked: `fitted` is the scoring of attribute vectors."""

    dataset: FactorDataset
    subset: Subset
    net: Architecture
    num_latents: int
    likelihood: Likelihood
    num_steps: int
    batch_size: int
    learning_rate: float
    fitted: Scoring
    seconds_of_a_model: float


_FIT, TEST = Scoring(part="test", fit="train"), Scoring(part="test")
_TWELVE_FITTED = Scoring(part="test", fit="train", factors=TWELVE)
_DIGITS_FITTED = Scoring(part="test", fit="train", one_vs_rest=("digit",))

_KINDS: Mapping[Images, _Kind] = {
    "celeba": _Kind(
        dataset=CelebA(),
        subset=RandomSplit(0.9),
        net=Conv(hidden=256),
        num_latents=32,
        likelihood=GaussianLikelihood(),
        num_steps=142_000,
        batch_size=64,
        learning_rate=1e-4,
        fitted=_TWELVE_FITTED,
        seconds_of_a_model=16.0,
    ),
    "faces": _Kind(
        dataset=AttributeFaces(),
        subset=RowRange(0, 18_000),
        net=Conv(hidden=256),
        num_latents=32,
        likelihood=GaussianLikelihood(),
        num_steps=14_000,
        batch_size=64,
        learning_rate=1e-4,
        fitted=_FIT,
        seconds_of_a_model=2.5,
    ),
    "digits": _Kind(
        dataset=MNIST(),
        subset=RowRange(0, 54_000),
        net=EsmaeiliMNIST(),
        num_latents=10,
        likelihood=BernoulliLikelihood(),
        num_steps=10_500,
        batch_size=512,
        learning_rate=1e-3,
        fitted=_DIGITS_FITTED,
        seconds_of_a_model=1.5,
    ),
}
_SMALL: Mapping[Images, tuple[FactorDataset, Subset, Architecture]] = {
    "celeba": (CelebA(), RandomSplit(0.9), _SMALL_CONV),
    "faces": (AttributeFaces(num_people=24, poses_per_person=3, resolution=32), RowRange(0, 36), _SMALL_CONV),
    "digits": (MNIST(), RowRange(0, 54_000), EsmaeiliMNIST((32,), 16, (16, 32))),
}


def work(
    name: str,
    images: Images,
    scale: Scale,
    claims: Sequence[Claim],
    *,
    fitted: bool = False,
    labels: Sequence[str] = LABELS,
) -> Callable[[], TunedWork]:
    """Returns what is done at a scale: these settings, and the DIP-VAE with the best Z-diff on seeds of its own. With
    `fitted`, claims are about attribute vectors, fitted on the images trained on; all else is of held-out images.
    """

    def made() -> TunedWork:
        seeds = tuple(range(_SEEDS[scale]))
        candidates = [_setting(images, scale, dip_vae(weight), _TUNING_SEEDS[scale]) for weight in _CANDIDATES[scale]]
        chosen_by = ZDiff("svm", pairs_per_point=4, num_train=100, num_test=50) if scale == "smoke" else ZDiff("svm")
        scorings = [_KINDS[images].fitted, TEST]
        if scale == "smoke" and images == "digits":
            scorings = [replace(scoring, fraction=0.02) for scoring in scorings]
        return TunedWork(
            study=Study(
                name=f"kumar2017-{name}",
                settings=tuple(_setting(images, scale, label, seeds) for label in labels),
                metrics=(*_METRICS, chosen_by, *([_TWO] if images == "celeba" else [])),
                # Both of every run, whichever an item reads: items share runs, and codes are let go.
                scorings=tuple(scorings if fitted else scorings[::-1]),
                keep="scores",
            ),
            chosen=DIP,
            candidates=tuple(candidates),
            seeds=seeds,
            metric=text_of(chosen_by),
            claims=tuple(claims),
        )

    return made


def seconds(images: Images, num_labels: int = len(LABELS)) -> dict[Scale, float]:
    """Returns about how long each scale takes on one H200."""
    found: dict[Scale, float] = {}
    for scale in SCALES[1:]:
        num_models = (num_labels + 1) * _SEEDS[scale] + len(_CANDIDATES[scale]) * len(_TUNING_SEEDS[scale])
        found[scale] = round(num_models * _KINDS[images].seconds_of_a_model + _SECONDS_OF_COMPILING)
    return found


def _setting(images: Images, scale: Scale, label: str, seeds: Sequence[int]) -> Setting:
    family, _, strength = label.partition(" ")
    objectives: Mapping[str, Objective] = {
        VAE_: VAE(),
        "beta-VAE": BetaVAE(beta=float(strength or 1)),
        DIP: DIPVAE(kind="i", off_diagonal=float(strength or 1)),
    }
    return Setting(label, _spec(images, scale, objectives[family]), tuple(seeds), family)


def _spec(images: Images, scale: Scale, objective: Objective) -> RunSpec:
    kind, is_small = _KINDS[images], scale == "smoke"
    dataset, subset, net = _SMALL[images] if is_small else (kind.dataset, kind.subset, kind.net)
    return RunSpec(
        dataset=dataset,
        model=Autoencoder(net, latents=GaussianLatents(kind.num_latents), likelihood=kind.likelihood),
        objective=objective,
        num_steps=4 if is_small else kind.num_steps,
        batch_size=16 if is_small else kind.batch_size,
        optimiser=Adam(kind.learning_rate),
        precision="float32" if is_small else "bf16",
        subset=subset,
    )


SHARED_CHOICES = (
    Choice("nets, latents", "the CNN of Higgins et al.", "Conv(hidden=256), 32 latents, Gaussian likelihood"),
    Choice("optimiser, batch, steps", "not stated", "Adam 1e-4, 64, 50 epochs (142,000 steps)"),
    Choice("split", "90 % and 10 %, which is not stated", "nine tenths at random; scores are of the other tenth"),
    Choice("weights", "lambda_od 1, 2, 5, 10, 20, 50; lambda_d = 10 lambda_od", "1, 5, 20 at quick; all at paper"),
    Choice(
        "which DIP-VAE",
        "the best by Z-diff; its weight is not stated",
        "the best median Z-diff on seeds of its own, over the attributes of the item, then tested on others",
    ),
    Choice("seeds", "not stated", "5 at quick, 20 at paper"),
)
"""What all experiments on CelebA leave open."""
STAND_IN_CHOICES = (
    Choice("images", "CelebA", "2,000 drawn people, ten random poses each; the last 200 people are held out"),
    Choice("attributes", "40, chosen by people", "25 traits of the drawn heads, above or below the median"),
    *SHARED_CHOICES[3:],
    Choice("nets, steps", "the CNN of Higgins et al.", "Conv(hidden=256), 32 latents; 14,000 steps of 64 images"),
)
