"""What `benchmarks.it_learns` measures of a trained model: its ELBO with all parts, bounds on held-out images, MIG, and
labels found without labels.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from torch import Tensor

from unbraid import draws
from unbraid.codes import Codes
from unbraid.data.dataset import FactorImages
from unbraid.distributions.posteriors.categories import with_categories
from unbraid.distributions.posteriors.posterior import Posterior
from unbraid.errors import CodesError
from unbraid.metrics import MIG, ELBODecomposition, Informativeness
from unbraid.metrics.estimators import Quantised, Sampled
from unbraid.models.autoencoder import AutoencoderModule, with_noise_inputs

_BLOCK = 5000


@final
@dataclass(frozen=True)
class Learned:
    """One model. Nats per image; NaN where a number is not defined.

    `elbo` is over all images that were trained on: minus distortion minus rate. The rate is the sum of mutual
    information, total correlation and dimension-wise KL. `held_out_elbo` and `held_out_bound`, the importance-weighted
    one, are over images that were not trained on.
    """

    distortion: float
    rate: float
    mutual_information: float
    total_correlation: float
    dimension_wise_kl: float
    mig: float = math.nan
    held_out_elbo: float = math.nan
    held_out_bound: float = math.nan
    accuracy: float = math.nan
    held_out_accuracy: float = math.nan

    @property
    def elbo(self) -> float:
        return -self.distortion - self.rate


def learned(
    model: AutoencoderModule,
    codes: Codes,
    images: FactorImages,
    held_out: FactorImages | None,
    *,
    num_samples: int,
    has_factors: bool,
) -> Learned:
    """All numbers of one model. Codes are those of the images; everything lies on one device."""
    rate, parts = _rate(codes, num_samples)
    elbo, bound = (
        bounds(model, held_out) if held_out is not None and model.latents.has_density else (math.nan, math.nan)
    )
    categories = codes.probabilities[0].argmax(dim=1) if codes.probabilities else None
    return Learned(
        distortion=distortion(model, images),
        rate=rate,
        mutual_information=parts["mutual_information"],
        total_correlation=parts["total_correlation"],
        dimension_wise_kl=parts["dimension_wise_kl"],
        mig=_mig(codes) if has_factors else math.nan,
        held_out_elbo=elbo,
        held_out_bound=bound,
        accuracy=math.nan if categories is None else label_accuracy(categories, images.values[:, 0]),
        held_out_accuracy=math.nan if categories is None or held_out is None else _accuracy_of(model, held_out),
    )


@torch.no_grad()
def distortion(model: AutoencoderModule, images: FactorImages) -> float:
    """The mean of -log p(x | z) over all images, with one draw of each code, in nats."""
    total = sum(
        float(-_log_likelihood(model, x, _draw(model, posterior, rows, 0)).double().sum())
        for rows, x, posterior in _blocks(model, images)
    )
    return total / len(images)


@torch.no_grad()
def bounds(model: AutoencoderModule, images: FactorImages, num_draws: int = 64) -> tuple[float, float]:
    """The ELBO, and the importance-weighted bound of Burda et al., arXiv:1509.00519v4, eq. 8, from the same draws, in
    nats per image.

    With w_k = p(x | z_k) p(z_k) / q(z_k | x), they are the mean of log w_k and log of the mean of w_k.
    """
    elbo = bound = 0.0
    everything, prior = range(model.latents.num_latents), model.prior.by_category()
    for rows, x, posterior in _blocks(model, images):
        log_weights = []
        for number in range(num_draws):
            z = _draw(model, posterior, rows, number)
            log_ratio = prior.joint_log_prob(z, everything) - posterior.joint_log_prob(z, everything)
            log_weights.append(_log_likelihood(model, x, z) + log_ratio)
        table = torch.stack(log_weights).double()
        elbo += float(table.mean(dim=0).sum())
        bound += float((table.logsumexp(dim=0) - math.log(num_draws)).sum())
    return elbo / len(images), bound / len(images)


def label_accuracy(categories: Int[Tensor, " image"], labels: Int[Tensor, " image"]) -> float:
    """The share of images whose category is their label, once every category was given the one label that makes this
    share greatest.

    No label is given twice (Hungarian matching). Labels are read here alone, never in training.
    """
    size = int(max(categories.max(), labels.max())) + 1
    counts = (
        torch.bincount(categories.long() * size + labels.long(), minlength=size**2).reshape(size, size).cpu().numpy()
    )
    rows, columns = linear_sum_assignment(-counts)
    return float(counts[rows, columns].sum() / counts.sum())


def k_means_accuracy(images: FactorImages, num_clusters: int, num_starts: int = 8) -> float:
    """The same of k-means on pixels: the best of several starts by its own criterion."""
    pixels = images.pixels[:].flatten(1).cpu().numpy().astype(np.float32) / 255
    found = KMeans(num_clusters, n_init=num_starts, random_state=0).fit_predict(pixels)
    return label_accuracy(torch.from_numpy(found), images.values[:, 0].cpu())


def quantised_conditional_entropy(codes: Codes) -> float:
    """The greatest H(z_j | x) of any latent in 100 bins, in nats."""
    return float(Informativeness(Quantised())(codes).tables["latent_entropy_given_image"].max())


def _blocks(model: AutoencoderModule, images: FactorImages) -> Iterator[tuple[Tensor, Tensor, Posterior]]:
    """Rows, images and posteriors, a few thousand at a time."""
    for rows in torch.arange(len(images), device=images.device).split(_BLOCK):
        x = images.batch(rows)
        yield rows, x, model.encode(x).with_true_density().by_category()


def _draw(model: AutoencoderModule, posterior: Posterior, rows: Tensor, number: int) -> Tensor:
    """A code with the category of each discrete latent in place of its relaxation: so a bound is a bound."""
    latents = model.latents
    noise = draws.normal(rows, "it learns", number, (latents.num_noise,)).float()
    discrete = range(latents.num_latents - latents.num_discrete, latents.num_latents)
    return with_categories(posterior.rsample(noise), latents.widths, discrete)


def _log_likelihood(model: AutoencoderModule, x: Tensor, z: Tensor) -> Tensor:
    return model.likelihood.log_prob(x, model.decoder(with_noise_inputs(z, model.noise_inputs)))


def _rate(codes: Codes, num_samples: int) -> tuple[float, dict[str, float]]:
    """The rate over all images, and its parts; NaN for codes without a density."""
    try:
        score = ELBODecomposition(Sampled(num_samples=num_samples))(codes)
    except CodesError:
        return math.nan, dict.fromkeys(("mutual_information", "total_correlation", "dimension_wise_kl"), math.nan)
    return score.parts["kl"].value, {
        "mutual_information": score.parts["mutual_information"].value,
        "total_correlation": score.value,
        "dimension_wise_kl": score.parts["dimension_wise_kl"].value,
    }


def _mig(codes: Codes) -> float:
    """MIG; for codes without a density, from bins."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*never vary", category=UserWarning)
        has_density = codes.marginal_std is not None and bool((codes.marginal_std > 0).all())
        return (MIG() if has_density else MIG(Quantised()))(codes).value


@torch.no_grad()
def _accuracy_of(model: AutoencoderModule, images: FactorImages) -> float:
    found = torch.cat([posterior.probabilities[0].argmax(dim=1) for _, _, posterior in _blocks(model, images)])
    return label_accuracy(found, images.values[:, 0])
