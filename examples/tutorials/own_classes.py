# %% [markdown]
# # Your own net, objective and metric
#
# A net, an objective and a metric are frozen dataclasses with their settings as fields. No registration is needed:
# pass an instance wherever unbraid takes a built-in one. The folder of a run stores its config and your source.
#
# Runs in about ten seconds on one core. A real run has 2,000 to 10,000 steps on 64 x 64 pixels: the same code
# then takes minutes on a GPU, where all seeds train side by side.

# %%
from dataclasses import dataclass
from math import prod
from typing import ClassVar, final

from torch import nn

from unbraid import Autoencoder, DSprites, RunSpec, figures, train
from unbraid.metrics import Metric, Score
from unbraid.metrics.metric import Feature, Interval
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.score_table import score_table
from unbraid.models import Architecture
from unbraid.models.distributions import GaussianLatents, Latents
from unbraid.objectives import Loss, Objective, Step
from unbraid.training.optimizers import Adam

# %% [markdown]
# ## A net
#
# An architecture creates two plain modules: the encoder maps images to the parameters of q(z | x), and the decoder
# maps codes to images.


# %%
@final
@dataclass(frozen=True)
class SmoothNet(Architecture):
    """Two layers with a GELU between them, on both sides."""

    width: int = 64

    def make_encoder(self, image_shape: tuple[int, int, int], latents: Latents) -> nn.Module:
        return nn.Sequential(nn.Flatten(), *self._layers(prod(image_shape), latents.num_parameters))

    def make_decoder(self, num_inputs: int, image_shape: tuple[int, int, int]) -> nn.Module:
        return nn.Sequential(*self._layers(num_inputs, prod(image_shape)), nn.Unflatten(1, image_shape))

    def _layers(self, num_inputs: int, num_outputs: int) -> list[nn.Module]:
        return [nn.Linear(num_inputs, self.width), nn.GELU(), nn.Linear(self.width, num_outputs)]


# %% [markdown]
# ## An objective
#
# An objective is a formula for one model and one batch, written with plain tensors. unbraid maps it over all members
# of a fleet. This one sets a target for the rate in nats, and penalizes the distance from it.


# %%
@final
@dataclass(frozen=True)
class RateTarget(Objective):
    """distortion + weight |rate - target|."""

    target: float = 5.0
    weight: float = 10.0

    def __call__(self, step: Step) -> Loss:
        distortion = -step.log_likelihood.mean()
        rate = step.prior.kl_from(step.posterior, step.z).sum(dim=1).mean()
        total = distortion + self.weight * (rate - self.target).abs()
        return Loss(total, {"distortion": distortion, "rate": rate})


# %% [markdown]
# ## A metric
#
# A metric reads only codes, and declares the codes that it accepts.


# %%
@final
@dataclass(frozen=True)
class ActiveUnits(Metric):
    """The share of latents whose mean varies over images by more than `threshold`."""

    bounds: ClassVar[Interval] = (0.0, 1.0)
    higher_is_better: ClassVar[bool | None] = None
    needs_factors: ClassVar[bool] = False

    threshold: float = 0.1

    @property
    def accepts(self) -> frozenset[Feature]:
        return frozenset({"continuous factors", "missing labels", "means without std"})

    def measure(self, statistics: Statistics) -> Score:
        variances = statistics.codes.mean.double().var(dim=0)
        value = (variances > self.threshold).double().mean().item()
        return Score("ActiveUnits", value, per_latent=tuple(variances.tolist()), settings=self.settings)


# %% [markdown]
# ## Train and score
#
# Members of a fleet may differ in every float field of an objective, so three targets train side by side in one
# fleet.

# %%
sprites = DSprites(resolution=16, shapes=("heart",), num_scales=3, num_orientations=1, num_positions=8)
model = Autoencoder(SmoothNet(), latents=GaussianLatents(6))
targets = (1.0, 3.0, 6.0)
specs = [
    RunSpec(sprites, model, RateTarget(target), num_steps=300, batch_size=64, optimizer=Adam(4e-3))
    for target in targets
]
runs = train(specs)

# %%
rates = zip(*(run.history["rate"][::10] for run in runs), strict=True)
figures.latent_curves(
    runs[0].history["step"][::10], list(rates), [f"target {each:g}" for each in targets], label="rate (nats)"
)

# %% [markdown]
# The rate of each model is close to its target. The metric shows the share of active latents,
# and the scores of the model show the distortion at this rate:

# %%
score_table(
    {
        f"target {target:g}": run.score([ActiveUnits(), "elbo", "reconstruction-error"])
        for target, run in zip(targets, runs, strict=True)
    }
)

# %%
runs[-1].traverse(latents=range(4), num_frames=8)

# %% [markdown]
# ## Contents of the run folder
#
# The folder of a run holds the source of these classes, and its name includes a digest of that source. If you change
# a formula, `train` trains a new run.

# %%
print(runs[0].name)
print(sorted(path.name for path in (runs[0].folder / "source").iterdir()))

# %% [markdown]
# Next: [Classes of your own](../extending.md) describes custom datasets, latents, estimators and optimizers, and the
# limits of code in a fleet.
