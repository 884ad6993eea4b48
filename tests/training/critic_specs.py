"""Specs with a critic, a state or a schedule, and the tensors of their fleets."""

from dataclasses import replace

import torch

from tests.training.squares import MLP_SPEC
from unbraid.config.schedule import Cosine, Linear
from unbraid.models.distributions import (
    ConcreteLatents,
    DeterministicLatents,
    GaussianLatents,
    GroupedLatents,
    UniformPrior,
)
from unbraid.objectives import AAE, DIPVAE, FactorVAE, InfoGAN, InfoVAE
from unbraid.training import Critic
from unbraid.training.optimizers import Adam
from unbraid.training.state import named_leaves

CRITIC = Critic(hidden=(16, 16), channels=(4,), optimizer=Adam(1e-3, betas=(0.5, 0.9)))


def spec_of(objective, latents=None, noise_inputs=0):
    model = replace(MLP_SPEC.model, latents=latents or GaussianLatents(3), noise_inputs=noise_inputs)
    return replace(MLP_SPEC, model=model, objective=objective, critic=CRITIC if objective.critic_reads else None)


MIXED = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))


CODES = GroupedLatents((GaussianLatents(2, prior=UniformPrior()), ConcreteLatents(3)))


SPECS = {
    "factor-vae": spec_of(FactorVAE(gamma=Linear(0.0, 35.0))),
    "factor-vae-same-batch": spec_of(FactorVAE(same_batch=True)),
    "factor-vae-mixed": spec_of(FactorVAE(), MIXED),
    "aae": spec_of(AAE()),
    "aae-deterministic": spec_of(AAE(), DeterministicLatents(3)),
    "dip-i": spec_of(DIPVAE()),
    "dip-ii-ema": spec_of(DIPVAE("ii", mode="ema")),
    "dip-i-moments": spec_of(DIPVAE(mode="moments", decay=Cosine(0.0, 0.9), rescale=True)),
    "info-vae": spec_of(InfoVAE()),
    "info-vae-imq": spec_of(InfoVAE(alpha=1.0, kernel="imq", statistic="unbiased"), MIXED),
    "infogan": spec_of(InfoGAN(), CODES, noise_inputs=4),
    "infogan-apart": spec_of(InfoGAN(shared_trunk=False), CODES, noise_inputs=4),
}


def tensors(fleet, index):
    return named_leaves(fleet.state(index).tensors)


def flat(fleet, index, which):
    """All tensors of one kind of a member, such as its `critic.weights`, in one row."""
    return torch.cat(
        [tensor.flatten() for name, tensor in tensors(fleet, index).items() if name.startswith(f"{which}.")]
    )
