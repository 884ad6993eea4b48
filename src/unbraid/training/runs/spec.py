"""RunSpec: the complete configuration of a run, except its seed."""

import functools
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, final

import torch
from torch import nn
from torch.utils.data import Dataset

from unbraid._internal.precision import Precision, kept_in
from unbraid.config import Config, to_json
from unbraid.config.annotations import default_of
from unbraid.config.digest import digest, user_source
from unbraid.config.paths import with_fields
from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.datasets.subsets import Subset
from unbraid.datasets.training_data import TrainingData
from unbraid.datasets.weights import Joint
from unbraid.errors import SpecError
from unbraid.models.autoencoder import Autoencoder
from unbraid.objectives.beta_tcvae import BetaTCVAE
from unbraid.objectives.objective import Objective
from unbraid.training.critic import Critic
from unbraid.training.optimizers.adam import Adam
from unbraid.training.optimizers.optimizer import Optimizer

# Far above the loss of any model of images that does not diverge.
_MAX_LOSS = 1e9


@final
@dataclass(frozen=True)
class RunSpec(Config):
    """Configuration of a training run: images, model, objective, optimizer and number of steps.

    Examples:
        >>> from unbraid import BetaVAE, DSprites
        >>> spec = RunSpec(DSprites(), objective=BetaVAE(beta=4.0), num_steps=5_000)
        >>> spec.objective.beta, spec.batch_size
        (4.0, 64)
    """

    dataset: FactorDataset
    """Dataset of training images."""
    model: Autoencoder = field(default_factory=Autoencoder)
    """Model: the nets, the latents and the likelihood."""
    objective: Objective = field(default_factory=BetaTCVAE)
    """Training objective."""
    critic: Critic | None = None
    """Nets and optimizer of the critic, for objectives with a critic (default: `Critic()`)."""
    num_steps: int = 10_000
    """Number of training steps."""
    batch_size: int = 64
    """Number of images per step."""
    optimizer: Optimizer = field(default_factory=Adam)
    """Optimizer of the model. A critic has a separate optimizer."""
    max_gradient_norm: float | None = None
    """Maximum gradient norm of each model, enforced by clipping, or None for no clipping."""
    precision: Precision = "float32"
    """Matmul precision of the nets."""
    sampling: Joint | None = None
    """Sampling probabilities of the images (default: uniform, or the weights of the dataset)."""
    subset: Subset | None = None
    """Subset of the images used for training (default: all images)."""
    max_loss: float = _MAX_LOSS
    """Maximum loss in nats per image. A run with a larger or infinite loss fails."""

    def __post_init__(self) -> None:
        given: Any = self.dataset
        if isinstance(given, Dataset) and not isinstance(given, FactorDataset):
            raise SpecError(
                f"RunSpec: dataset is a {type(given).__name__}; expected a config such as DSprites(). Convert a torch "
                "dataset with unbraid.datasets.from_torch."
            )
        super().__post_init__()
        self.check()

    @classmethod
    def unchecked(cls, **values: Any) -> "RunSpec":
        """Creates a spec from values of the correct types without calling `check`, reading data or building nets."""
        spec = object.__new__(cls)
        for each in fields(cls):
            object.__setattr__(spec, each.name, values.get(each.name, default_of(each)))
        return spec

    def check(self) -> None:
        """Raises an error if the spec cannot be trained. Nets are built without memory for weights."""
        if self.num_steps < 1:
            raise SpecError(f"num_steps is {self.num_steps}; expected 1 or more. Use e.g. num_steps=10_000.")
        if not 2 <= self.batch_size <= self.dataset.num_images:
            raise SpecError(
                f"batch_size is {self.batch_size}; expected 2 to {self.dataset.num_images}, the number of images of "
                "the dataset. Use e.g. batch_size=64."
            )
        if self.max_gradient_norm is not None and not 0 < self.max_gradient_norm < math.inf:
            raise SpecError(
                f"max_gradient_norm is {self.max_gradient_norm}; expected a finite number > 0. Use e.g. 1.0."
            )
        if not math.isfinite(self.max_loss):
            raise SpecError(
                f"max_loss is {self.max_loss}; expected a finite number of nats per image. Use e.g. {_MAX_LOSS:g}."
            )
        if self.objective.is_bound:
            raise SpecError(
                f"The objective of a spec is {self.objective}; expected weights that are numbers or schedules. Convert "
                "tensors with float(weight)."
            )
        if self.critic is not None and self.objective.critic_reads is None:
            raise SpecError(f"Got a critic for {type(self.objective).__name__}, which has no critic. Omit critic.")
        self.training_data.check()
        if self.sampling is not None:
            self.objective.check_image_weights()
        self.objective.check(self.model)
        self._check_nets()

    def _check_nets(self) -> None:
        """Raises an error if the nets cannot be built for these images, or are too large for any memory."""
        likelihood = self.model.likelihood
        if self.dataset.holds_vectors and likelihood.of_intensities:
            raise SpecError(
                f"The data are vectors of real numbers, and {type(likelihood).__name__} is for values from 0 to 1. "
                "Use Autoencoder(MLP(), likelihood=GaussianLikelihood()), or another likelihood of real numbers."
            )
        try:
            _check_nets(*self._nets)
        except (RuntimeError, TypeError, OverflowError) as error:
            reason = str(error).partition("\n")[0]
            raise SpecError(
                f"The nets of this spec cannot be built ({reason}). Use fewer channels, units or latents."
            ) from error

    def with_(self, changes: Mapping[str, Any] | None = None, /, **fields: Any) -> "RunSpec":
        """Returns a copy of the spec with other values of fields, given by name or by dotted path.

        Examples:
            >>> from unbraid import BetaVAE, DSprites
            >>> spec = RunSpec(DSprites(), objective=BetaVAE(beta=4.0))
            >>> spec.with_({"objective.beta": 8, "num_steps": 500}).objective
            BetaVAE(beta=8.0)
        """
        if not isinstance(changes, Mapping | None):
            raise SpecError(f'The changes are {changes!r}. Pass values by field, e.g. {{"objective.beta": 8}}.')
        changed: RunSpec = with_fields(self, {**(changes or {}), **fields})
        return changed

    @property
    def training_data(self) -> TrainingData:
        """Training data: the dataset with its subset and sampling weights."""
        return TrainingData(self.dataset, self.sampling, self.subset)

    def check_images(self, images: FactorImages) -> None:
        """Checks that there are enough images for a batch, and that the objective supports their weights."""
        if self.batch_size > len(images):
            raise SpecError(
                f"batch_size is {self.batch_size}; expected at most {len(images)}, the number of images of the subset. "
                "Use a smaller batch_size, or a larger subset."
            )
        if images.weights is not None:
            self.objective.check_image_weights()

    @property
    def critic_or_default(self) -> Critic:
        """Critic of the spec, or the default critic.

        The default critic of features shared with the encoder has one layer of 128 units and the learning rate of the
        InfoGAN paper.
        """
        if self.critic is not None or self.objective.critic_reads != "features":
            return self.critic or Critic()
        return Critic(hidden=(128,), optimizer=Adam(2e-4, betas=(0.5, 0.999)))

    def make_critic(self) -> nn.Module | None:
        """Creates the critic network with random weights from the global generator, or None without a critic."""
        return _make_critic(*self._nets)

    @property
    def _nets(self) -> "_Nets":
        """Model, critic, and all other settings on which the nets depend."""
        objective = self.objective
        return (
            self.model,
            self.dataset.image_shape,
            self.critic_or_default,
            objective.critic_reads,
            objective.critic_outputs,
        )

    def to_json(self) -> dict[str, Any]:
        return to_json(self)

    @property
    def digest(self) -> str:
        """Digest of all fields and of the source of user classes: twelve hexadecimal digits."""
        # Not cached with user classes, whose code may change when a module is reloaded or a cell is run again.
        return digest(self) if user_source(self) else self._digest_of_fields

    @functools.cached_property
    def _digest_of_fields(self) -> str:
        return digest(self)

    @property
    def dtype(self) -> torch.dtype:
        """Data type of weights, losses and codes."""
        return kept_in(self.precision)


_Nets = tuple[Autoencoder, tuple[int, int, int], Critic, str | None, int]


def _make_critic(
    model: Autoencoder, image_shape: tuple[int, int, int], critic: Critic, reads: str | None, num_outputs: int
) -> nn.Module | None:
    """Creates a critic of codes, of images, or of the features before the last layer of the encoder."""
    if reads is None:
        return None
    if reads == "images":
        return critic.for_images(image_shape, num_outputs)
    num_inputs = model.latents.num_columns if reads == "codes" else model.num_features(image_shape)
    return critic.for_codes(num_inputs, num_outputs)


@functools.lru_cache(maxsize=32)
def _check_nets(*nets: *_Nets) -> None:
    """Checks nets once for all specs with the same nets, because a study may have thousands of specs."""
    model, image_shape, *_ = nets
    model.check(image_shape)
    with torch.device("meta"):
        _make_critic(*nets)


def whole_seed(seed: Any) -> int:
    """Converts an integer type of any library to int. Raises an error for integers outside 0 to 2**63 - 1."""
    try:
        number = None if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = None
    if number is None or not 0 <= number < 2**63:
        raise SpecError(f"A seed is {seed!r}; expected an integer from 0 to 2**63 - 1. Use e.g. seeds=[0, 1, 2].")
    return number
