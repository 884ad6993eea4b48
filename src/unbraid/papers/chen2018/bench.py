"""What the experiments of the paper share: images, nets, lengths and what is asked of every run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from unbraid.data import BaselFaces, DSprites, ShadedFaces
from unbraid.data.dataset import FactorDataset
from unbraid.distributions import GaussianLatents, UniformPrior
from unbraid.distributions.posteriors.latents import Latents
from unbraid.evaluation import Scoring
from unbraid.models import MLP, Autoencoder, ChenConv, Critic, InfoGANConv
from unbraid.models.architecture import Architecture
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, FactorVAE, InfoGAN
from unbraid.objectives.objective import Objective
from unbraid.optimisers import Adam
from unbraid.papers.item import Choice, Scale
from unbraid.precision import Precision
from unbraid.runs.spec import RunSpec
from unbraid.schedule import Linear
from unbraid.studies.claims import Claim, OnlyIf
from unbraid.studies.study import Setting, Study

MIG, ELBO, TOTAL_CORRELATION = "mig", "elbo", "elbo-decomposition"
INFORMATION, LEAST_INFORMATION = f"{TOTAL_CORRELATION}:mutual_information", 2.0
"""What an InfoGAN's codes say of the image, and how many nats at least if it has learned."""
METRICS = (MIG, ELBO, "rate", "distortion", TOTAL_CORRELATION)
"""Of every run, so that items which share a run find all that they ask for among its kept scores."""
NUM_LATENTS, NUM_CODES, NUM_NOISE = 10, 5, 5
MEMBERS_PER_FLEET = 24
"""Divides the sweeps into fleets of one size, which are compiled once; convolutions at batch 2048 take much memory."""


@final
@dataclass(frozen=True)
class Bench:
    """Images, nets and lengths, at one scale. `generator` is the net of InfoGAN, which is trained for
    `generator_steps`; FactorVAE takes twice `num_steps`, as in the paper.
    """

    dataset: FactorDataset
    factors: tuple[str, ...]
    net: Architecture
    num_steps: int
    batch_size: int
    betas: tuple[float, ...]
    gammas: tuple[float, ...]
    seeds: tuple[int, ...]
    tuning_seeds: tuple[int, ...]
    generator: Architecture
    generator_steps: int
    generator_batch: int = 64
    critic: Critic = field(default_factory=Critic)
    generator_critic: Critic = field(
        default_factory=lambda: Critic(hidden=(128,), optimiser=Adam(2e-4, betas=(0.5, 0.999)))
    )
    precision: Precision = "bf16"

    def spec(self, objective: Objective, latents: Latents | None = None) -> RunSpec:
        """Returns how a model with this objective is trained."""
        return RunSpec(
            self.dataset,
            Autoencoder(self.net, latents=latents or GaussianLatents(NUM_LATENTS)),
            objective,
            critic=self.critic if objective.critic_reads is not None else None,
            num_steps=2 * self.num_steps if isinstance(objective, FactorVAE) else self.num_steps,
            batch_size=self.batch_size,
            optimiser=Adam(1e-3),
            precision=self.precision,
        )

    def infogan(self) -> RunSpec:
        """Returns how InfoGAN is trained: with nets of its own, five codes and five noise inputs."""
        latents = GaussianLatents(NUM_CODES, prior=UniformPrior())
        return RunSpec(
            self.dataset,
            Autoencoder(self.generator, latents=latents, noise_inputs=NUM_NOISE),
            InfoGAN(weight=0.2, instance_noise=Linear(0.5, 0.1)),
            critic=self.generator_critic,
            num_steps=self.generator_steps,
            batch_size=self.generator_batch,
            optimiser=Adam(1e-3, betas=(0.5, 0.999)),
            precision=self.precision,
        )

    def setting(self, family: str, beta: float = 1.0, seeds: Sequence[int] = ()) -> Setting:
        """Returns a VAE (beta 1), a beta-VAE or a beta-TCVAE."""
        objectives: dict[str, Objective] = {"beta-VAE": BetaVAE(beta), "beta-TCVAE": BetaTCVAE(beta=beta)}
        objective = VAE() if beta == 1 else objectives[family]
        return Setting(label(family, beta), self.spec(objective), tuple(seeds) or self.seeds)

    def study(self, name: str, settings: Sequence[Setting], claims: Sequence[Claim] = ()) -> Study:
        """Returns the study of these settings, scored over the factors of the paper's table 2."""
        return Study(
            name=f"chen2018-{name}",
            settings=tuple(settings),
            metrics=METRICS,
            scorings=(Scoring(factors=self.factors),),
            keep="scores",
            members_per_fleet=MEMBERS_PER_FLEET,
            claims=tuple(claims),
        )


def label(family: str, beta: float = 1.0) -> str:
    """Returns what a setting is called; at beta 1 both families are the VAE."""
    return "VAE" if beta == 1 else f"{family} {beta:g}"


def if_learned(claim: Claim, infogan: str) -> Claim:
    """Returns a comparison with an InfoGAN, which is undecided if that has not learned."""
    return OnlyIf.told_by(claim, INFORMATION, infogan, LEAST_INFORMATION)


_FEW_BETAS, _ALL_BETAS = (1.0, 2.0, 4.0, 6.0, 8.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_FEW_GAMMAS, _ALL_GAMMAS = (1.0, 4.0, 9.0, 19.0, 39.0, 79.0), (1.0, 4.0, 9.0, 19.0, 39.0, 59.0, 79.0)
_SEEDS = {"smoke": 2, "quick": 8, "long": 20, "paper": 40}
_SPRITE_FACTORS = ("scale", "orientation", "position_x", "position_y")
_FACE_FACTORS = ("azimuth", "elevation", "lighting")


def sprites(scale: Scale) -> Bench:
    """Returns dSprites with the fully connected nets."""
    if scale == "smoke":
        few = DSprites(resolution=32, shapes=("square", "heart"), num_scales=2, num_orientations=2, num_positions=4)
        return _small(few, _SPRITE_FACTORS, MLP((16,), (16,)))
    return _full(DSprites(), _SPRITE_FACTORS, MLP(), 18_000, scale)


def shaded_faces(scale: Scale) -> Bench:
    """Returns the drawn faces that stand in for those of the paper, with its convolutional nets."""
    if scale == "smoke":
        few = ShadedFaces(num_identities=2, num_azimuths=3, num_elevations=2, num_lightings=2, resolution=32)
        return _small(few, _FACE_FACTORS, ChenConv((4, 4, 8, 8), hidden=16))
    return _full(ShadedFaces(), _FACE_FACTORS, ChenConv(), 3_100, scale)


def basel_faces(scale: Scale) -> Bench:
    """Returns the faces of the paper, which only the user can have, with its convolutional nets."""
    if scale == "smoke":
        return _small(BaselFaces(), _FACE_FACTORS, ChenConv((4, 4, 8, 8), hidden=16))
    return _full(BaselFaces(), _FACE_FACTORS, ChenConv(), 3_100, scale)


def _full(dataset: FactorDataset, factors: tuple[str, ...], net: Architecture, num_steps: int, scale: Scale) -> Bench:
    is_whole = scale == "paper"
    return Bench(
        dataset,
        factors,
        net,
        num_steps=num_steps,
        batch_size=2048,
        betas=_ALL_BETAS if is_whole else _FEW_BETAS,
        gammas=_ALL_GAMMAS if is_whole else _FEW_GAMMAS,
        seeds=tuple(range(_SEEDS[scale])),
        tuning_seeds=(1000, 1001),
        generator=InfoGANConv(channels=(16, 32, 64), hidden=256),
        generator_steps=100_000,
    )


def _small(dataset: FactorDataset, factors: tuple[str, ...], net: Architecture) -> Bench:
    tiny = Critic(hidden=(8,))
    return Bench(
        dataset,
        factors,
        net,
        num_steps=10,
        batch_size=12,
        betas=(1.0, 4.0, 6.0),
        gammas=(1.0, 9.0),
        seeds=(0, 1),
        tuning_seeds=(1000,),
        generator=InfoGANConv(channels=(4, 8), hidden=16, head=8),
        generator_steps=10,
        generator_batch=12,
        critic=tiny,
        generator_critic=tiny,
        precision="float32",
    )


_EPOCHS = "the authors' code: Adam 0.001, batch 2048, 50 epochs"
SPRITE_CHOICES = (
    Choice("images", "dSprites, shape is noise", "all 737,280; MIG over scale, orientation and both positions"),
    Choice("nets", '"fully connected"', "those of the authors' code: 1200 units, 10 latents, Bernoulli"),
    Choice("optimiser, batch, length", "not stated", f"{_EPOCHS}, 18,000 steps"),
    Choice("estimator of q(z)", "minibatch weighted sampling", "the same"),
    Choice("MIG", "a full pass over the data", "exact, all images, H(v) of the labels"),
    Choice("precision", "not stated", "bfloat16 nets, float32 weights; see chen2018/precision"),
)
FACE_CHOICES = (
    Choice("images", "50 people are noise", "all 127,050; MIG over azimuth, elevation and lighting"),
    Choice("nets", "not stated", "those of the authors' code: convolutions with BatchNorm, 10 latents, Bernoulli"),
    Choice("optimiser, batch, length", "not stated", f"{_EPOCHS}, 3,100 steps"),
    Choice("estimator of q(z)", "minibatch weighted sampling", "the same"),
    Choice("MIG", "a full pass over the data", "exact, all images, H(v) of the labels"),
    Choice("precision", "not stated", "bfloat16 nets, float32 weights; see chen2018/precision"),
)
BASEL_FILE = "basel_face_renders.pth, the renders of the Basel Face Model that the authors' code reads"
