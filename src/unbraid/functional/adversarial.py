"""Losses with a critic, as plain functions of tensors. Shapes and units are as in `losses`."""

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.functional.losses import Array, Weight, as_float, elbo, log_likelihood
from unbraid.models.distributions.likelihoods import Likelihood
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian
from unbraid.models.distributions.priors.prior import StandardNormalPrior
from unbraid.objectives.terms import adversary


def factor_vae_loss(
    x: Array,
    logits: Array,
    mean: Array,
    logvar: Array,
    critic_logits: Array,
    *,
    gamma: Weight = 35.0,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns minus the ELBO plus gamma TC, with TC = mean of critic_logits[:, 0] - critic_logits[:, 1].

    Kim & Mnih, arXiv:1802.05983v3, eq. 2. `critic_logits` (batch, 2) are the critic's outputs for z: column 0 for
    codes from q(z), column 1 for permuted codes. Only the encoder and the decoder minimize this loss. The critic
    minimizes `factor_vae_critic_loss`.

    Examples:
        >>> import torch
        >>> x, zero = torch.ones(4, 1, 2, 2), torch.zeros(4, 3)
        >>> sure = torch.tensor([[1.0, 0.0]]).expand(4, 2)
        >>> round(float(factor_vae_loss(x, 0 * x, zero, zero, sure, gamma=10.0)), 4)  # 4 log 2 + 10
        12.7726
    """
    total_correlation = adversary.log_ratio(as_float(critic_logits)).mean()
    return gamma * total_correlation - elbo(x, logits, mean, logvar, likelihood=likelihood)


def factor_vae_critic_loss(joint: Array, permuted: Array) -> Float[Tensor, ""]:
    """Returns the cross-entropy loss of the critic between codes and permuted codes; log 2 at chance level.

    Kim & Mnih, arXiv:1802.05983v3, algorithm 2. `joint` and `permuted` are the logits (batch, 2) of the critic for z
    and for `permute_latents(z_of_another_batch)`.

    Examples:
        >>> import torch
        >>> round(float(factor_vae_critic_loss(torch.zeros(4, 2), torch.zeros(4, 2))), 4)
        0.6931
    """
    return adversary.density_ratio_loss(as_float(joint), as_float(permuted))


def permute_latents(
    z: Array, *, noise: Array | None = None, generator: torch.Generator | None = None
) -> Float[Tensor, "batch latent"]:
    """Permutes each latent of a batch of codes independently over the batch.

    Kim & Mnih, arXiv:1802.05983v3, algorithm 1. The permutation of a latent is the argsort of its column of `noise`
    (batch, latent). By default `noise` is drawn with `generator`.

    Examples:
        >>> import torch
        >>> z = torch.tensor([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
        >>> permute_latents(z, noise=torch.tensor([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])).tolist()
        [[1.0, 6.0], [2.0, 5.0], [3.0, 4.0]]
    """
    z = as_float(z)
    if noise is None:
        noise = torch.rand(z.shape, generator=generator, device=z.device)  # noqa: TID251
    return adversary.permuted_codes(z, as_float(noise))


def aae_loss(
    x: Array,
    logits: Array,
    critic_logits: Array,
    *,
    weight: Weight = 10.0,
    likelihood: Likelihood | None = None,
) -> Float[Tensor, ""]:
    """Returns the AAE loss, -log p(x | z) - weight log D(z), averaged over the batch.

    Makhzani et al., arXiv:1511.05644v2, section 2. `critic_logits` (batch, 1) are the critic's outputs for z. The
    critic minimizes `critic_cross_entropy`, with draws from the prior as real and z as fake inputs.

    Examples:
        >>> import torch
        >>> x = torch.ones(4, 1, 2, 2)
        >>> round(float(aae_loss(x, 0 * x, torch.zeros(4, 1), weight=1.0)), 4)  # 5 log 2
        3.4657
    """
    generator = adversary.generator_loss(as_float(critic_logits))
    return weight * generator - log_likelihood(as_float(x), as_float(logits), likelihood).mean()


def critic_cross_entropy(real: Array, fake: Array) -> Float[Tensor, ""]:
    """Returns the binary cross-entropy of a critic, -log D(real) - log(1 - D(fake)); 2 log 2 at chance level.

    Goodfellow et al., arXiv:1406.2661v1, eq. 1. `real` and `fake` are logits (batch, 1); each term is averaged over
    its batch. The critics of AAE and InfoGAN minimize this loss.

    Examples:
        >>> import torch
        >>> round(float(critic_cross_entropy(torch.zeros(4, 1), torch.zeros(4, 1))), 4)
        1.3863
    """
    return adversary.critic_loss(as_float(real), as_float(fake))


def info_gan_loss(
    critic_logits: Array, code: Array, mean: Array, logvar: Array, *, weight: Weight = 1.0
) -> Float[Tensor, ""]:
    """Returns the InfoGAN loss, -log D(G(c)) - weight E[log Q(c | G(c)) - log p(c)].

    Chen et al., arXiv:1606.03657v1, eq. 6. `critic_logits` (batch, 1), `mean` and `logvar` are the outputs of the
    critic and of Q for the generated images. `code` (batch, latent) is drawn from N(0, I).

    Examples:
        >>> import torch
        >>> zero = torch.zeros(4, 2)
        >>> round(float(info_gan_loss(torch.zeros(4, 1), zero, zero, zero)), 4)  # Q is the prior: log 2
        0.6931
    """
    code = as_float(code)
    information = DiagonalGaussian(as_float(mean), as_float(logvar)).log_prob(code) - StandardNormalPrior().log_prob(
        code
    )
    return adversary.generator_loss(as_float(critic_logits)) - weight * information.sum(dim=1).mean()
