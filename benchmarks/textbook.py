"""The same models as one would write them without a fleet: plain modules, torch's Adam, one model at a time, images on
the device.

Every loss is spelt out for one model, from the papers, and shares nothing with `unbraid.objectives`.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from unbraid import VAE, BetaTCVAE
from unbraid.datasets.dataset import FactorImages
from unbraid.models.layers.initial_weights import seeded
from unbraid.objectives import FactorVAE
from unbraid.training.optimizers import Adam
from unbraid.training.runs.spec import RunSpec

Step = Callable[[], None]


def textbook_step(spec: RunSpec, images: FactorImages, seed: int = 0) -> Step:
    """A function that takes one training step. For Gaussian latents and Bernoulli pixels."""
    net = with_torchs_own_layers(spec.model.build(images.image_shape, seed)).to(images.device)
    assert isinstance(spec.optimizer, Adam)
    beta1, beta2 = spec.optimizer.betas
    rate = float(spec.optimizer.learning_rate)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, betas=(beta1, beta2))

    def batch() -> Tensor:
        return images.batch(torch.randint(len(images), (spec.batch_size,), device=images.device))

    match spec.objective:
        case VAE():
            return _plain(net, optimizer, batch, _vae_loss)
        case BetaTCVAE(beta=float(beta)):
            return _plain(net, optimizer, batch, lambda *of: _beta_tcvae_loss(*of, beta=beta, dataset_size=len(images)))
        case FactorVAE(gamma=float(gamma)):
            critic = seeded(spec.make_critic, seed, "critic").to(images.device)
            return _factor_vae(net, critic, optimizer, batch, gamma)
        case other:
            raise ValueError(f"There is no textbook for {other}.")


def with_torchs_own_layers(net: nn.Module) -> nn.Module:
    """The net with torch's convolutions in place of ours, which are made for fleets."""
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            layer.__class__ = nn.Conv2d
        if isinstance(layer, nn.ConvTranspose2d):
            layer.__class__ = nn.ConvTranspose2d
    return net


def _plain(
    net: nn.Module, optimizer: torch.optim.Optimizer, batch: Callable[[], Tensor], loss: Callable[..., Tensor]
) -> Step:
    def step() -> None:
        x = batch()
        optimizer.zero_grad()
        loss(x, *_forward(net, x)).backward()
        optimizer.step()

    return step


def _forward(net: nn.Module, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of the pixels, mean, log-variance, and a draw of the code."""
    mean, log_var = net.encoder(x).chunk(2, dim=1)
    z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
    return net.decoder(z), mean, log_var, z


def _vae_loss(x: Tensor, logits: Tensor, mean: Tensor, log_var: Tensor, z: Tensor) -> Tensor:
    """Kingma & Welling, arXiv:1312.6114v10, eq. 10."""
    return _distortion(x, logits) + _rate(mean, log_var)


def _beta_tcvae_loss(
    x: Tensor, logits: Tensor, mean: Tensor, log_var: Tensor, z: Tensor, *, beta: float, dataset_size: int
) -> Tensor:
    """Chen et al., arXiv:1802.04942v5, eq. 4, with minibatch-weighted sampling."""
    log_q_given_x = _log_normal(z, mean, log_var).sum(dim=1)
    pairs = _log_normal(z[:, None], mean[None], log_var[None])
    constant = math.log(len(z) * dataset_size)
    log_q = pairs.sum(dim=2).logsumexp(dim=1) - constant
    log_product = (pairs.logsumexp(dim=1) - constant).sum(dim=1)
    log_p = _log_normal(z, torch.zeros_like(z), torch.zeros_like(z)).sum(dim=1)
    return (
        _distortion(x, logits) + ((log_q_given_x - log_q) + beta * (log_q - log_product) + (log_product - log_p)).mean()
    )


def _factor_vae(
    net: nn.Module, critic: nn.Module, optimizer: torch.optim.Optimizer, batch: Callable[[], Tensor], gamma: float
) -> Step:
    """Kim & Mnih, arXiv:1802.05983v3, algorithm 2."""
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.5, 0.9))

    def step() -> None:
        x, other = batch(), batch()
        logits, mean, log_var, z = _forward(net, x)
        judged = critic(z)
        optimizer.zero_grad()
        (_distortion(x, logits) + _rate(mean, log_var) + gamma * (judged[:, 0] - judged[:, 1]).mean()).backward()
        with torch.no_grad():
            codes = _forward(net, other)[3]
            permuted = torch.stack(
                [column[torch.randperm(len(column), device=column.device)] for column in codes.unbind(1)], dim=1
            )
        target = torch.zeros(len(z), dtype=torch.int64, device=z.device)
        loss = 0.5 * (
            functional.cross_entropy(critic(z.detach()), target)
            + functional.cross_entropy(critic(permuted), target + 1)
        )
        of_critic.zero_grad()
        loss.backward()
        optimizer.step()
        of_critic.step()

    return step


def _distortion(x: Tensor, logits: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)


def _rate(mean: Tensor, log_var: Tensor) -> Tensor:
    return 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum(dim=1).mean()


def _log_normal(z: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return -0.5 * ((z - mean).square() / log_var.exp() + log_var + math.log(2 * math.pi))
