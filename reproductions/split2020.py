"""Code of split2020.toml: the split encoder, an anonymous submission to ICLR 2020."""

import math
import statistics
import tempfile
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from reproductions.item import Code, Scale, Scores, family_and_weight, per_run
from reproductions.pictures import best_latents
from reproductions.scales import Reduction
from unbraid import VAE, Autoencoder, BetaVAE, Conv, DSprites, RunSpec, figures, train
from unbraid.datasets import Cars3D, ShadedFaces
from unbraid.metrics import Lemma2Gap
from unbraid.metrics.estimators import Sampled
from unbraid.models import DisentanglementLibConv, SharingConv, SplitConv
from unbraid.models.distributions import CorrelatedGaussianLatents, GaussianLatents
from unbraid.objectives import FactorVAE, Objective
from unbraid.training import Critic
from unbraid.training.optimizers import Adam

_VAE, _BETA, _FACTOR = "VAE", "beta-VAE", "FactorVAE"
MIG_OF_MEANS, DISTORTION, RATE = "mig:means-histogram", "distortion", "rate"
_BASELINE = Conv(hidden=256)
NETS = {
    "baseline": _BASELINE,
    "correlated noise": _BASELINE,
    "sharing": SharingConv(),
    "sharing of equal size": SharingConv((58, 58, 116, 116)),
    "split": SplitConv(),
    "split of equal size": SplitConv((32, 32, 64, 16), branch_width=64),
    "small kernels": DisentanglementLibConv(),
}
"""The encoders. Those of equal size have about the 383,000 weights of the baseline."""
LAPTOP = Reduction(
    {
        DSprites: {"resolution": 32, "num_scales": 4, "num_orientations": 1, "num_positions": 12},
        ShadedFaces: {"resolution": 32, "num_identities": 20, "num_azimuths": 12},
    },
    {Objective: 3_000},
    width=0.25,
    spec={"precision": "float32", "batch_size": 32},
    critic_learning_rate=1e-3,
)


def family(label: str) -> str:
    """Returns the encoder of a label: settings of one encoder have one color."""
    return label.partition(", ")[2]


def spec(data: str, scale: Scale, label: str) -> RunSpec:
    """Returns what is trained: "VAE, split", "FactorVAE 20". Weights are not stated: 4 and 35 at quick, 4 and 40 at paper,
    until calibrated.
    """
    (objective, weight), encoder = family_and_weight(label.partition(", ")[0]), label.partition(", ")[2] or "baseline"
    has_critic, is_long = objective == _FACTOR, scale == "paper"
    weight = weight if weight > 1 else 4.0 if not has_critic else 40.0 if is_long else 35.0
    losses = {_VAE: VAE(), _BETA: BetaVAE(weight), _FACTOR: FactorVAE(gamma=weight, same_batch=True)}
    latents = CorrelatedGaussianLatents(10, rho=0.9) if encoder == "correlated noise" else GaussianLatents(10)
    like_cars = ShadedFaces(num_identities=183, num_azimuths=24, num_elevations=4, num_lightings=1)
    return RunSpec(
        {"dsprites": DSprites(), "cars3d": Cars3D()}.get(data, like_cars),
        Autoencoder(NETS[encoder], NETS[encoder] if encoder == "small kernels" else _BASELINE, latents),
        losses[objective],
        critic=Critic(hidden=(1000,) * 6, optimizer=Adam(1e-4, betas=(0.5, 0.9))) if has_critic else None,
        num_steps=60_000 if not is_long else 150_000 if has_critic else 300_000,
        batch_size=64,
        optimizer=Adam(1e-4 if is_long else 1e-3),
        precision="bf16",
    )


_IMAGE_SHAPE, _NUM_LATENTS = (1, 64, 64), 10


def compute_layers(label: str, seed: int) -> dict[str, float]:
    """Counts layers and weights of an encoder, and those that move one latent alone."""
    model = Autoencoder(NETS[label], latents=GaussianLatents(_NUM_LATENTS)).build(_IMAGE_SHAPE, seed)
    encoder, x = model.encoder, torch.linspace(0, 1, 2 * 64 * 64).reshape(2, *_IMAGE_SHAPE)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.abs_()  # so that no ReLU is silent, and a gradient of 0 means that there is no path
    of_modules = (list(module.parameters(recurse=False)) for module in encoder.modules())
    weights = [parameters for parameters in of_modules if parameters]
    influences = [_influence(encoder, x, latent, weights) for latent in range(_NUM_LATENTS)]
    by_layer = [torch.stack([of_latent[layer] for of_latent in influences]) for layer in range(len(weights))]
    moved_by_one = [(layer > 0).sum(dim=0) == 1 for layer in by_layer]
    others = [float(layer.sort(dim=0).values[-2].max()) for layer in by_layer]  # of each weight, the second latent
    return {
        "layers": len(weights),
        "layers_of_one_latent": sum(bool(layer.all()) for layer in moved_by_one),
        "weights": sum(layer.numel() for layer in moved_by_one),
        "weights_of_one_latent": sum(int(layer.sum()) for layer in moved_by_one),
        "gradient_between_latents": max(others[-3 if label.startswith("split") else -1 :]),
    }


def _influence(encoder: nn.Module, x: Tensor, latent: int, weights: list[list[nn.Parameter]]) -> list[Tensor]:
    """Returns the size of the gradient of the mean and the log-variance of a latent with respect to every weight."""
    outputs = encoder(x)
    total = outputs[:, latent].sum() + outputs[:, _NUM_LATENTS + latent].sum()
    flat = [parameter for layer in weights for parameter in layer]
    gradients = iter(torch.autograd.grad(total, flat, materialize_grads=True))
    return [torch.cat([next(gradients).abs().flatten() for _ in layer]) for layer in weights]


def _off_the_axes(of_run: Any, label: str) -> float:
    """Returns how far distortion and KL of a run lie from the printed axes of its objective, as a share of them."""
    axes = {
        _VAE: ((DISTORTION, 17.2, 18.8),),
        _BETA: ((DISTORTION, 42.5, 44.5), (RATE, 14.7, 15.1)),
        _FACTOR: ((DISTORTION, 48, 52), (RATE, 18, 21.5)),
    }
    objective = next(name for name in (_FACTOR, _BETA, _VAE) if label.startswith(name))
    return max(max(low - of_run[metric], of_run[metric] - high, 0.0) / high for metric, low, high in axes[objective])


def _off(scores: Scores) -> Scores:
    found: Scores = {}
    for label, by_metric in scores.items():
        found |= per_run({"off the axes": partial(_off_the_axes, label=label)})({label: by_metric})
    return found


def _interaction(scores: Scores) -> Scores:
    """Adds by how much the split encoder raises the MIG of a FactorVAE more than that of a VAE, seed by seed."""
    columns = [scores.get(f"{o}, {e}", {}).get(MIG_OF_MEANS, {}) for o in (_FACTOR, _VAE) for e in ("split", "baseline")]
    seeds = sorted(set.intersection(*map(set, columns)))
    a, b, c, d = columns
    return {"FactorVAE, split": {"interaction": {s: (a[s] - b[s]) - (c[s] - d[s]) for s in seeds}}}


CASES = tuple(f"{objective}, {net}" for objective in (_VAE, _FACTOR) for net in ("baseline", "correlated noise", "sharing", "split"))
_SUBSETS: dict[str, tuple[int, ...]] = {"": (), ":two": (0, 1), ":five": (0, 2, 4, 6, 8)}
_NUM_PAIRS = 10


def compute_lemmas(label: str, seed: int) -> dict[str, float]:
    """Trains a small model, and computes both sides for all latents, for two of them and for five."""
    with tempfile.TemporaryDirectory() as folder:
        [run] = train(_small(label), seeds=[seed], folder=folder, device="cpu", progress=False)
        codes = run.codes()
    found: dict[str, float] = {}
    for name, latents in _SUBSETS.items():
        gaps = [Lemma2Gap(estimator=Sampled(5_000, seed=pair), latents=latents, left_side_seed=1_000 + pair) for pair in range(_NUM_PAIRS)]
        pairs = [gap(codes) for gap in gaps]
        differences = [score.parts["difference"].value for score in pairs]
        error = statistics.stdev(differences) / math.sqrt(_NUM_PAIRS)
        found |= {
            f"right_side{name}": statistics.mean(score.value for score in pairs),
            f"left_side{name}": statistics.mean(score.parts["left_side"].value for score in pairs),
            f"difference{name}": statistics.mean(differences),
            f"difference_in_errors{name}": statistics.mean(differences) / error if error else 0.0,
            f"posterior_dependence{name}": pairs[0].parts["posterior_dependence"].value,
        }
        if not latents:
            nats = [float(score.tables["joint_informativeness"][0]) for score in pairs]
            found["information"] = statistics.mean(nats)
    return found


def _small(label: str) -> RunSpec:
    """Returns a small model on hearts."""
    made = replace(LAPTOP, width=0.5).of(spec("dsprites", "quick", label))
    hearts = DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=16)
    critic = made.critic and Critic(hidden=(64, 64), optimizer=Adam(1e-3, betas=(0.5, 0.9)))
    objective = FactorVAE(gamma=10.0, same_batch=True) if critic else made.objective
    if label.endswith("split"):
        made = replace(made, model=replace(made.model, encoder=SplitConv((16, 16, 32, 32), branch_width=32, hidden=128)))
    return replace(made, dataset=hearts, objective=objective, critic=critic, optimizer=Adam(2e-3))


def _draw_sizes(scores: Any) -> Any:
    values = {label: scores.of_seeds(label, "weights") for label in scores.settings}
    return figures.sorted_bars({label: each[0] for label, each in values.items() if each}, label="weights of the encoder")


_COUNTED = ("baseline", "sharing", "sharing of equal size", "split", "split of equal size")
_PICTURES = best_latents(("VAE, baseline", "VAE, split", "FactorVAE, baseline", "FactorVAE, split"), 2.0)
CODE: dict[str, Code] = {
    "lemmas": Code(compute=compute_lemmas, cases=dict.fromkeys(CASES, (0,))),
    "figure1": Code(compute=compute_layers, cases=dict.fromkeys(_COUNTED, (0,)), draw=_draw_sizes),
    "calibration": Code(derive=_off),
    "figure3": Code(derive=_interaction),
    "figure5": Code(derive=_interaction, pictures=_PICTURES),
    "figure8": Code(derive=_interaction, pictures=_PICTURES),
}
