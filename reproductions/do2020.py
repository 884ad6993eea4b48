"""Code of do2020.toml: Do & Tran 2020, metrics of informativeness, separability and interpretability."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from reproductions import figure
from reproductions.code import latent_pictures as shown
from reproductions.code import latents as of
from reproductions.code.latents import BINS
from reproductions.code.turned_codes import FACTS, MEASURED, OURS, compute_facts
from reproductions.item import Claims, Code, Examine, Experiment, Numbers, Scale, Scores, per_run
from reproductions.pictures import of_first
from unbraid import MIG, Autoencoder, BetaVAE, Conv, DSprites, RunSpec, Scoring
from unbraid.config import text_of
from unbraid.datasets import CelebA, FashionMNIST, ShadedFaces
from unbraid.datasets.subsets import RowRange
from unbraid.metrics import DCI, JEMMIG, MISJED, RMIG, SEPIN, Correlations, InformativeLatents, Informativeness, Modularity, Separability
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.models import DoTranCelebA
from unbraid.models.distributions import GaussianLatents, LaplaceLikelihood
from unbraid.objectives import AAE, FactorVAE
from unbraid.studies import Claim, Setting, computed
from unbraid.training import Critic
from unbraid.training.optimizers import Adam

FACTORS = ("shape", "scale", "orientation", "position_x", "position_y")
FACTOR_VAES = tuple(f"FactorVAE {g}" for g in (10, 20, 50, 100))
BETA_VAES = tuple(f"beta-VAE {b}" for b in (1, 4, 10, 20, 50))
SWEEP, VAE, AAE_50, FLOOR = (*FACTOR_VAES, *BETA_VAES), "beta-VAE 1", "AAE 50", 1e-8
_HEADLINE = {"FactorVAE 10", "beta-VAE 1", "beta-VAE 10", "beta-VAE 50", AAE_50}
DRAWS = Sampled(10_000)
THREE, THIRDS = ("FactorVAE 50", "beta-VAE 50", AAE_50), ("FactorVAE 16.7", "beta-VAE 16.7", AAE_50)
ON_SPRITES = ("FactorVAE 10", "beta-VAE 50", AAE_50)
_STEPS = {
    "dsprites": {"quick": 115_200, "long": 345_600, "paper": 1_152_000},
    "celeba": {"quick": 76_290, "long": 228_870, "paper": 762_900},
    "faces": {"quick": 19_850, "long": 59_550, "paper": 198_500},
    "fashion": {"quick": 28_140, "long": 93_800, "paper": 281_400},
}


def spec(data: str, scale: Scale, label: str, *, all_latents: bool = False) -> RunSpec:
    """Returns what a label trains: "FactorVAE 10", "AAE 50, latents 100"."""
    tiny, (name, _, size) = scale == "smoke", label.partition(", latents ")
    family, _, weight = name.rpartition(" ")
    faces, num_latents = data in ("celeba", "faces"), int(size or (10 if data in ("dsprites", "fashion") else 65))
    if tiny and data != "dsprites" and num_latents > 9 and not all_latents:
        num_latents = max(3, num_latents // 10)
    few = ShadedFaces(num_identities=2, num_azimuths=3, num_elevations=2, num_lightings=2, resolution=32)
    sets: dict[str, Any] = {
        "dsprites": DSprites(resolution=32, num_orientations=2, num_positions=2) if tiny else DSprites(),
        "celeba": CelebA(split="train", crop=None),
        "faces": few if tiny else ShadedFaces(),
        "fashion": FashionMNIST(),
    }
    net: Any = Conv((4, 4) if data == "fashion" else (4, 4, 4, 4), hidden=8) if tiny else Conv(init="truncated_normal")
    if faces:
        net = DoTranCelebA((4, 4, 4, 4), hidden=8) if tiny else DoTranCelebA(init="truncated_normal")
    model = Autoencoder(net, latents=GaussianLatents(num_latents))
    if faces:
        model = Autoencoder(net, latents=GaussianLatents(num_latents), likelihood=LaplaceLikelihood(sigmoid=True))
    critic = Critic((16, 16) if tiny else (1000,) * 5, optimizer=Adam(1e-4, betas=(0.5, 0.99)), init="truncated_normal")
    losses: dict[str, Any] = {"FactorVAE": FactorVAE, "beta-VAE": BetaVAE, "AAE": AAE}
    return RunSpec(
        sets[data],
        model,
        losses[family](float(weight)),
        critic=None if family == "beta-VAE" else critic,
        num_steps=2 if tiny else _STEPS[data][scale],
        batch_size=16 if tiny else 64,
        optimizer=Adam(1e-4, betas=(0.9, 0.99)) if data == "dsprites" else Adam(1e-3, betas=(0.5, 0.99)),
        precision="float32" if tiny else "bf16",
        subset=RowRange(0, 50) if tiny and data == "fashion" else None,
    )


def asked(
    labels: Sequence[str] | Mapping[str, Sequence[str]],
    metrics: Callable[[Scale], Sequence[Any]] = lambda scale: (Informativeness(BINS),),
    examine: Callable[[str, Scale], Examine] | None = None,
    *,
    factors: tuple[str, ...] = (),
    fraction: float = 1.0,
    num_seeds: int = 8,
    smallest: int = 1,
    all_latents: bool = False,
) -> Callable[[str, Scale], Experiment]:
    """Returns settings with what is asked of them. On dSprites, settings that single tests compare have 8 seeds, others
    4. Codes stay, so that other questions about the same models can be asked later.
    """

    def experiment(data: str, scale: Scale) -> Experiment:
        names = labels[data if data in labels else "celeba"] if isinstance(labels, Mapping) else labels
        settings = []
        for label in names:
            count = (8 if label in _HEADLINE else 4) if data == "dsprites" else num_seeds
            seeds = tuple(range(smallest if scale == "smoke" else count))
            family = label.partition(", ")[0].rpartition(" ")[0]
            settings.append(Setting(label, spec(data, scale, label, all_latents=all_latents), seeds, family))
        scoring = Scoring(factors=() if data in ("celeba", "faces", "fashion") else factors, fraction=fraction)
        study = {"metrics": tuple(metrics(scale)), "scorings": (scoring,), "keep": "all"}
        return Experiment(tuple(settings), study, examine=examine(data, scale) if examine else None)

    return experiment


INFO, MEAN_INFO = "informativeness", "informativeness:mean_over_latents"
FLOORED, SEP_FLOORED, SEPIN_FLOORED = (f"{name}:mc:density_floor=1e-08" for name in (INFO, "separability", "sepin"))
JEM, RM = "jemmig:sampled", "rmig:sampled:unnormalized"
_RAW, _STANDARDIZED = DCI(standardize=False, rows="all", num_refits=0), DCI(rows="all", num_refits=0)
DISENTANGLED, COMPLETE, ERROR = (text_of(_RAW) + part for part in ("", ":completeness", ":train_error"))
_MODULAR = (
    Modularity(MeansHistogram(100)),
    Modularity(Sampled(), uninformative="published"),
    Modularity(Exact(), uninformative="left_out", threshold=0.01),
)
_NUM_BINS, _SEVEN = ((20, 50, 80, 100, 150, 200, 300, 500), (*FACTOR_VAES[:3], *BETA_VAES[2:4], "beta-VAE 30", "beta-VAE 50"))
_GAPS = (*SWEEP, "beta-VAE 30")
_BY_LATENTS = {n: "beta-VAE 10" if n == 10 else f"beta-VAE 10, latents {n}" for n in (5, 10, 15, 20)}


def _information(scale: Scale) -> list[Any]:
    return [Informativeness(DRAWS), Informativeness(DRAWS, "mc", FLOOR)]


def _separation(scale: Scale) -> list[Any]:
    return [kind(DRAWS, *floor) for floor in ((), ("mc", FLOOR)) for kind in (Separability, SEPIN)]


def _lasso(scale: Scale) -> list[Any]:
    alpha = {"alpha": 0.5} if scale == "smoke" else {}  # codes of untrained models are nearly collinear
    return [DCI(**alpha, standardize=False, rows="all", num_refits=0), DCI(**alpha, rows="all", num_refits=0), JEMMIG(DRAWS), RMIG(DRAWS)]


def _bins(number: int) -> Quantized:
    return Quantized(number, masses="rectangle")


def _few_and_many(scale: Scale) -> list[int]:
    return [10, 20, 30] if scale == "smoke" else [1_000, 2_000, 5_000, 10_000, 20_000, 50_000]


_LATENT_RANKS = of.ranks_of(info=Informativeness(DRAWS), separability=Separability(DRAWS), floored=Separability(DRAWS, "mc", FLOOR))


def _modularity(scale: Scale) -> list[Any]:
    correct = Modularity(DRAWS, uninformative="published") if scale == "smoke" else _MODULAR[1]
    return [_MODULAR[0], correct, _MODULAR[2], JEMMIG(DRAWS)]


_RMIG_BINS, _JEMMIG_BINS, _MISJED_BINS = text_of(RMIG(BINS)), text_of(JEMMIG(BINS)), MISJED(BINS)


def _named_bins(kind: Any, number: int) -> str:
    return text_of(kind(_bins(number)))


_OFF = -2.526  # the log of the width of a bin


def _off_the_line(run: Mapping[str, float]) -> float:
    return abs(run[f"{_JEMMIG_BINS}:unnormalized"] - run[JEM] + _OFF)


def _rmig_off(run: Mapping[str, float]) -> float:
    return abs(run[f"{_RMIG_BINS}:unnormalized"] - run[RM])


def _excess(run: Mapping[str, float]) -> float:
    return run[text_of(MIG(MeansHistogram(100)))] - run["mig:sampled"]


def _counted(data: str, scale: Scale) -> Experiment:
    """Returns the numbers of images, pixels and entropies of a dataset."""
    label = "CelebA, train" if data == "celeba" else "dSprites"

    def compute(case: str, seed: int) -> Numbers:
        dataset: Any = CelebA(split="train") if data == "celeba" else DSprites()
        sizes = [factor.size for factor in dataset.factors]
        values = dataset.open().values if data == "celeba" else torch.cartesian_prod(*(torch.arange(size) for size in sizes))
        shares = [torch.bincount(column.long()).double() / len(values) for column in values.T]
        found = {f"entropy:{f.name}": float(-torch.xlogy(p, p).sum()) for f, p in zip(dataset.factors, shares, strict=True)}
        return {"images": len(values), "pixels": dataset.image_shape[1], "channels": dataset.image_shape[0], **found}

    return Experiment(compute=compute, cases={label: (0,)}, reads=(CelebA(split="train"),) if data == "celeba" else ())


def _weights(label: str, net: Any, shape: tuple[int, int, int], size: int) -> Code:
    def compute(case: str, seed: int) -> Numbers:
        with torch.device("meta"):  # weights are counted, not made
            made = {"encoder": net.make_encoder(shape, GaussianLatents(size)), "decoder": net.make_decoder(size, shape)}
            made["critic"] = Critic(init="truncated_normal").for_codes(size, 1)
        weights = {name: list(each.parameters()) for name, each in made.items()}
        found = {f"weights:{name}": sum(w.numel() for w in each) for name, each in weights.items()}
        layers = {f"layers:{name}": len([w for w in each if w.ndim > 1]) for name, each in weights.items()}
        return {**found, **layers, "weights": found["weights:encoder"] + found["weights:decoder"], "layers": sum(layers.values())}

    return Code(lambda data, scale: Experiment(compute=compute, cases={label: (0,)}))


def _fact_claims(*, measured: bool) -> Claims:
    """Returns the cells that an experiment answers, or those that a metric states of itself."""
    found = [
        Claim(text, computed(column, settings=label), between=(value, value), central=label in OURS)
        for label, cells in FACTS.items()
        for column, (text, value) in cells.items()
        if (column in MEASURED) is measured
    ]
    return lambda data, scale: found


_SETS = {"celeba": THREE, "faces": (*THREE, *THIRDS[:2]), "dsprites": ON_SPRITES}
_CLOTHES = tuple(f"{name}, latents {size}" for size in (10, 65) for name in THREE)


def _count_best(scores: Scores) -> Scores:
    """Adds on how many attributes a FactorVAE is best among the three models of its seed: of high RMIG, and low JEMMIG."""
    ours, *others = (scores.get(label, {}) for label in THREE)
    found: dict[str, dict[int, float]] = {}
    for metric, sign in ((_RMIG_BINS, 1), (_JEMMIG_BINS, -1)):
        names = [m for m in ours if m.startswith(f"{metric}:") and m.rpartition(":")[2] != "unnormalized"]
        seeds = set.intersection(*(set(each.get(m, {})) for each in (ours, *others) for m in names)) if names else set()
        led = {s: float(sum(all(sign * ours[m][s] > sign * o[m][s] for o in others) for m in names)) for s in sorted(seeds)}
        found[f"attributes led in {metric}"] = led
    return {THREE[0]: found}


_SIZES = (AAE_50, f"{AAE_50}, latents 100", f"{AAE_50}, latents 200")
_SPRITE_SIZES = (f"{AAE_50}, latents 5", AAE_50, f"{AAE_50}, latents 20", f"{AAE_50}, latents 40")
_THREE_LATENTS = tuple(f"{name}, latents 3" for name in ("FactorVAE 50", "FactorVAE 10", "beta-VAE 1"))
_ORDERS = ("FactorVAE 10", "FactorVAE 50", "FactorVAE 50, latents 100", "FactorVAE 50, latents 200")


def _misjed(scale: Scale) -> MISJED:
    return MISJED(Quantized(4 if scale == "smoke" else 50, masses="rectangle"))


def _bins_5(data: str, scale: Scale) -> Examine:
    many, few = (Quantized(n, masses="rectangle") for n in ((5, 4) if scale == "smoke" else (100, 50)))
    return of.ranked_pairs(pairs=MISJED(many), fewer=MISJED(few))


_bars = partial(figure.per_metric, "error_bars", height=2.0)
_BOTH = (RMIG(BINS), JEMMIG(BINS))


_AGREE = {"examine": lambda data, scale: of.agreement, "smallest": 2}
CODE: dict[str, Code] = {
    "table1": Code(
        lambda data, scale: Experiment(compute=compute_facts, cases=dict.fromkeys(FACTS, (0,))),
        _fact_claims(measured=True),
        _fact_claims(measured=False),
    ),
    "figure2": Code(asked(SWEEP, _information), draw=figure.per_metric("error_bars", {"mean of I(x, z_i)": MEAN_INFO, "I(x, z)": INFO}, height=3.2)),
    "figure3": Code(
        asked(SWEEP, _separation),
        draw=figure.per_metric("error_bars", {"largest I(z_i, z_others)": "separability:max", "WSEPIN": "sepin"}, height=3.2),
    ),
    "figure4": Code(
        asked(("FactorVAE 10", "FactorVAE 20", VAE, "beta-VAE 10"), lambda scale: (InformativeLatents(),), lambda data, scale: _LATENT_RANKS),
        pictures=of_first(shown.by_separability),
    ),
    "figure5": Code(asked(SWEEP, lambda scale: (JEMMIG(DRAWS), RMIG(DRAWS))), draw=figure.points({"each model": (JEM, RM)})),
    "figure6": Code(
        asked(SWEEP, _lasso, factors=FACTORS[1:]),
        draw=figure.points({"disentanglement": (JEM, DISENTANGLED), "completeness": (JEM, COMPLETE), "error": (JEM, ERROR)}),
    ),
    "figure7": Code(
        asked(SWEEP, _lasso, factors=FACTORS[1:]),
        draw=figure.per_metric("error_bars", {"disentanglement": DISENTANGLED, "completeness": COMPLETE, "error": ERROR}, height=3.2),
    ),
    "figure8": Code(asked(SWEEP, _modularity), draw=figure.per_metric("error_bars", {text_of(m): text_of(m) for m in _MODULAR}, height=3.2)),
    "table2": Code(_counted),
    "table2-celeba": Code(_counted),
    "table3": _weights("nets for CelebA, 65 latents", DoTranCelebA(init="truncated_normal"), (3, 64, 64), 65),
    "table4": _weights("nets for dSprites, 10 latents", Conv(init="truncated_normal"), (1, 64, 64), 10),
    "figure14": Code(
        asked(ON_SPRITES, examine=lambda data, scale: of.ranks_of(ranked=Informativeness(BINS))),
        derive=per_run({"first to fifth": lambda run: run["ranked:1"] / run["ranked:5"]}),
        draw=figure.per_metric("error_bars", {"largest": "ranked:1", "fifth": "ranked:5", "sixth": "ranked:6"}, height=2.0),
    ),
    "figure15": Code(
        asked(ON_SPRITES, lambda scale: (_MISJED_BINS,), lambda data, scale: of.groups_of_pairs(_MISJED_BINS)),
        pictures=of_first(shown.misjed_map(100)),
    ),
    "table8": Code(asked(ON_SPRITES, lambda scale: (RMIG(BINS),))),
    "table9": Code(asked(ON_SPRITES, lambda scale: (JEMMIG(BINS),))),
    "figure16": Code(asked(ON_SPRITES, lambda scale: (RMIG(BINS), JEMMIG(BINS))), pictures=of_first(shown.by_factor(FACTORS, 3))),
    "figure17": Code(
        asked(
            _SEVEN, lambda scale: [kind(_bins(n)) for kind in (RMIG, JEMMIG) for n in _NUM_BINS], lambda data, scale: of.joint_entropies(_NUM_BINS)
        ),
        draw=figure.curves({"RMIG": {n: _named_bins(RMIG, n) for n in _NUM_BINS}, "JEMMIG": {n: _named_bins(JEMMIG, n) for n in _NUM_BINS}}, "bins"),
    ),
    "figure18": Code(asked(_SEVEN, lambda scale: [kind(Sampled(n)) for kind in (JEMMIG, SEPIN) for n in _few_and_many(scale)])),
    "figure19": Code(
        asked(
            tuple(_BY_LATENTS.values()),
            lambda scale: (*_information(scale), *_separation(scale), JEMMIG(DRAWS)),
            lambda data, scale: of.others_less_joint(
                Separability(DRAWS, "mc", FLOOR), Separability(DRAWS), ranked=Informativeness(DRAWS), sepin=SEPIN(DRAWS)
            ),
        ),
        draw=figure.per_metric("error_bars", {"I(x, z), floored": FLOORED, "I(x, z)": INFO}, height=2.0),
    ),
    "figure23": Code(
        asked(
            ("FactorVAE 20",),
            lambda scale: (InformativeLatents(),),
            lambda data, scale: of.best_factor_ranks(told=RMIG(Exact()), binned=MIG(MeansHistogram(100))),
        )
    ),
    "figure23c": Code(
        asked(
            ("FactorVAE 20",),
            lambda scale: _lasso(scale)[:2],
            lambda data, scale: of.weights_on_dead(*_lasso(scale)[:2], FACTORS[1:]),
            factors=FACTORS[1:],
        )
    ),
    "figure24": Code(
        asked((*SWEEP, AAE_50), lambda scale: (JEMMIG(DRAWS), JEMMIG(BINS), RMIG(DRAWS), RMIG(BINS))),
        derive=per_run(
            {
                "JEMMIG off the line": _off_the_line,
                "RMIG off the line": _rmig_off,
                "largest off the line": lambda run: max(_off_the_line(run), _rmig_off(run)),
            }
        ),
        draw=figure.points({"JEMMIG": (JEM, f"{_JEMMIG_BINS}:unnormalized"), "RMIG": (RM, f"{_RMIG_BINS}:unnormalized")}),
    ),
    "figure25": Code(
        asked(_GAPS, lambda scale: (RMIG(BINS), MIG(DRAWS), MIG(MeansHistogram(100)))),
        derive=per_run({"excess of binned means": _excess}),
        draw=figure.points({"RMIG": ("mig:sampled", _RMIG_BINS), "MIG of binned means": ("mig:sampled", text_of(MIG(MeansHistogram(100))))}),
    ),
    "figure9": Code(
        asked(_SETS, examine=lambda data, scale: of.ranks_of(ranked=Informativeness(BINS)), all_latents=True),
        derive=per_run({"last to first": lambda run: run["ranked:65"] / run["ranked:1"]}),
        draw=_bars({"largest": "ranked:1", "middle": "ranked:33", "smallest": "ranked:65"}),
    ),
    "figure10": Code(
        asked(THREE, examine=lambda data, scale: of.distance_to_data(2 if scale == "smoke" else 50), num_seeds=4),
        draw=_bars({"distance to the nearest image": "distance", "without moving": "distance:unmoved"}),
        pictures=of_first(shown.most_informative),
    ),
    "table5": Code(asked(_SETS, examine=_bins_5)),
    "figure11": Code(
        asked(_SETS, lambda scale: (_misjed(scale),), lambda data, scale: of.groups_of_pairs(_misjed(scale), 0.1), fraction=0.1),
        pictures=of_first(shown.misjed_map(50, 0.1)),
    ),
    "table6": Code(
        asked({**_SETS, "fashion": _CLOTHES}, lambda scale: _BOTH, lambda data, scale: of.rescaled),
        draw=_bars({"RMIG": _RMIG_BINS, "JEMMIG": _JEMMIG_BINS}),
    ),
    "table7": Code(
        asked({**_SETS, "fashion": _CLOTHES}, lambda scale: _BOTH, lambda data, scale: of.rescaled),
        draw=_bars({"JEMMIG": _JEMMIG_BINS, "JEMMIG, unit width": "jemmig-rescaled"}),
    ),
    "figure12": Code(
        asked(THREE, lambda scale: _BOTH[:1], lambda data, scale: of.gaps("Bangs" if data == "celeba" else "azimuth"), num_seeds=4),
        draw=_bars({"first latent": "told"}),
        pictures=of_first(shown.by_factor(("Bangs", "azimuth"), 5)),
    ),
    "figure13": Code(asked(THREE, lambda scale: _BOTH), derive=_count_best, draw=figure.points({"each model": (_JEMMIG_BINS, _RMIG_BINS)})),
    "figure20": Code(
        asked(_SETS, lambda scale: (Correlations(),), lambda data, scale: of.excess_of_means),
        draw=figure.points({"each model": ("correlations", "correlations:stochastic")}),
    ),
    "figure22": Code(
        asked({"celeba": _SIZES, "faces": _SIZES, "dsprites": _SPRITE_SIZES}, examine=lambda data, scale: of.spread_of_means, num_seeds=4),
        draw=_bars({"std of means": "std-of-means"}),
    ),
    "figure26": Code(asked(_THREE_LATENTS, num_seeds=8, **_AGREE), draw=_bars({"agreement of latents": "agreement"}), pictures=of_first(shown.grid)),
    "figure27": Code(
        asked(_ORDERS, num_seeds=4, **_AGREE),
        draw=_bars({"by informativeness": "agreement:informativeness_order", "by variance": "agreement:variance_order"}),
    ),
    "figure28": Code(asked(_ORDERS, num_seeds=4, **_AGREE), draw=_bars({"informative latents": "narrow-posteriors"})),
}
