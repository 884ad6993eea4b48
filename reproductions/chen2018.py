"""Code of chen2018.toml: Chen et al. 2018, beta-TCVAE and the mutual information gap."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from reproductions import figure
from reproductions.code.purity import PURITIES, purity_of
from reproductions.code.turned_codes import CASES, DEGREES, compute_cells
from reproductions.item import Code, Experiment, Scale, Scores, Tuned, per_run
from reproductions.pictures import best_latents
from unbraid import MLP, Autoencoder, Conv, DSprites, RunSpec, Scoring, figures
from unbraid.config.schedule import Linear
from unbraid.datasets import AttributeFaces, BaselFaces, CelebA, Chairs3D, ShadedFaces
from unbraid.datasets.subsets import ChosenValues
from unbraid.datasets.weights import ChenDesign, JointTable, Product
from unbraid.metrics import InformativeLatents, TopAttributes
from unbraid.models import ChenConv, InfoGANConv
from unbraid.models.distributions import FlowPrior, GaussianLatents, UniformPrior
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, FactorVAE, InfoGAN
from unbraid.studies import Claim, Setting, best_of, correlation, difference, median
from unbraid.training import Critic
from unbraid.training.optimizers import Adam
from unbraid.training.presets import preset

MIG, ELBO, TC = "mig", "elbo", "elbo-decomposition"
INFORMATION, LEARNED = f"{TC}:mutual_information", "MIG, where the image is encoded"
_METRICS = (MIG, ELBO, "rate", "distortion", TC)
_OURS, _THEIRS, _GAN = "beta-TCVAE", "beta-VAE", "InfoGAN"
_FACTORS = {"dsprites": ("scale", "orientation", "position_x", "position_y")}
_SEEDS = {"smoke": 2, "quick": 8, "long": 20, "paper": 40}
_FEW = {"num_people": 4, "poses_per_person": 2, "resolution": 32}


def betas(scale: Scale) -> tuple[float, ...]:
    """Returns the grid of beta."""
    grids = {"smoke": (1.0, 4.0, 6.0), "paper": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)}
    return grids.get(scale, (1.0, 2.0, 4.0, 6.0, 8.0))


def images(data: str, *, tiny: bool) -> Any:
    """Returns the images: dSprites, the paper's faces, or the drawn faces that stand in for them."""
    if data == "basel-faces":
        return BaselFaces()
    if data == "dsprites":
        few = DSprites(resolution=32, shapes=("square", "heart"), num_scales=2, num_orientations=2, num_positions=4)
        return few if tiny else DSprites()
    sizes = {"num_identities": 2, "num_azimuths": 3, "num_elevations": 2, "num_lightings": 2, "resolution": 32}
    return ShadedFaces(**sizes) if tiny else ShadedFaces()


def spec(data: str, scale: Scale, objective: Any, latents: Any = None) -> RunSpec:
    """Returns what is trained. A FactorVAE takes twice the steps, as in the paper; InfoGAN has other nets."""
    tiny, is_gan, has_critic = scale == "smoke", isinstance(objective, InfoGAN), objective.critic_reads is not None
    steps = 10 if tiny else 100_000 if is_gan else 18_000 if data == "dsprites" else 3_100
    latents, optimizer, critic = latents or GaussianLatents(10), Adam(1e-3), Critic()
    if data == "dsprites":
        net: Any = MLP((16,), (16,)) if tiny else MLP()
    else:
        net = ChenConv((4, 4, 8, 8), hidden=16) if tiny else ChenConv()
    if is_gan:
        net = InfoGANConv(channels=(4, 8), hidden=16, head=8) if tiny else InfoGANConv((16, 32, 64), hidden=256)
        latents, optimizer = GaussianLatents(5, prior=UniformPrior()), Adam(1e-3, betas=(0.5, 0.999))
        critic = Critic(hidden=(128,), optimizer=Adam(2e-4, betas=(0.5, 0.999)))
    return RunSpec(
        images(data, tiny=tiny),
        Autoencoder(net, latents=latents, noise_inputs=5 if is_gan else 0),
        objective,
        critic=(Critic(hidden=(8,)) if tiny else critic) if has_critic else None,
        num_steps=2 * steps if isinstance(objective, FactorVAE) else steps,
        batch_size=12 if tiny else 64 if is_gan else 2048,
        optimizer=optimizer,
        precision="float32" if tiny else "bf16",
    )


def _label(family: str, beta: float) -> str:
    return "VAE" if beta == 1 else f"{family} {beta:g}"


def setting(data: str, scale: Scale, family: str, beta: float = 1.0) -> Setting:
    """Returns a VAE (beta 1), a beta-VAE, a beta-TCVAE or an InfoGAN."""
    objective = {_THEIRS: BetaVAE(beta), _OURS: BetaTCVAE(beta=beta)}.get(family, VAE())
    gan = InfoGAN(weight=0.2, instance_noise=Linear(0.5, 0.1))
    made = spec(data, scale, gan if family == _GAN else VAE() if beta == 1 else objective)
    return Setting(_GAN if family == _GAN else _label(family, beta), made, tuple(range(_SEEDS[scale])))


def _study(data: str) -> dict[str, Any]:
    factors = _FACTORS.get(data, (*POSE, "lighting"))
    return {"metrics": _METRICS, "scorings": (Scoring(factors=factors),), "keep": "scores", "members_per_fleet": 24}


def _sweep(data: str, scale: Scale) -> Experiment:
    settings = [setting(data, scale, family, beta) for family in (_THEIRS, _OURS) for beta in betas(scale)[1:]]
    return Experiment((setting(data, scale, "VAE"), *settings), _study(data))


def _boxes(data: str, scale: Scale) -> Experiment:
    gammas = {"smoke": (1, 9), "paper": (1, 4, 9, 19, 39, 59, 79)}.get(scale, (1, 4, 9, 19, 39, 79))
    seeds = (1000,) if scale == "smoke" else (1000, 1001)
    candidates = tuple(Setting(f"FactorVAE, gamma {g}", spec(data, scale, FactorVAE(float(g))), seeds) for g in gammas)
    settings = tuple(setting(data, scale, *each) for each in (("VAE",), (_THEIRS, 4.0), (_OURS, 6.0), (_GAN,)))
    return Experiment(settings, _study(data), Tuned("FactorVAE", candidates, settings[0].seeds, MIG))


def _ablations(data: str, scale: Scale) -> Experiment:
    seeds = tuple(range(16 if scale == "quick" else _SEEDS[scale]))
    flow = GaussianLatents(10, prior=FlowPrior(2 if scale == "smoke" else 32))
    made = {
        f"{_OURS} 6": spec(data, scale, BetaTCVAE(beta=6.0)),
        "alpha = 0": spec(data, scale, BetaTCVAE(alpha=0.0, beta=6.0)),
        "flow prior": spec(data, scale, BetaTCVAE(beta=6.0), flow),
    }
    return Experiment(tuple(Setting(label, each, seeds) for label, each in made.items()), _study(data))


DESIGNS = {"A": "uniform and independent", "B": "not uniform, independent", "C": "uncorrelated, dependent", "D": "correlated"}
POSE = ("azimuth", "elevation")
SIZES = (21, 11)


def table_numbers(design: str) -> dict[str, float]:
    """Returns how much likelier the likeliest pair is, the correlation, the mutual information, and how far the
    marginals are from uniform, in nats.
    """
    table = ChenDesign(design, POSE).table(SIZES).numpy()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    places = np.linspace(-1, 1, SIZES[0]), np.linspace(-1, 1, SIZES[1])
    mean = rows @ places[0], columns @ places[1]
    spread = rows @ places[0] ** 2 - mean[0] ** 2, columns @ places[1] ** 2 - mean[1] ** 2
    covariance = float(places[0] @ table @ places[1] - mean[0] * mean[1])
    return {
        "likeliest to least likely": float(table.max() / table.min()),
        "least probability": float(table.min()),
        "correlation": covariance / math.sqrt(spread[0] * spread[1]),
        "mutual information": float((table * np.log(table / np.outer(rows, columns))).sum()),
        "missing entropy": float(sum(np.log(len(each)) + each @ np.log(each) for each in (rows, columns))),
    }


def _designs(first: str) -> Callable[[str, Scale], Experiment]:
    """Returns every method under every joint distribution of the pose, scored under it and under the uniform one."""

    def experiment(data: str, scale: Scale) -> Experiment:
        tiny, settings, uniform = scale == "smoke", [], None
        seeds = tuple(range({"quick": 16}.get(scale, _SEEDS[scale])))
        small = {"num_azimuths": 3, "num_elevations": 3, "resolution": 32} if tiny else {}
        for design in ("A", "D") if tiny else DESIGNS:
            dataset: Any = ShadedFaces(num_identities=1, num_lightings=1, **small)
            joint: Any = ChenDesign(design, POSE)
            subset = None
            if data == "basel-faces":
                dataset, subset = BaselFaces(), ChosenValues("identity", (0,))
                size = next(each.size for each in dataset.factors if each.name == "lighting")
                light = tuple(float(value == size // 2) for value in range(size))
                joint = Product((joint, JointTable(("lighting",), light)))
            uniform = uniform or joint
            under = {"dataset": dataset, "sampling": joint, "subset": subset}
            under |= {"num_steps": 10 if tiny else 5_000, "batch_size": 4 if tiny else 128}
            for method, each in zip(_METHODS, ((_THEIRS, 4.0), (_OURS, 6.0), (_GAN,)), strict=True):
                made = replace(setting(data, scale, *each).spec, **under)
                settings.append(Setting(f"{design}, {method}", made, seeds))
        scorings = (Scoring(factors=POSE), Scoring(factors=POSE, sampling=uniform))
        scorings = scorings if first == "biased" else scorings[::-1]
        return Experiment(tuple(settings), {"metrics": _METRICS, "scorings": scorings, "keep": "scores"})

    return experiment


_METHODS = (f"{_THEIRS} 4", f"{_OURS} 6", _GAN)


def learned(scores: Scores) -> Scores:
    """Leaves out InfoGANs whose codes hold less than 2 nats of an image; all other models keep their MIG."""
    found: Scores = {}
    for label, by_metric in scores.items():
        nats, is_gan = by_metric.get(INFORMATION, {}), label.endswith(_GAN)
        kept = {s: v for s, v in by_metric.get(MIG, {}).items() if not is_gan or nats.get(s, 0) >= 2}
        found[label] = {LEARNED: kept}
    return found


def _above_half(scores: Scores) -> Scores:
    """Adds whether a model is above half of the best MIG under A."""
    of_a = [v for label, by_metric in scores.items() if label[0] == "A" for v in by_metric.get(MIG, {}).values()]
    half, found = max(of_a, default=math.nan) / 2, learned(scores)
    for label, by_metric in scores.items():
        found[label]["above half of the best"] = {s: float(v > half) for s, v in by_metric.get(MIG, {}).items()}
    return found


def _at_matched_tc(scores: Scores) -> Scores:
    """Adds how far the MIG of each beta-TCVAE lies above the line through the averages of the beta-VAEs at its TC."""
    theirs = [each for each in scores if (each == "VAE" or each.startswith(f"{_THEIRS} ")) and scores[each].get(TC)]
    line = sorted((fmean(scores[each][TC].values()), fmean(scores[each][MIG].values())) for each in theirs)
    found: Scores = {}
    for label, by_metric in scores.items():
        if label.startswith(f"{_OURS} ") and line:
            inside = {s: v for s, v in by_metric.get(TC, {}).items() if line[0][0] <= v <= line[-1][0]}
            above = {s: by_metric[MIG][s] - float(np.interp(v, *zip(*line, strict=True))) for s, v in inside.items()}
            found[label] = {"MIG above beta-VAE's at this TC": above}
    return found


def _elbo_claims(data: str, scale: Scale) -> list[Claim]:
    claims = []
    for metric in (ELBO, MIG):
        for beta in betas(scale)[1:]:
            text, pair = (f"At beta {beta:g}, {_OURS} has the higher {metric.upper()}.", (_label(_OURS, beta), _label(_THEIRS, beta)))
            claims.append(Claim(text, difference(metric, *pair), above=0.0, central=beta >= 4))
    worse = difference(MIG, best_of(tuple(_label(_THEIRS, b) for b in betas(scale)[:-1])), _label(_THEIRS, betas(scale)[-1]))
    return [*claims, Claim(f"At the highest beta, MIG of {_THEIRS} is below its best.", worse, above=0.0)]


def _tc_claims(data: str, scale: Scale) -> list[Claim]:
    ours = tuple(_label(_OURS, beta) for beta in betas(scale))
    text = f"Over beta, average TC and average MIG of {_OURS} are negatively correlated"
    gain = "MIG above beta-VAE's at this TC"
    return [
        Claim(f"{text}.", correlation(TC, MIG, ours, over="medians"), below=0.0, central=True),
        Claim(f"{text}, without beta 1.", correlation(TC, MIG, ours[1:], over="medians"), below=0.0),
        Claim(f"At the same TC, {_OURS} has the higher MIG.", median(gain, ours[1:]), above=0.0, central=True),
    ]


def _tc_controls(data: str, scale: Scale) -> list[Claim]:
    theirs = tuple(_label(_THEIRS, beta) for beta in betas(scale))
    return [Claim(f"They are negatively correlated for {_THEIRS} too.", correlation(TC, MIG, theirs, over="medians"), below=0.0)]


_TRAITS = AttributeFaces(attributes="continuous"), AttributeFaces(attributes="continuous", **_FEW)
_SHOWN: Mapping[str, tuple[Mapping[str, Any], int, float, float]] = {
    "figure1": ({"celeba": (CelebA(),) * 2, "drawn-faces": (AttributeFaces(), AttributeFaces(**_FEW)), "drawn-traits": _TRAITS}, 32, 8.0, 15.0),
    "figure6": ({"chairs": (Chairs3D(),) * 2, "drawn-traits": _TRAITS}, 10, 4.0, 6.0),
}
FOLLOWED, INFORMATIVE = "top-attributes:min_std=0.05", "informative-latents:min_information=0.1"


def _shown(name: str) -> Callable[[str, Scale], Experiment]:
    """Returns two models whose latents are shown, and of drawn traits read by a net in figure 1."""
    sets, num_latents, beta, beta_tc = _SHOWN[name]

    def experiment(data: str, scale: Scale) -> Experiment:
        tiny, dataset = scale == "smoke", sets[data][scale == "smoke"]
        net = Conv((4, 4, 8, 8), hidden=16) if tiny else Conv(hidden=256)
        model = Autoencoder(net, latents=GaussianLatents(4 if tiny else num_latents))
        length: Any = {"num_steps": 10, "batch_size": 4} if tiny else {"num_steps": 100_000, "batch_size": 64, "precision": "bf16"}
        settings = tuple(
            Setting(label, RunSpec(dataset, model, objective, optimizer=Adam(5e-4), **length), tuple(range(_SEEDS[scale])))
            for label, objective in zip(_labels(name), (BetaVAE(beta), BetaTCVAE(beta=beta_tc)), strict=True)
        )
        metrics = (TopAttributes(min_std=0.05), InformativeLatents(min_information=0.1), ELBO)
        examine = purity_of(tiny=tiny) if name == "figure1" and data == "drawn-traits" else None
        return Experiment(settings, {"metrics": metrics, "keep": "best", "best_by": FOLLOWED}, examine=examine)

    return experiment


def _labels(name: str) -> tuple[str, str]:
    return f"{_THEIRS} {_SHOWN[name][2]:g}", f"{_OURS} {_SHOWN[name][3]:g}"


def _count(least: float) -> Callable[[Scores], Scores]:
    """Adds how many attributes have a latent whose |correlation| with them is at least this."""

    def count(of_run: Mapping[str, float]) -> float:
        parts = {m.rpartition(":")[2]: v for m, v in of_run.items() if m.startswith(f"{FOLLOWED}:")}
        return float(sum(value >= least for part, value in parts.items() if part not in ("margin", "runner_up")))

    return per_run({"attributes followed": count})


def _sizes(label: str, seed: int) -> dict[str, float]:
    dataset = {"dSprites": DSprites(), "3D faces": BaselFaces()}.get(label, ShadedFaces())
    counted = {each.name: each.size for each in dataset.factors if each.name not in ("shape", "identity")}
    return {
        "images": dataset.num_images,
        **{f"values:{name}": float(size) for name, size in counted.items()},
        **{f"entropy:{name}": math.log(size) for name, size in counted.items()},
    }


def _draw_turns(scores: Any) -> Any:
    labels = [label for label in scores.settings if label.startswith("axis") and scores.values(label, "mig")]
    names = {"zdiff": "Higgins et al.", "factor-vae-score": "Kim & Mnih", "mig": "MIG"}
    by_degrees = {metric: {d: f"{metric}:{d} degrees" for d in DEGREES} for metric in names}
    axes = figure.subplots([label.rpartition(", ")[2] for label in labels])
    for each, label in zip(axes, labels, strict=True):
        figure.lines(scores, {names[m]: (label, places) for m, places in by_degrees.items()}, "degrees", "score", each)
    return axes[0]


def _precision(data: str, scale: Scale) -> Experiment:
    tiny, large = scale == "smoke", spec("dsprites", scale, BetaTCVAE(beta=6.0))
    small = replace(large, num_steps=5) if tiny else preset("beta-tcvae-sprites")
    specs = {"sprites": (small, 200), "dSprites": (replace(large, num_steps=6 if tiny else 7_200), 10)}
    settings = tuple(
        Setting(f"{name}, {p}", replace(each, precision=p), tuple(range(2 if tiny else seeds)), p)
        for name, (each, seeds) in specs.items()
        for p in ("float32", "tf32", "bf16")
    )
    return Experiment(settings, {"metrics": _METRICS, "keep": "scores"})


_AVERAGES = figure.averages(TC, MIG, ("average TC, nats", "average MIG"), "VAE", (_THEIRS, _OURS))
_BOXES = figure.per_metric("box", {"MIG ↑": MIG}, ("VAE", f"{_THEIRS} 4", f"{_OURS} 6", "FactorVAE", _GAN))
_ALL_BOXES = figure.per_metric("box", {"MIG ↑": MIG}, height=3.4)
_STRIP = figure.per_metric("strip", {"latents with 0.1 nats or more": INFORMATIVE, **{p: p for p in PURITIES}}, height=1.6)
CODE: dict[str, Code] = {
    "figure1": Code(_shown("figure1"), derive=_count(0.3), draw=_STRIP, pictures=best_latents(_labels("figure1")[::-1], 6.0)),
    "table1": Code(
        lambda data, scale: Experiment(compute=compute_cells(tiny=scale == "smoke"), cases=dict.fromkeys(CASES[scale == "smoke"], (0,))),
        draw=_draw_turns,
    ),
    "table2": Code(lambda data, scale: Experiment(compute=_sizes, cases=dict.fromkeys(("dSprites", "3D faces", "shaded faces, our stand-in"), (0,)))),
    "figure2a": Code(_sweep, _elbo_claims, draw=figure.swept({"ELBO, nats ↑": ELBO, "MIG ↑": MIG}, "VAE", (_THEIRS, _OURS))),
    "ablations": Code(_ablations, draw=figure.per_metric("strip", {"MIG ↑": MIG})),
    "figure3a": Code(_boxes, derive=learned, draw=_BOXES),
    "figure4a": Code(_sweep, _tc_claims, _tc_controls, _at_matched_tc, _AVERAGES),
    "figure5a": Code(
        lambda data, scale: Experiment(compute=lambda label, seed: table_numbers(label[0]), cases={f"{d}: {t}": (0,) for d, t in DESIGNS.items()}),
        draw=lambda scores: figures.joint_tables({d: ChenDesign(d, POSE).table(SIZES) for d in DESIGNS}, POSE),
    ),
    "figure5b": Code(_designs("biased"), derive=_above_half, draw=_ALL_BOXES),
    "figure5b-uniform": Code(_designs("uniform"), derive=_above_half, draw=_ALL_BOXES),
    "figure6": Code(_shown("figure6"), derive=_count(0.447), draw=_STRIP, pictures=best_latents(_labels("figure6")[::-1], 2.0)),
    "precision": Code(_precision, draw=figure.per_metric("box", {"MIG ↑": MIG})),
}
