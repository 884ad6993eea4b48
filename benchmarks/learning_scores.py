"""What `benchmarks.it_learns` measures of a trained model: its ELBO with all parts, bounds on held-out images, MIG, and
labels found without labels.
"""

import math
import warnings
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from torch import Tensor

from unbraid.codes import Codes
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import CodesError
from unbraid.metrics import MIG, ELBODecomposition, Informativeness
from unbraid.metrics.estimators import Quantized, Sampled
from unbraid.metrics.metric import Score
from unbraid.metrics.model import Distortion, ImportanceWeightedBound, ModelScore, Trained, measure
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encode


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
    bound = None
    if held_out is not None and model.latents.has_density:
        bound = of_model(ImportanceWeightedBound(), model, held_out)
    categories = codes.probabilities[0].argmax(dim=1) if codes.probabilities else None
    return Learned(
        distortion=of_model(Distortion(), model, images).value,
        rate=rate,
        mutual_information=parts["mutual_information"],
        total_correlation=parts["total_correlation"],
        dimension_wise_kl=parts["dimension_wise_kl"],
        mig=_mig(codes) if has_factors else math.nan,
        held_out_elbo=math.nan if bound is None else bound.parts["elbo"].value,
        held_out_bound=math.nan if bound is None else bound.value,
        accuracy=math.nan if categories is None else label_accuracy(categories, images.values[:, 0]),
        held_out_accuracy=math.nan if categories is None or held_out is None else _accuracy_of(model, held_out),
    )


def of_model(score: ModelScore, model: AutoencoderModule, images: FactorImages) -> Score:
    """The score of a model on these images, as a run keeps it."""
    return measure({"score": score}, Trained(model, images))["score"]


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


def quantized_conditional_entropy(codes: Codes) -> float:
    """The greatest H(z_j | x) of any latent in 100 bins, in nats."""
    return float(Informativeness(Quantized())(codes).tables["latent_entropy_given_image"].max())


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
        return (MIG() if has_density else MIG(Quantized()))(codes).value


def _accuracy_of(model: AutoencoderModule, images: FactorImages) -> float:
    return label_accuracy(encode(model, images).probabilities[0].argmax(dim=1), images.values[:, 0])
