"""Base class of scores of a model, and their computation in one pass over the images."""

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid._internal.precision import Precision, matrix_units
from unbraid._internal.progress import Event, emit
from unbraid.config import Config, text_of
from unbraid.config.text import split
from unbraid.datasets.dataset import FactorImages
from unbraid.metrics.metric import Score, Value
from unbraid.metrics.settings import check_sizes, settings_of
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.elbo import CodedImages

PerImage = Mapping[str, Float64[Tensor, " row"]]

_IMAGES_AT_ONCE = 1024
# Number of pixels of a batch on a GPU, for which the outputs of a convolution take about 1 GB.
_PIXELS_ON_A_GPU = 2**25


@dataclass(frozen=True)
class ModelScore(Config, ABC):
    """Base class of scores of a trained model that are means of per-image values. The fields are the settings.

    `higher_is_better` is None if neither higher nor lower values are better. `needs_density` is True if q(z | x) must
    have a density or probabilities.
    """

    quantity: ClassVar[str]
    higher_is_better: ClassVar[bool | None]
    needs_density: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Checks the types and ranges of the settings. Overrides must call this method first."""
        super().__post_init__()
        check_sizes(self)

    @property
    def title(self) -> str:
        """Name of the value and the settings that differ from their defaults."""
        _, *settings = split(text_of(self), ":")
        return ", ".join([self.quantity, *(word.replace("_", " ") for word in settings)])

    @abstractmethod
    def per_image(self, coded: CodedImages) -> PerImage:
        """Returns "value" and the parts of the score by name, for each image of the batch."""

    @final
    def refusal(self, model: AutoencoderModule) -> str:
        """Returns the reason why a model cannot be scored, or an empty string if it can."""
        if not self.needs_density or model.latents.has_density:
            return ""
        return (
            f"{type(model.latents).__name__} have no density; expected latents with a density of q(z | x) for "
            f"{type(self).__name__}. Use Distortion or ReconstructionError."
        )

    @property
    def settings(self) -> dict[str, Any]:
        """All settings by name."""
        return settings_of(self)


@final
@dataclass(frozen=True)
class Trained:
    """Trained model, the images for its scores, and its matmul precision."""

    model: AutoencoderModule
    images: FactorImages
    precision: Precision = "float32"


@torch.no_grad()
def measure(scores: Mapping[str, ModelScore], trained: Trained) -> dict[str, Score]:
    """Computes scores of a model in one pass over all images, weighted by p(n)."""
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
    """Returns the weighted mean over images with its interval."""
    mean = float(p @ values)
    if len(values) < 2:
        return Value(mean)
    spread = math.sqrt(float(p.square() @ (values - mean).square()) * len(values) / (len(values) - 1))
    return Value.from_standard_error(mean, spread)
