"""The golden values of critics, covariances, discrepancies and generators: families of losses for `benchmarks.golden`.

Each value comes out of an objective, called on the batch of the losses file with the draws and the critic that the file
gives.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from tests.golden.values import Arrays, Values
from unbraid.models.distributions import BernoulliLikelihood, DiagonalGaussian, StandardNormalPrior, UniformPrior
from unbraid.objectives import AAE, DIPVAE, EncodedBatch, FactorVAE, InfoGAN, InfoVAE, Loss, Step
from unbraid.objectives.terms.adversary import permuted_codes
from unbraid.objectives.terms.mmd import squared_mmd


def factor_vae(arrays: Arrays) -> Values:
    # The file gives, for each latent, the row that comes to each place; noise whose order that is has its ranks in the
    # inverse of it.
    noise = arrays["perms"].argsort(dim=1).T.double()
    logits = critic(arrays)
    step = replace(
        a_step(arrays),
        other=EncodedBatch(a_step(arrays).x, a_step(arrays).posterior, arrays["z_other"]),
        draws={"permutation": noise},
        critic=lambda z: torch.cat([logits(z), torch.zeros_like(logits(z))], dim=1),
        critic_in_training=lambda z: torch.cat([logits(z), torch.zeros_like(logits(z))], dim=1),
    )
    loss = FactorVAE()(step)
    return {
        "factorvae": {"tc": loss.parts["critic_total_correlation"], "disc_loss": loss.critic},
        "factorvae/permuted": permuted_codes(arrays["z_other"], noise),
    }


def aae(arrays: Arrays) -> Values:
    step = replace(
        a_step(arrays),
        draws={"prior": arrays["prior_samples"]},
        critic=critic(arrays),
        critic_in_training=critic(arrays),
    )
    loss = AAE()(step)
    return {"aae": {"d_loss": loss.critic, "g_loss": loss.parts["generator"]}}


def dip(arrays: Arrays) -> Values:
    whole = step_of(arrays["mu_big"], arrays["sigma_big"], arrays)
    batches = [
        step_of(mu, sigma, arrays)
        for mu, sigma in zip(arrays["mu_big"].split(10), arrays["sigma_big"].split(10), strict=True)
    ]
    # A past of weight t / (t + 1) at step t is the plain average of all batches so far.
    cumulative = [DIPVAE(mode="moments", decay=t / (t + 1)) for t in range(len(batches))]
    return {
        "dip/cov_mu": carried([DIPVAE(mode="ema", decay=0.0)], [whole]).state["covariance"],
        "dip/I_od5_d50": penalty(DIPVAE("i", off_diagonal=5.0, diagonal=50.0)(whole)),
        "dip/II_od5_d5": penalty(DIPVAE("ii", off_diagonal=5.0, diagonal=5.0)(whole)),
        "dip/running_ema_of_cov_rho0.9_4x10": carried([DIPVAE(mode="ema", decay=0.9)] * 4, batches).state["covariance"],
        "dip/running_ema_of_moments_rho0.9_4x10": covariance(carried([DIPVAE(mode="moments", decay=0.9)] * 4, batches)),
        "dip/running_cumulative_4x10": covariance(carried(cumulative, batches)),
    }


def info_vae(arrays: Arrays) -> Values:
    z, prior = arrays["z"], arrays["prior_samples"]
    return {
        "mmd2/biased_2h2=d": squared_mmd(z, prior),
        "mmd2/unbiased_2h2=d": squared_mmd(z, prior, statistic="unbiased"),
        "mmd2/zhao_2h2=d^2": squared_mmd(z, prior, bandwidth="zhao"),
        "infovae_alpha0_lambda10": InfoVAE(alpha=0.0, weight=10.0)(
            replace(a_step(arrays), draws={"prior": prior})
        ).total,
    }


def infogan(arrays: Arrays) -> Values:
    posterior, code = a_step(arrays).posterior, arrays["code"]
    images = torch.zeros_like(a_step(arrays).x)
    step = replace(
        a_step(arrays),
        prior=UniformPrior(-1.0, 1.0),
        draws={"code": torch.special.ndtri((code + 1) / 2), "noise": code[:, :0], "real": images, "fake": images},
        encode=lambda x: posterior,
        decode=lambda z: images,
        likelihood=BernoulliLikelihood(),
        critic=lambda x: x.flatten(1)[:, :1],
        critic_in_training=lambda x: x.flatten(1)[:, :1],
    )
    return {"infogan_bound": InfoGAN(instance_noise=0.0)(step).parts["code_information"]}


LOSSES: tuple[Callable[[Arrays], Values], ...] = (factor_vae, aae, dip, info_vae, infogan)


def a_step(arrays: Arrays) -> Step:
    """The batch of a losses file, with the distortion that it gives."""
    step = step_of(arrays["mu"], arrays["sigma"], arrays)
    return replace(step, x=arrays["x"][:, None, None, :], z=arrays["z"], log_likelihood=-arrays["recon_nll"])


def step_of(mu: Tensor, sigma: Tensor, arrays: Arrays) -> Step:
    """Posteriors alone, with codes at their means and nothing to reconstruct."""
    return Step(
        x=torch.zeros(len(mu), 1, 1, 1, dtype=mu.dtype),
        posterior=DiagonalGaussian(mu, 2 * sigma.log()),
        z=mu,
        log_likelihood=torch.zeros(len(mu), dtype=mu.dtype),
        prior=StandardNormalPrior(),
        dataset_size=int(arrays["N"]),
        progress=torch.tensor(0.0, dtype=torch.float64),
    )


def critic(arrays: Arrays) -> Callable[[Tensor], Tensor]:
    """The fixed critic of the file: one logit, z'Az + c."""
    return lambda z: ((z @ arrays["disc_A"]) * z).sum(dim=1, keepdim=True) + arrays["disc_c"]


def carried(objectives: list[DIPVAE], steps: list[Step]) -> Loss:
    """The last loss of objectives that hand their state on, one a step."""
    size = steps[0].z.shape[1]
    state: Mapping[str, Tensor] = {
        name: torch.zeros(shape, dtype=torch.float64)
        for name, shape in {
            "started": (),
            "covariance": (size, size),
            "first_moment": (size,),
            "second_moment": (size, size),
        }.items()
    }
    for objective, step in zip(objectives, steps, strict=True):
        loss = objective(replace(step, state=state))
        state = loss.state
    return loss


def covariance(loss: Loss) -> Tensor:
    first = loss.state["first_moment"]
    return loss.state["second_moment"] - torch.outer(first, first)


def penalty(loss: Loss) -> Tensor:
    return loss.total - loss.parts["distortion"] - loss.parts["rate"]
