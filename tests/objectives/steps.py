"""A batch to try objectives on, and the losses worked out slowly, one density at a time."""

import math
from dataclasses import replace

import scipy.stats
import torch
from scipy.special import logsumexp

from unbraid.models import Autoencoder
from unbraid.models.distributions import (
    BernoulliLikelihood,
    ConcreteLatents,
    DiagonalGaussian,
    GaussianLatents,
    GroupedLatents,
    StandardNormalPrior,
)
from unbraid.objectives import EncodedBatch, Step


def five_weights(rate, mutual_information, total_correlation, total_correlation_within, dimension_wise_kl):
    """The weights of the decomposed rate, by name."""
    return locals()


def a_step(seed=0, batch=5, latents=3, dataset_size=50, weights=None, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    loc, log_var, noise = (torch.randn(batch, latents, dtype=dtype, generator=generator) for _ in range(3))
    posterior = DiagonalGaussian(loc, log_var)
    return Step(
        x=torch.rand(batch, 1, 2, 2, dtype=dtype, generator=generator),
        posterior=posterior,
        z=posterior.rsample(noise),
        log_likelihood=-10 * torch.rand(batch, dtype=dtype, generator=generator),
        prior=StandardNormalPrior(),
        dataset_size=dataset_size,
        progress=torch.tensor(0.5, dtype=dtype),
        weights=weights,
    )


def a_mixed_step(seed=0, batch=5, latents=4, categories=3, dataset_size=50):
    """`a_step` with a discrete latent after the Gaussian ones."""
    step, generator = a_step(seed, batch, latents, dataset_size), torch.Generator().manual_seed(seed + 1)
    family = GroupedLatents((GaussianLatents(latents), ConcreteLatents(categories)))
    logits, noise = (torch.randn(batch, categories, dtype=torch.float64, generator=generator) for _ in range(2))
    posterior = family.posterior(torch.cat([step.posterior.loc, step.posterior.log_var, logits], dim=1), step.progress)
    z = torch.cat([step.z, posterior.parts[1].rsample(noise)], dim=1)
    prior = family.make_prior().double()(step.progress)
    return replace(step, posterior=posterior, z=z, prior=prior, groups=family.groups, widths=family.widths)


def step_for(objective, dtype=torch.float64, **settings):
    """`a_step` with all that this objective asks for: draws, another batch, nets, a critic and a state."""
    step = a_step(dtype=torch.float64, **settings)
    batch, latents = step.z.shape
    model, generator = Autoencoder(latents=GaussianLatents(latents), noise_inputs=2), torch.Generator().manual_seed(7)
    shapes = objective.draw_shapes(batch, model, (1, 2, 2))
    other = a_step(seed=1000, batch=batch, latents=latents)
    full = replace(
        step,
        draws={name: torch.randn(shape, dtype=torch.float64, generator=generator) for name, shape in shapes.items()},
        other=EncodedBatch(other.x, other.posterior, other.z) if objective.needs_other_batch else None,
        encode=lambda x: encoded(x, latents),
        decode=lambda z: z.sum(dim=1)[:, None, None, None].expand(-1, 1, 2, 2) / 4,
        likelihood=BernoulliLikelihood(),
        critic=None if objective.critic_reads is None else lambda z: criticised(z, objective.critic_outputs),
        critic_in_training=None
        if objective.critic_reads is None
        else lambda z: criticised(z.detach(), objective.critic_outputs),
        state={name: value.double() for name, value in objective.initial_state(model.latents).items()},
        groups=model.latents.groups,
    )
    return full if dtype == torch.float64 else in_dtype(full, dtype)


def criticised(z, num_outputs):
    """The logits of a critic without weights, to which all columns are alike."""
    size = z.flatten(1).square().mean(dim=1)
    return torch.stack([0.3 * size - 0.2, 0.1 - size], dim=1)[:, :num_outputs]


def encoded(x, latents):
    """An encoder without weights, to which all latents are alike."""
    light = x.flatten(1).mean(dim=1, keepdim=True).expand(-1, latents)
    return DiagonalGaussian(light, -light)


def in_dtype(step, dtype):
    def posterior(given):
        return DiagonalGaussian(given.loc.to(dtype), given.log_var.to(dtype))

    other = (
        None
        if step.other is None
        else EncodedBatch(step.other.x.to(dtype), posterior(step.other.posterior), step.other.z.to(dtype))
    )
    return replace(
        step,
        posterior=posterior(step.posterior),
        other=other,
        draws={name: draw.to(dtype) for name, draw in step.draws.items()},
        state={name: value.to(dtype) for name, value in step.state.items()},
        **{name: getattr(step, name).to(dtype) for name in ("x", "z", "log_likelihood", "progress")},
    )


def distortion_by_hand(step):
    return -sum(step.log_likelihood.tolist()) / len(step.z)


def rate_by_hand(step):
    """The mean over images of KL(q(z|x) || N(0, 1)), summed over latents."""
    means, log_vars = step.posterior.loc.flatten().tolist(), step.posterior.log_var.flatten().tolist()
    return sum((m * m + math.exp(v) - v - 1) / 2 for m, v in zip(means, log_vars, strict=True)) / len(step.z)


def table_by_hand(estimator, batch, dataset_size, weights=None):
    """W, entry by entry (spec, section 3)."""
    n, b = dataset_size, batch
    p = [1 / n] * b if weights is None else weights

    def entry(i, j):
        match estimator:
            case "naive":
                return 1 / b
            case "mws":
                return p[i] / b
            case "stratified_pairs":
                return p[i] if i == j else (1 - p[i]) / (b - 1)
            case "mss":
                other = (n - b + 1) / (n * (b - 1)) if j == (i + 1) % b else 1 / (b - 1)
                return 1 / n if i == j else other

    return [[entry(i, j) for j in range(b)] for i in range(b)]


def parts_by_hand(step, estimator):
    """(MI, TC, DWKL): means over the batch, from scipy's densities and loops."""
    batch, latents = step.z.shape
    weights = table_by_hand(
        estimator, batch, step.dataset_size, None if step.weights is None else step.weights.tolist()
    )
    z, loc, std = step.z.tolist(), step.posterior.loc.tolist(), step.posterior.std.tolist()
    logs = [
        [[scipy.stats.norm.logpdf(z[i][d], loc[j][d], std[j][d]) for d in range(latents)] for j in range(batch)]
        for i in range(batch)
    ]
    mutual_information = total_correlation = dimension_wise_kl = 0.0
    for i in range(batch):
        log_q = logsumexp([math.log(weights[i][j]) + sum(logs[i][j]) for j in range(batch)])
        log_product = sum(
            logsumexp([math.log(weights[i][j]) + logs[i][j][d] for j in range(batch)]) for d in range(latents)
        )
        mutual_information += (sum(logs[i][i]) - log_q) / batch
        total_correlation += (log_q - log_product) / batch
        dimension_wise_kl += (log_product - scipy.stats.norm.logpdf(z[i]).sum()) / batch
    return mutual_information, total_correlation, dimension_wise_kl


def sampled_rate_by_hand(step):
    """mean(log q(z|x) - log p(z))."""
    log_q = scipy.stats.norm.logpdf(step.z, step.posterior.loc, step.posterior.std).sum(axis=1)
    return (log_q - scipy.stats.norm.logpdf(step.z).sum(axis=1)).mean()
