"""Named starting points: for each objective, settings with which it was seen to learn. docs/evidence.md says what each
reached, how often it failed, and which were not run to their end or at all (on dSprites InfoGAN and FactorVAE).

`starting_point("infogan-sprites")` is a spec, and `unbraid train --recipe infogan-sprites` trains it. Those of
"sprites" take minutes on a CPU; those of "dsprites" are for a GPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from unbraid.data.drawn.dsprites import DSprites
from unbraid.distributions.posteriors.deterministic import DeterministicLatents
from unbraid.distributions.posteriors.latents import GaussianLatents, Latents
from unbraid.distributions.priors.uniform_prior import UniformPrior
from unbraid.errors import SpecError
from unbraid.models.architecture import Architecture
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.conv import Conv
from unbraid.models.critic import Critic
from unbraid.models.infogan_conv import InfoGANConv
from unbraid.models.mlp import MLP
from unbraid.names import suggestion
from unbraid.objectives.aae import AAE
from unbraid.objectives.annealed_vae import AnnealedVAE
from unbraid.objectives.beta_tcvae import BetaTCVAE
from unbraid.objectives.beta_vae import BetaVAE
from unbraid.objectives.dip_vae import DIPVAE
from unbraid.objectives.factor_vae import FactorVAE
from unbraid.objectives.hfvae import HFVAE
from unbraid.objectives.info_gan import InfoGAN
from unbraid.objectives.info_vae import InfoVAE
from unbraid.objectives.information_dropout import InformationDropout
from unbraid.objectives.objective import Objective
from unbraid.objectives.vae import VAE
from unbraid.optimisers.adam import Adam
from unbraid.precision import Precision
from unbraid.runs.spec import RunSpec
from unbraid.schedule import Linear


@final
@dataclass(frozen=True)
class _Stage:
    """Says what is trained on, and what goes with it for every objective that does not say otherwise."""

    dataset: DSprites
    net: Architecture
    generator: Architecture
    capacity: float
    num_steps: int | None
    precision: Precision


@final
@dataclass(frozen=True)
class _Player:
    """Holds an objective, and what it needs to learn."""

    objective: Objective
    num_steps: int
    optimiser: Adam = field(default_factory=lambda: Adam(1e-3))
    batch_size: int = 64
    latents: Latents = field(default_factory=lambda: GaussianLatents(10))
    critic: Critic | None = None
    noise_inputs: int = 0


_STAGES = {
    "sprites": _Stage(
        DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16),
        net=Conv(channels=(16, 16, 32, 32)),
        generator=MLP((128, 128), (128, 128)),
        capacity=10.0,
        num_steps=None,
        precision="float32",
    ),
    "dsprites": _Stage(
        DSprites(),
        net=Conv(),
        generator=InfoGANConv(channels=(16, 32, 64), hidden=256),
        capacity=20.0,
        num_steps=3000,
        precision="bf16",
    ),
}


def _quick_on_sprites() -> dict[str, _Player]:
    """Returns what learns on sprites in 1,600 steps, at the rate of the quickstart."""
    critic = Critic(hidden=(256, 256, 256), optimiser=Adam(1e-3, betas=(0.5, 0.9)))
    objectives: dict[str, Objective] = {
        "vae": VAE(),
        "beta-tcvae": BetaTCVAE(beta=4.0),
        "factor-vae": FactorVAE(10.0),
        "dip-vae-i": DIPVAE("i"),
        "aae": AAE(),
    }
    return {
        name: _Player(
            objective, 1600, Adam(2e-3), batch_size=32, critic=None if objective.critic_reads is None else critic
        )
        for name, objective in objectives.items()
    }


def _generator_of_two_codes() -> _Player:
    """Returns the InfoGAN of sprites. It has two codes, for the two places."""
    return _Player(
        InfoGAN(weight=1.0, instance_noise=Linear(0.7, 0.2)),
        20_000,
        Adam(1e-3, betas=(0.5, 0.999)),
        batch_size=32,
        latents=GaussianLatents(2, prior=UniformPrior()),
        critic=Critic(hidden=(64,), optimiser=Adam(2e-4, betas=(0.5, 0.999))),
        noise_inputs=3,
    )


def _players(stage: str) -> Mapping[str, _Player]:
    """Returns the objectives by name, as they are set up for these images."""
    # A critic of codes that learns as fast as the model wins, and what it then asks for drowns the distortion.
    critic = Critic(hidden=(256, 256, 256), optimiser=Adam(1e-4, betas=(0.5, 0.9)))
    players = {
        "vae": _Player(VAE(), 6000),
        "beta-vae": _Player(BetaVAE(4.0), 6000),
        "beta-tcvae": _Player(BetaTCVAE(beta=6.0, estimator="eq13"), 6000),
        "factor-vae": _Player(FactorVAE(35.0), 6000, critic=critic),
        "annealed-vae": _Player(
            AnnealedVAE(gamma=10.0, capacity=Linear(0.0, _STAGES[stage].capacity, finish=0.8), upward=0.0),
            8000,
            Adam(5e-4),
        ),
        "dip-vae-i": _Player(DIPVAE("i"), 6000),
        "dip-vae-ii": _Player(DIPVAE("ii"), 6000),
        "info-vae": _Player(InfoVAE(), 6000),
        "hfvae": _Player(HFVAE(), 6000),
        "information-dropout": _Player(InformationDropout(), 6000),
        "aae": _Player(AAE(), 4000, critic=critic),
        "aae-deterministic": _Player(AAE(), 4000, latents=DeterministicLatents(10), critic=critic),
        "infogan": _Player(
            InfoGAN(weight=0.2, instance_noise=Linear(0.5, 0.1)),
            8000,
            Adam(1e-3, betas=(0.5, 0.999)),
            latents=GaussianLatents(5, prior=UniformPrior()),
            critic=Critic(hidden=(128,), optimiser=Adam(2e-4, betas=(0.5, 0.999))),
            noise_inputs=5,
        ),
    }
    if stage == "sprites":
        players |= {**_quick_on_sprites(), "infogan": _generator_of_two_codes()}
    return players


def names() -> tuple[str, ...]:
    """Returns the names of all starting points: an objective and the images that it is for, as in
    "beta-tcvae-sprites".
    """
    return tuple(f"{player}-{stage}" for stage in _STAGES for player in _players(stage))


def starting_point(name: str) -> RunSpec:
    """Returns the spec of this name. Change what you like with `dataclasses.replace`.

    >>> starting_point("beta-vae-sprites").objective
    BetaVAE(beta=4.0)
    """
    player_name, _, stage_name = name.rpartition("-")
    stage = _STAGES.get(stage_name)
    player = None if stage is None else _players(stage_name).get(player_name)
    if stage is None or player is None:
        raise SpecError(f"There is no starting point {name!r}. {suggestion(name, names())}")
    net = stage.generator if isinstance(player.objective, InfoGAN) else stage.net
    model = Autoencoder(net, latents=player.latents, noise_inputs=player.noise_inputs)
    return RunSpec(
        stage.dataset,
        model,
        player.objective,
        player.critic,
        num_steps=stage.num_steps or player.num_steps,
        batch_size=player.batch_size,
        optimiser=player.optimiser,
        precision=stage.precision,
    )
