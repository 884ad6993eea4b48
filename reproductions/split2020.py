"""Code of split2020.toml: the split encoder, an anonymous submission to ICLR 2020."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from reproductions import figure
from reproductions.code.lemmas import CASES, compute_lemmas
from reproductions.code.shared_layers import ENCODERS, compute_layers
from reproductions.item import Code, Experiment, Scale, Scores, per_run
from reproductions.pictures import best_latents
from unbraid import MIG, VAE, Autoencoder, BetaVAE, Conv, DSprites, RunSpec, figures
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

_BASELINE, _CORRELATED, _SHARING, _SHARING_EQUAL, _SPLIT, _SPLIT_EQUAL, _KERNELS = ENCODERS
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
