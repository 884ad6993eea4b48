"""Presets: tested settings for each objective (docs/evidence.md).

`unbraid train --preset infogan-sprites` trains `preset("infogan-sprites")`. Presets with "sprites" take minutes on a
CPU. Presets with "dsprites" need a GPU. The dsprites presets of InfoGAN and FactorVAE were not trained to the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import final

import torch

from unbraid._internal.device import resolve_device
from unbraid._internal.names import suggestion
from unbraid._internal.precision import Precision
from unbraid.config.schedule import Linear
from unbraid.datasets.synthetic.dsprites import DSprites
from unbraid.errors import SpecError
from unbraid.models.architecture import Architecture
from unbraid.models.autoencoder import Autoencoder
from unbraid.models.conv import Conv
from unbraid.models.distributions.posteriors.deterministic import DeterministicLatents
from unbraid.models.distributions.posteriors.gaussian import GaussianLatents
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.distributions.priors.prior import UniformPrior
from unbraid.models.infogan_conv import InfoGANConv
from unbraid.models.mlp import MLP
from unbraid.objectives import (
    AAE,
    DIPVAE,
    HFVAE,
    VAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    InfoGAN,
    InformationDropout,
    InfoVAE,
    Objective,
)
from unbraid.training.critic import Critic
from unbraid.training.optimizers.adam import Adam
from unbraid.training.runs.spec import RunSpec


@final
@dataclass(frozen=True)
class _DatasetPreset:
    """Dataset with the default settings of its presets."""

    dataset: DSprites
    net: Architecture
    generator: Architecture
    capacity: float
    num_steps: int | None
    precision: Precision


@final
@dataclass(frozen=True)
class _ObjectivePreset:
    """Objective with the training settings of its preset."""

    objective: Objective
    num_steps: int
    optimizer: Adam = field(default_factory=lambda: Adam(1e-3))
    batch_size: int = 64
    latents: Latents = field(default_factory=lambda: GaussianLatents(10))
    critic: Critic | None = None
    noise_inputs: int = 0


_DATASETS = {
    "sprites": _DatasetPreset(
        DSprites(resolution=32, shapes=("heart",), num_scales=6, num_orientations=1, num_positions=16),
        net=Conv(channels=(16, 16, 32, 32)),
        generator=MLP((128, 128), (128, 128)),
        capacity=10.0,
        num_steps=None,
        precision="float32",
    ),
    "dsprites": _DatasetPreset(
        DSprites(),
        net=Conv(),
        generator=InfoGANConv(channels=(16, 32, 64), hidden=256),
        capacity=20.0,
        num_steps=3000,
        precision="bf16",
    ),
}


def _objectives(dataset: str) -> Mapping[str, _ObjectivePreset]:
    """Returns the objectives of a dataset by name, with their training settings."""
    # With equal learning rates of critic and model, the adversarial term would dominate the distortion.
    critic = Critic(hidden=(256, 256, 256), optimizer=Adam(1e-4, betas=(0.5, 0.9)))
    objectives = {
        "vae": _ObjectivePreset(VAE(), 6000),
        "beta-vae": _ObjectivePreset(BetaVAE(4.0), 6000),
        "beta-tcvae": _ObjectivePreset(BetaTCVAE(beta=6.0, estimator="stratified_pairs"), 6000),
        "factor-vae": _ObjectivePreset(FactorVAE(35.0), 6000, critic=critic),
        "annealed-vae": _ObjectivePreset(
            AnnealedVAE(gamma=10.0, capacity=Linear(0.0, _DATASETS[dataset].capacity, finish=0.8), upward=0.0),
            8000,
            Adam(5e-4),
        ),
        "dip-vae-i": _ObjectivePreset(DIPVAE("i"), 6000),
        "dip-vae-ii": _ObjectivePreset(DIPVAE("ii"), 6000),
        "info-vae": _ObjectivePreset(InfoVAE(), 6000),
        "hfvae": _ObjectivePreset(HFVAE(), 6000),
        "information-dropout": _ObjectivePreset(InformationDropout(), 6000),
        "aae": _ObjectivePreset(AAE(), 4000, critic=critic),
        "aae-deterministic": _ObjectivePreset(AAE(), 4000, latents=DeterministicLatents(10), critic=critic),
        "infogan": _ObjectivePreset(
            InfoGAN(weight=0.2, instance_noise=Linear(0.5, 0.1)),
            8000,
            Adam(1e-3, betas=(0.5, 0.999)),
            latents=GaussianLatents(5, prior=UniformPrior()),
            critic=Critic(hidden=(128,), optimizer=Adam(2e-4, betas=(0.5, 0.999))),
            noise_inputs=5,
        ),
    }
    if dataset == "sprites":
        quick = partial(_ObjectivePreset, num_steps=1600, optimizer=Adam(2e-3), batch_size=32)
        quick_critic = Critic(hidden=(256, 256, 256), optimizer=Adam(1e-3, betas=(0.5, 0.9)))
        objectives |= {
            "vae": quick(VAE()),
            "beta-tcvae": quick(BetaTCVAE(beta=4.0)),
            "factor-vae": quick(FactorVAE(10.0), critic=quick_critic),
            "dip-vae-i": quick(DIPVAE("i")),
            "aae": quick(AAE(), critic=quick_critic),
            "infogan": _ObjectivePreset(  # two codes for the two positions
                InfoGAN(weight=1.0, instance_noise=Linear(0.7, 0.2)),
                20_000,
                Adam(1e-3, betas=(0.5, 0.999)),
                batch_size=32,
                latents=GaussianLatents(2, prior=UniformPrior()),
                critic=Critic(hidden=(64,), optimizer=Adam(2e-4, betas=(0.5, 0.999))),
                noise_inputs=3,
            ),
        }
    return objectives


def preset_names() -> tuple[str, ...]:
    """Returns the names of all presets. A name has an objective and a dataset, such as "beta-tcvae-sprites"."""
    return tuple(f"{objective}-{dataset}" for dataset in _DATASETS for objective in _objectives(dataset))


def preset(name: str, device: torch.device | str = "auto") -> RunSpec:
    """Returns the spec of a preset. Fields can be changed with `dataclasses.replace`.

    The precision is "bf16" for presets of "dsprites" on an NVIDIA GPU, and "float32" on any other `device`.

    >>> preset("beta-vae-sprites").objective
    BetaVAE(beta=4.0)
    """
    objective_name, _, dataset_name = name.rpartition("-")
    data = _DATASETS.get(dataset_name)
    chosen = None if data is None else _objectives(dataset_name).get(objective_name)
    if data is None or chosen is None:
        raise SpecError(f"There is no preset {name!r}. {suggestion(name, preset_names())}")
    net = data.generator if isinstance(chosen.objective, InfoGAN) else data.net
    return RunSpec(
        data.dataset,
        Autoencoder(net, latents=chosen.latents, noise_inputs=chosen.noise_inputs),
        chosen.objective,
        chosen.critic,
        num_steps=data.num_steps or chosen.num_steps,
        batch_size=chosen.batch_size,
        optimizer=chosen.optimizer,
        precision=data.precision if resolve_device(device).type == "cuda" else "float32",
    )
