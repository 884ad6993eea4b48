"""One pass of images through a trained model, for all scores of it that were asked for."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid._internal.precision import Precision, matrix_units
from unbraid._internal.progress import Event, emit
from unbraid.datasets.dataset import FactorImages
from unbraid.metrics.metric import Score, Value
from unbraid.metrics.model.model_score import ModelScore
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.elbo import CodedImages

_IMAGES_AT_ONCE = 1024
# A GPU takes as many images at once as have so many pixels: what a convolution puts out in between stays near 1 GB.
_PIXELS_ON_A_GPU = 2**25


@final
@dataclass(frozen=True)
class Trained:
    """Holds a trained model, the images that it is scored on, with their weights, and what its nets multiply in."""

    model: AutoencoderModule
    images: FactorImages
    precision: Precision = "float32"


@torch.no_grad()
def measure(scores: Mapping[str, ModelScore], trained: Trained) -> dict[str, Score]:
    """Returns these scores of a model by their names, from one pass over all images. Images with weights p(n) count by
    them.
    """
    if not scores:
        return {}
    images = trained.images
    rows, found = torch.arange(len(images), device=images.device), defaultdict(list)
    with matrix_units(trained.precision, images.device):
        for block in rows.split(_at_once(images)):
            coded = CodedImages(trained.model, images, block)
            for name, score in scores.items():
                for part, values in score.per_image(coded).items():
                    found[name, part].append(values)
            emit(Event("the model on its images", int(block[-1]) + 1, len(images), "images"))
    p = torch.ones(len(images), dtype=torch.float64) if images.weights is None else images.weights.double().cpu()
    numbers = {key: _mean(torch.cat(values).cpu(), p / p.sum()) for key, values in found.items()}
    return {name: _score(name, score, numbers) for name, score in scores.items()}


def _at_once(images: FactorImages) -> int:
    on_a_gpu = max(_IMAGES_AT_ONCE, _PIXELS_ON_A_GPU // math.prod(images.image_shape))
    return _IMAGES_AT_ONCE if images.device.type == "cpu" else on_a_gpu


def _score(name: str, score: ModelScore, numbers: Mapping[tuple[str, str], Value]) -> Score:
    value = numbers[name, "value"]
    parts = {part: number for (of, part), number in numbers.items() if of == name and part != "value"}
    return Score(type(score).__name__, value.value, value.interval, parts=parts, settings=score.settings)


def _mean(values: Float64[Tensor, " image"], p: Float64[Tensor, " image"]) -> Value:
    """Returns the mean over images, and where it would lie for other samples of as many."""
    mean = float(p @ values)
    if len(values) < 2:
        return Value(mean)
    spread = math.sqrt(float(p.square() @ (values - mean).square()) * len(values) / (len(values) - 1))
    return Value.from_standard_error(mean, spread)
