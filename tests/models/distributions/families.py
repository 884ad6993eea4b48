"""One of every family of latents, prior and measure, for tests that all of them must pass."""

import torch

from unbraid.config.schedule import Linear
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    ConditionalLatents,
    CorrelatedGaussianLatents,
    DeterministicLatents,
    FlowPrior,
    GaussianLatents,
    GroupedLatents,
    LaplaceLatents,
    LaplacePrior,
    LearnedCategories,
    LearnedGaussianPrior,
    StandardNormalPrior,
)

MIXED = GroupedLatents(
    (
        CorrelatedGaussianLatents(2, exact_kl=True, prior=LearnedGaussianPrior()),
        LaplaceLatents(2),
        ConcreteLatents(3, Linear(1.0, 0.5), prior=LearnedCategories((0.5, 0.3, 0.2))),
        BernoulliLatents(2, learned_prior=True),
    )
)
SUMMED = GroupedLatents(
    (
        CorrelatedGaussianLatents(2, exact_kl=True, prior=LearnedGaussianPrior()),
        ConcreteLatents(3, measure="summed", prior=LearnedCategories((0.5, 0.3, 0.2))),
        BernoulliLatents(2, measure="summed", hard=True),
    )
)
FAMILIES = [
    GaussianLatents(3),
    GaussianLatents(3, LearnedGaussianPrior()),
    GaussianLatents(3, FlowPrior(4)),
    GaussianLatents(3, LaplacePrior()),
    CorrelatedGaussianLatents(3),
    CorrelatedGaussianLatents(3, exact_kl=True),
    CorrelatedGaussianLatents(3, exact_kl=True, prior=LearnedGaussianPrior()),
    CorrelatedGaussianLatents(3, exact_kl=True, prior=FlowPrior(4)),
    LaplaceLatents(3),
    LaplaceLatents(3, StandardNormalPrior()),
    LaplaceLatents(3, LearnedGaussianPrior()),
    ConcreteLatents(4),
    ConcreteLatents(4, measure="summed", hard=True),
    ConcreteLatents(4, measure="density", prior=LearnedCategories()),
    BernoulliLatents(3),
    BernoulliLatents(3, measure="summed", hard=True, learned_prior=True),
    BernoulliLatents(3, measure="density", prior_probability=0.3),
    MIXED,
    SUMMED,
    ConditionalLatents(GaussianLatents(2), ConcreteLatents(3)),
    ConditionalLatents(GaussianLatents(3, LearnedGaussianPrior()), ConcreteLatents(2, measure="density", hard=True)),
]
WITHOUT_DENSITY = [DeterministicLatents(3)]
END = torch.ones((), dtype=torch.float64)


def named(latents):
    settings = "-".join(str(getattr(latents, name, "")) for name in ("measure", "exact_kl", "prior"))
    return f"{type(latents).__name__}-{settings}"


def drawn(latents, batch=5, seed=0, dtype=torch.float64):
    """Parameters of a posterior, and a draw from it."""
    generator = torch.Generator().manual_seed(seed)
    posterior = latents.posterior(
        torch.randn(batch, latents.num_parameters, dtype=dtype, generator=generator), END.to(dtype)
    )
    noise = torch.randn(batch, latents.num_noise, dtype=dtype, generator=generator)
    return posterior, posterior.rsample(noise)


def seeded(make):
    """A module with initial weights of its own seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def some_prior(latents, seed=0, dtype=torch.float64):
    """The family's prior with weights that are not those it starts with."""
    generator = torch.Generator().manual_seed(seed)
    module = seeded(latents.make_prior).to(dtype)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, dtype=dtype, generator=generator)
    return module()
