"""Small nets that predict factors from latents and are trained together."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid._internal.progress import Event, emit
from unbraid.metrics.predicting.factor_predictors import Losses
from unbraid.metrics.predicting.prediction_tasks import PredictionTask, standardized_like

# Approximate number of hidden activations in a block of test rows: 128 MB.
_BLOCK_NUMBERS = 16_000_000
# Logit of padded classes, which have the probability 0.
_NEVER = -1e30
PROBE_RANGES: dict[str, tuple[float, float]] = {"num_steps": (1, 10**7), "learning_rate": (1e-12, sys.float_info.max)}
"""Allowed ranges of the settings for training probes."""


@final
@dataclass(frozen=True, eq=False)
class Probe:
    """Net that predicts a factor, with one hidden layer of `hidden` units, or a linear map if `hidden` is 0.

    The inputs are all latents except `hides`. The output is the value of the factor or, if the net `classifies`, a
    logit for each value.
    """

    task: PredictionTask
    hidden: int
    classifies: bool
    hides: tuple[int, ...] = ()

    @property
    def num_outputs(self) -> int:
        return len(self.task.train_labels.unique()) if self.classifies else 1

    @property
    def num_parameters(self) -> int:
        """Number of weights and biases."""
        num_latents, outputs = self.task.train_codes.shape[1] - len(self.hides), self.num_outputs
        if self.hidden == 0:
            return (num_latents + 1) * outputs
        return (num_latents + 1) * self.hidden + (self.hidden + 1) * outputs

    def targets(self) -> Float64[Tensor, " train"]:
        """Returns the training targets: class indices, or standardized values."""
        labels = self.task.train_labels
        if self.classifies:
            return labels.unique(return_inverse=True)[1].double()
        return standardized_like(labels.double(), labels.double())

    def losses(self, outputs: Float64[Tensor, "test output"]) -> Losses:
        """Returns the losses of outputs on the test rows: squared residuals, or 1 for a wrong value."""
        task = self.task
        if self.classifies:
            predicted = task.train_labels.unique()[outputs[:, : self.num_outputs].argmax(dim=1)]
            return Losses((predicted != task.test_labels).double(), None)
        values = standardized_like(task.test_labels.double(), task.train_labels.double())
        return Losses((outputs[:, 0] - values).square(), values)


@final
@dataclass(frozen=True)
class ProbeTraining:
    """Settings of training with Adam and a cosine learning rate schedule to zero."""

    num_steps: int = 300
    batch_size: int = 256
    learning_rate: float = 1e-2
    seed: int = 0

    def rate(self, step: int) -> float:
        return self.learning_rate * (1 + math.cos(math.pi * step / self.num_steps)) / 2

    def batch(self, step: int) -> Float64[Tensor, " batch"]:
        """Returns the rows of a batch as fractions of the number of rows, from 0 to 1."""
        return row_draws.rand((self.batch_size,), self.seed, f"probes/batch/{step}")


def trained_probes(probes: Sequence[Probe], training: ProbeTraining, device: torch.device) -> list[Losses]:
    """Trains all probes together, and returns the losses of each probe on the test rows of its task.

    The probes are trained as one batched net with a leading probe axis. Smaller probes are padded and masked, so the
    result of a probe does not depend on the other probes, and many probes take little longer than one probe.
    """
    fleet = _Fleet.of(probes, device)
    weights = fleet.initial_weights(training.seed)
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    for step in range(training.num_steps):
        emit(Event("probes", step, training.num_steps, "steps"))
        places = training.batch(step).to(device)
        leaves = [weight.detach().requires_grad_() for weight in weights]
        with torch.enable_grad():
            gradients = torch.autograd.grad(fleet.loss(leaves, places), leaves)
        weights = [
            _after_adam(weight, gradient, pair, step, training.rate(step))
            for weight, gradient, pair in zip(weights, gradients, moments, strict=True)
        ]
    return fleet.losses(weights)


def _after_adam(weight: Tensor, gradient: Tensor, moments: tuple[Tensor, Tensor], step: int, rate: float) -> Tensor:
    mean, square = moments
    mean.lerp_(gradient, 0.1)
    square.lerp_(gradient.square(), 0.001)
    scale = (square / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
    return weight - rate * mean / (1 - 0.9 ** (step + 1)) / scale


@final
@dataclass(frozen=True, eq=False)
class _Masks:
    """Masks of the latents, units and outputs of each probe, and of the linear probes."""

    sees: Float64[Tensor, "probe 1 latent"]
    units: Float64[Tensor, "probe 1 unit"]
    outputs: Bool[Tensor, "probe 1 output"]
    is_linear: Float64[Tensor, "probe 1 1"]

    def of(self, probe: int) -> "_Masks":
        """Returns the masks of one probe."""
        return _Masks(*(mask[probe, None] for mask in (self.sees, self.units, self.outputs, self.is_linear)))

    def predicted(
        self, weights: Sequence[Tensor], codes: Float64[Tensor, "probe row latent"]
    ) -> Float64[Tensor, "probe row output"]:
        """Returns the outputs of all probes."""
        hidden_weights, hidden_biases, output_weights, output_biases, linear = weights
        codes = codes * self.sees
        hidden = (codes @ hidden_weights + hidden_biases).relu() * self.units
        found = hidden @ output_weights + output_biases + (codes @ linear) * self.is_linear
        return torch.where(self.outputs, found, _NEVER)


@final
@dataclass(frozen=True, eq=False)
class _Fleet:
    """Training rows of all probes, padded to the largest number of rows, and their masks."""

    probes: tuple[Probe, ...]
    codes: Float64[Tensor, "task row latent"]
    targets: Float64[Tensor, "probe row"]
    num_rows: Int64[Tensor, " probe"]
    task: Int64[Tensor, " probe"]
    classifies: Bool[Tensor, "probe 1"]
    masks: _Masks

    @classmethod
    def of(cls, probes: Sequence[Probe], device: torch.device) -> "_Fleet":
        tasks = {id(probe.task): probe.task for probe in probes}
        num_latents = probes[0].task.train_codes.shape[1]

        def mask(size: int, has: Callable[[Probe], list[int]]) -> Tensor:
            each = torch.zeros(len(probes), 1, size, dtype=torch.float64)
            for number, probe in enumerate(probes):
                each[number, 0, has(probe)] = 1.0
            return each.to(device)

        def padded(parts: Sequence[Tensor]) -> Tensor:
            return torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True).to(device)

        return cls(
            probes=tuple(probes),
            codes=padded([standardized_like(task.train_codes, task.train_codes) for task in tasks.values()]),
            targets=padded([probe.targets() for probe in probes]),
            num_rows=torch.tensor([len(probe.task.train_labels) for probe in probes], device=device),
            task=torch.tensor([list(tasks).index(id(probe.task)) for probe in probes], device=device),
            classifies=torch.tensor([[probe.classifies] for probe in probes], device=device),
            masks=_Masks(
                mask(num_latents, lambda probe: [i for i in range(num_latents) if i not in probe.hides]),
                mask(max(1, *(probe.hidden for probe in probes)), lambda probe: list(range(probe.hidden))),
                mask(max(probe.num_outputs for probe in probes), lambda probe: list(range(probe.num_outputs))) > 0,
                mask(1, lambda probe: [0] if probe.hidden == 0 else []),
            ),
        )

    def initial_weights(self, seed: int) -> list[Tensor]:
        """Returns weights and biases of the hidden layer and the output layer, and the weights of linear probes.

        The weights are uniform within +-1 / sqrt(inputs), as in torch, and do not depend on other probes.
        """
        num_latents, num_units, num_outputs = (
            each.shape[2] for each in (self.codes, self.masks.units, self.masks.outputs)
        )
        sizes = ((num_latents, num_units), (1, num_units), (num_units, num_outputs), (1, num_outputs))
        weights = [torch.zeros(len(self.probes), *size).double() for size in (*sizes, (num_latents, num_outputs))]
        for number, probe in enumerate(self.probes):
            units, outputs, inside = probe.hidden, probe.num_outputs, probe.hidden or num_latents
            own = ((num_latents, units), (1, units), (units, outputs), (1, outputs), (num_latents, outputs))
            for place, (shape, inputs) in enumerate(
                zip(own, (num_latents, num_latents, inside, inside, num_latents), strict=True)
            ):
                draws = 2 * row_draws.rand(shape, seed, f"probes/weights/{place}") - 1
                weights[place][number, : shape[0], : shape[1]] = draws / math.sqrt(inputs)
        return [weight.to(self.codes.device) for weight in weights]

    def loss(self, weights: Sequence[Tensor], places: Float64[Tensor, " batch"]) -> Float64[Tensor, ""]:
        """Returns the sum over probes of the mean loss on a batch. Gradients of probes are independent."""
        rows = (places * self.num_rows[:, None]).long()
        found = self.masks.predicted(weights, self.codes[self.task[:, None], rows])
        targets = self.targets.gather(1, rows)
        classes = torch.where(self.classifies, targets, 0.0).long()
        entropy = -found.log_softmax(dim=2).gather(2, classes[:, :, None])[:, :, 0]
        return torch.where(self.classifies, entropy, (found[:, :, 0] - targets).square()).mean(dim=1).sum()

    def losses(self, weights: Sequence[Tensor]) -> list[Losses]:
        """Returns the losses of each probe on its test rows."""
        found = []
        for number, probe in enumerate(self.probes):
            masks, own = self.masks.of(number), [weight[number, None] for weight in weights]
            codes = standardized_like(probe.task.test_codes, probe.task.train_codes).to(self.codes.device)
            blocks = codes.split(max(1, _BLOCK_NUMBERS // masks.units.shape[2]))
            found.append(probe.losses(torch.cat([masks.predicted(own, block[None])[0] for block in blocks]).cpu()))
        return found
