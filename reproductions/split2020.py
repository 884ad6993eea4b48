"""Code of split2020.toml: the split encoder, an anonymous submission to ICLR 2020."""

import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from reproductions import figure
from reproductions.item import Code, Experiment, Scale, Scores, per_run
from reproductions.pictures import best_latents
from unbraid import MIG, VAE, Autoencoder, BetaVAE, Conv, DSprites, RunSpec, figures, train
from unbraid.datasets import Cars3D, ShadedFaces
from unbraid.metrics import FactorVAEScore, Lemma2Gap
from unbraid.metrics.estimators import MeansHistogram, Sampled
from unbraid.metrics.model import Distortion, Rate
from unbraid.models import DisentanglementLibConv, SharingConv, SplitConv
from unbraid.models.distributions import CorrelatedGaussianLatents, GaussianLatents
from unbraid.objectives import FactorVAE
from unbraid.studies import Setting
from unbraid.training import Critic
from unbraid.training.optimizers import Adam

_BASELINE, _CORRELATED, _SHARING, _SPLIT, _KERNELS = "baseline", "correlated noise", "sharing", "split", "small kernels"
_SHARING_EQUAL, _SPLIT_EQUAL = "sharing of equal size", "split of equal size"
_VAE, _BETA, _FACTOR = "VAE", "beta-VAE", "FactorVAE"
_BETAS, _GAMMAS = (2.0, 4.0, 6.0, 8.0), (10.0, 20.0, 30.0, 40.0, 50.0, 100.0)
MIG_OF_MEANS, EXACT_MIG, SCORE, DISTORTION, RATE = ("mig:means-histogram", "mig", "factor-vae-score", "distortion", "rate")
DEPENDENCE = "lemma2-gap:sampled:num_samples=1000:posterior_dependence"
_METRICS = (MIG(MeansHistogram(20)), MIG(), FactorVAEScore(), Distortion(), Rate(), Lemma2Gap(estimator=Sampled(num_samples=1_000)))
_SEEDS = {"smoke": 1, "quick": 8, "paper": 10}


def nets(*, tiny: bool) -> dict[str, Any]:
    """Returns the encoders by name. The controls of equal size have about the 383,000 weights of the baseline."""
    channels, hidden = ((4, 4, 4, 4), 8) if tiny else ((32, 32, 64, 64), 256)
    small = {"hidden": 8} if tiny else {}
    baseline = Conv(channels, hidden=hidden)
    return {
        _BASELINE: baseline,
        _CORRELATED: baseline,
        _SHARING: SharingConv(channels, **small) if tiny else SharingConv(),
        _SHARING_EQUAL: SharingConv((6, 6, 6, 6) if tiny else (58, 58, 116, 116), **small),
        _SPLIT: SplitConv(channels, branch_width=8, hidden=8) if tiny else SplitConv(),
        _SPLIT_EQUAL: SplitConv((4, 4, 4, 2) if tiny else (32, 32, 64, 16), branch_width=2 if tiny else 64, **small),
        _KERNELS: DisentanglementLibConv(channels, hidden=8) if tiny else DisentanglementLibConv(),
    }


def images(data: str, *, tiny: bool) -> Any:
    """Returns dSprites, Cars3D, or faces in the grid of Cars3D."""
    if data == "dsprites":
        return DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=8) if tiny else DSprites()
    if data == "cars3d":
        return Cars3D()
    sizes = {"num_identities": 3, "num_azimuths": 6, "resolution": 32} if tiny else {"num_identities": 183, "num_azimuths": 24}
    return ShadedFaces(**sizes, num_elevations=4, num_lightings=1)


def spec(data: str, scale: Scale, objective: str, encoder: str, weight: float = 0.0) -> RunSpec:
    """Returns what is trained. Weights are not stated: 4 and 35 at quick, 4 and 40 at paper, until calibrated."""
    tiny, has_critic, encoders = scale == "smoke", objective == _FACTOR, nets(tiny=scale == "smoke")
    gamma = weight or (40.0 if scale == "paper" else 35.0)
    losses = {_VAE: VAE(), _BETA: BetaVAE(weight or 4.0), _FACTOR: FactorVAE(gamma=gamma, same_batch=True)}
    latents = CorrelatedGaussianLatents(10, rho=0.9) if encoder == _CORRELATED else GaussianLatents(10)
    steps = 12 if tiny else 60_000 if scale == "quick" else 150_000 if has_critic else 300_000
    critic = Critic(hidden=(16, 16) if tiny else (1000,) * 6, optimizer=Adam(1e-4, betas=(0.5, 0.9)))
    decoder = encoders[_KERNELS if encoder == _KERNELS else _BASELINE]
    return RunSpec(
        images(data, tiny=tiny),
        Autoencoder(encoders[encoder], decoder, latents),
        losses[objective],
        critic=critic if has_critic else None,
        num_steps=steps,
        batch_size=16 if tiny else 64,
        optimizer=Adam(1e-4 if scale == "paper" else 1e-3),
        precision="float32" if tiny else "bf16",
    )


_STUDY = {"metrics": _METRICS, "keep": "best", "best_by": MIG_OF_MEANS}


_IMAGE_SHAPE, _NUM_LATENTS = (1, 64, 64), 10


def compute_layers(nets: Mapping[str, Any]) -> Callable[[str, int], dict[str, float]]:
    """Returns what counts layers and weights of an encoder, and those that move one latent alone."""

    def compute(label: str, seed: int) -> dict[str, float]:
        model = Autoencoder(nets[label], latents=GaussianLatents(_NUM_LATENTS)).build(_IMAGE_SHAPE, seed)
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

    return compute


def _influence(encoder: nn.Module, x: Tensor, latent: int, weights: list[list[nn.Parameter]]) -> list[Tensor]:
    """Returns the size of the gradient of the mean and the log-variance of a latent with respect to every weight."""
    outputs = encoder(x)
    total = outputs[:, latent].sum() + outputs[:, _NUM_LATENTS + latent].sum()
    flat = [parameter for layer in weights for parameter in layer]
    gradients = iter(torch.autograd.grad(total, flat, materialize_grads=True))
    return [torch.cat([next(gradients).abs().flatten() for _ in layer]) for layer in weights]


def _compare(encoders: Sequence[str], objectives: Sequence[str]) -> Callable[[str, Scale], Experiment]:
    """Returns each objective with each encoder. Settings of one encoder have one color."""

    def experiment(data: str, scale: Scale) -> Experiment:
        seeds = tuple(range(_SEEDS[scale]))
        pairs = [(objective, encoder) for objective in objectives for encoder in encoders]
        return Experiment(tuple(Setting(f"{o}, {e}", spec(data, scale, o, e), seeds, e) for o, e in pairs), _STUDY)

    return experiment


def _calibration(data: str, scale: Scale) -> Experiment:
    seeds, few = tuple(range(1 if scale == "smoke" else 3)), 2 if scale == "smoke" else None
    settings = [Setting(f"{_VAE}, {net}", spec(data, scale, _VAE, net), seeds, _VAE) for net in (_BASELINE, _KERNELS)]
    for objective, weights in ((_BETA, _BETAS), (_FACTOR, _GAMMAS)):
        settings += [Setting(f"{objective} {w:g}", spec(data, scale, objective, _BASELINE, w), seeds, objective) for w in weights[:few]]
    return Experiment(tuple(settings), _STUDY)


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


_SPLIT_PAIR = f"{_FACTOR}, {_SPLIT}"


def _interaction(scores: Scores) -> Scores:
    """Adds by how much the split encoder raises the MIG of a FactorVAE more than that of a VAE, seed by seed."""
    columns = [scores.get(f"{o}, {e}", {}).get(MIG_OF_MEANS, {}) for o in (_FACTOR, _VAE) for e in (_SPLIT, _BASELINE)]
    seeds = sorted(set.intersection(*map(set, columns)))
    a, b, c, d = columns
    return {_SPLIT_PAIR: {"interaction": {s: (a[s] - b[s]) - (c[s] - d[s]) for s in seeds}}}


def _layers(data: str, scale: Scale) -> Experiment:
    cases = (_BASELINE, _SHARING, _SHARING_EQUAL, _SPLIT, _SPLIT_EQUAL)
    return Experiment(compute=compute_layers(nets(tiny=scale == "smoke")), cases=dict.fromkeys(cases, (0,)))


_NUM_LATENTS, _RHO = 10, 0.9
CASES = {
    f"{objective}, {encoder}": (objective, encoder) for objective in ("VAE", "FactorVAE") for encoder in (_BASELINE, _CORRELATED, _SHARING, _SPLIT)
}
_SUBSETS: dict[str, tuple[int, ...]] = {"": (), ":two": (0, 1), ":five": (0, 2, 4, 6, 8)}


def compute_lemmas(*, tiny: bool) -> Callable[[str, int], dict[str, float]]:
    """Returns what trains a small model and computes both sides for all latents, for two of them and for five."""
    num_samples, num_pairs = (1_000, 3) if tiny else (5_000, 10)

    def compute(case: str, seed: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            [run] = train(_small_spec(*CASES[case], tiny=tiny), seeds=[seed], folder=folder, device="cpu", progress=False)
            codes = run.codes()
        found: dict[str, float] = {}
        for name, latents in _SUBSETS.items():
            gaps = [Lemma2Gap(estimator=Sampled(num_samples, seed=pair), latents=latents, left_side_seed=1_000 + pair) for pair in range(num_pairs)]
            pairs = [gap(codes) for gap in gaps]
            differences = [score.parts["difference"].value for score in pairs]
            error = statistics.stdev(differences) / math.sqrt(num_pairs)
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

    return compute


def _small_spec(objective: str, encoder: str, *, tiny: bool) -> RunSpec:
    channels, hidden = ((4, 4, 4, 4), 8) if tiny else ((16, 16, 32, 32), 128)
    baseline = Conv(channels, hidden=hidden)
    nets: dict[str, Any] = {"sharing": SharingConv(channels, hidden=hidden), "split": SplitConv(channels, branch_width=hidden // 4, hidden=hidden)}
    noisy = encoder == "correlated noise"
    latents = CorrelatedGaussianLatents(_NUM_LATENTS, rho=_RHO) if noisy else GaussianLatents(_NUM_LATENTS)
    has_critic = objective == "FactorVAE"
    return RunSpec(
        DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=8 if tiny else 16),
        Autoencoder(nets.get(encoder, baseline), baseline, latents),
        FactorVAE(gamma=10.0, same_batch=True) if has_critic else VAE(),
        critic=Critic(hidden=(64, 64), optimizer=Adam(1e-3, betas=(0.5, 0.9))) if has_critic else None,
        num_steps=12 if tiny else 3_000,
        batch_size=32,
        optimizer=Adam(2e-3),
    )


def _draw_sizes(scores: Any) -> Any:
    values = {label: scores.of_seeds(label, "weights") for label in scores.settings}
    return figures.sorted_bars({label: each[0] for label, each in values.items() if each}, label="weights of the encoder")


_SPLITS = _compare((_BASELINE, _SPLIT, _SPLIT_EQUAL), (_VAE, _FACTOR))
_VIOLINS = figure.per_objective("violin", [MIG_OF_MEANS], label="MIG (20 bins of means) ↑")
_PLANES = figure.per_objective("scatter", [RATE, DISTORTION], 3.0, labels=("KL to the prior (nats)", "distortion (nats)"))
_FOUR = tuple(f"{o}, {e}" for o in (_VAE, _FACTOR) for e in (_BASELINE, _SPLIT))
CODE: dict[str, Code] = {
    "lemmas": Code(
        lambda data, scale: Experiment(compute=compute_lemmas(tiny=scale == "smoke"), cases=dict.fromkeys(CASES, (0,))),
        draw=figure.points({"": ("right_side", "left_side")}, diagonal=True),
    ),
    "figure1": Code(_layers, draw=_draw_sizes),
    "calibration": Code(_calibration, derive=_off, draw=figure.points({"": (RATE, DISTORTION)})),
    "figure2": Code(_compare((_BASELINE, _CORRELATED, _SHARING, _SHARING_EQUAL), (_VAE, _FACTOR)), draw=_VIOLINS),
    "figure3": Code(_SPLITS, derive=_interaction, draw=_VIOLINS),
    "figure4": Code(_SPLITS, draw=_PLANES),
    "figure5": Code(_SPLITS, derive=_interaction, pictures=best_latents(_FOUR, 2.0)),
    "figure8": Code(_SPLITS, derive=_interaction, pictures=best_latents(_FOUR, 2.0)),
    "figure9": Code(_SPLITS, draw=figure.per_objective("violin", [SCORE], label="FactorVAE score ↑")),
    "figure11": Code(
        _compare((_BASELINE, _SPLIT, _SPLIT_EQUAL), (_BETA,)),
        draw=figure.per_metric("violin", {"MIG (20 bins of means) ↑": MIG_OF_MEANS, "distortion ↓": DISTORTION}),
    ),
}
