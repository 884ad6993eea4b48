"""What a score of a model is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

from jaxtyping import Float64
from torch import Tensor

from unbraid.config import Config, text_of
from unbraid.config.text import split
from unbraid.metrics.settings import check_sizes, settings_of
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.elbo import CodedImages

PerImage = Mapping[str, Float64[Tensor, " row"]]


@dataclass(frozen=True)
class ModelScore(Config, ABC):
    """A mean over images of what a trained model makes of each. Its settings are its fields.

    `quantity` is what it is, in words. `higher_is_better` is None for one that is neither good nor bad. `needs_density`
    is True where q(z | x) must have a density or probabilities.
    """

    quantity: ClassVar[str]
    higher_is_better: ClassVar[bool | None]
    needs_density: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Checks types and sizes of the settings; a score with checks of its own calls this first."""
        super().__post_init__()
        check_sizes(self)

    @property
    def title(self) -> str:
        """Returns what the value is, in words, and the settings that are not those by default."""
        _, *settings = split(text_of(self), ":")
        return ", ".join([self.quantity, *(word.replace("_", " ") for word in settings)])

    @abstractmethod
    def per_image(self, coded: CodedImages) -> PerImage:
        """Returns "value" and the parts of the score by name, each a number for every image of the batch."""

    @final
    def refusal(self, model: AutoencoderModule) -> str:
        """Returns why a model has no such score; nothing if it has."""
        if not self.needs_density or model.latents.has_density:
            return ""
        return (
            f"{type(self).__name__} needs the density of q(z | x), and the codes of {type(model.latents).__name__} "
            "have none. Distortion and ReconstructionError do without."
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Returns every setting by name."""
        return settings_of(self)
