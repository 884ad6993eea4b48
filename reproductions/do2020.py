"""Code of do2020.toml: Do & Tran 2020, metrics of informativeness, separability and interpretability."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from reproductions.code import latent_pictures as shown
from reproductions.code import latents as of
from reproductions.code.turned_codes import FACTS, compute_facts
from reproductions.item import Code, Numbers, Scale, Scores, family_and_weight, per_run
from reproductions.pictures import of_first
from reproductions.scales import Reduction
from unbraid import Autoencoder, BetaVAE, Conv, DSprites, RunSpec
from unbraid.datasets import CelebA, FashionMNIST, ShadedFaces
from unbraid.metrics import DCI, MIG, MISJED, RMIG, SEPIN, Informativeness, Separability
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.models import DoTranCelebA
from unbraid.models.distributions import GaussianLatents, LaplaceLikelihood
from unbraid.objectives import AAE, FactorVAE, Objective
from unbraid.training import Critic
from unbraid.training.optimizers import Adam

FACTORS = ("shape", "scale", "orientation", "position_x", "position_y")
THREE, AAE_50, FLOOR = ("FactorVAE 50", "beta-VAE 50", "AAE 50"), "AAE 50", 1e-8
_HEADLINE = {"FactorVAE 10", "beta-VAE 1", "beta-VAE 10", "beta-VAE 50", AAE_50}
_STEPS = {
    "dsprites": {"quick": 115_200, "paper": 1_152_000},
    "celeba": {"quick": 76_290, "paper": 762_900},
    "faces": {"quick": 19_850, "paper": 198_500},
    "fashion": {"quick": 28_140, "paper": 281_400},
}
_OBJECTIVES: dict[str, Callable[[float], Objective]] = {"FactorVAE": FactorVAE, "beta-VAE": BetaVAE, "AAE": AAE}
LAPTOP = Reduction(
    {
        DSprites: {"resolution": 32, "num_scales": 4, "num_orientations": 4, "num_positions": 8},
        ShadedFaces: {"resolution": 32, "num_identities": 8, "num_azimuths": 9, "num_elevations": 5, "num_lightings": 5},
        FashionMNIST: {"split": "test"},
    },
    {Objective: 3_000},
    spec={"precision": "float32", "batch_size": 32},
    learning_rate=1e-3,
    critic_learning_rate=1e-3,
)


def num_seeds(data: str, scale: Scale, label: str, count: int) -> int:
    """Returns how many seeds a setting has: on dSprites 4 of those that no single test compares."""
    return 4 if data == "dsprites" and scale in ("quick", "paper") and label not in _HEADLINE else count


def spec(data: str, scale: Scale, label: str) -> RunSpec:
    """Returns what a label trains: "FactorVAE 10", "AAE 50, latents 100"."""
    name, _, size = label.partition(", latents ")
    (family, weight), is_face = family_and_weight(name), data in ("celeba", "faces")
    sets: dict[str, Any] = {"dsprites": DSprites(), "celeba": CelebA(split="train", crop=None), "faces": ShadedFaces(), "fashion": FashionMNIST()}
    latents, net = GaussianLatents(int(size or (65 if is_face else 10))), (DoTranCelebA if is_face else Conv)(init="truncated_normal")
    critic = Critic((1000,) * 5, optimizer=Adam(1e-4, betas=(0.5, 0.99)), init="truncated_normal")
    return RunSpec(
        sets[data],
        Autoencoder(net, latents=latents, likelihood=LaplaceLikelihood(sigmoid=True)) if is_face else Autoencoder(net, latents=latents),
        _OBJECTIVES[family](weight),
        critic=None if family == "beta-VAE" else critic,
        num_steps=_STEPS[data][scale],
        batch_size=64,
        optimizer=Adam(1e-4, betas=(0.9, 0.99)) if data == "dsprites" else Adam(1e-3, betas=(0.5, 0.99)),
        precision="bf16",
    )


_JEM, _JEM_BINS, _RM, _RM_BINS = "jemmig:sampled", "jemmig:quantized:rectangle", "rmig:sampled:unnormalized", "rmig:quantized:rectangle"
_OFF = -2.526  # the log of the width of a bin


def _off_the_line(run: Mapping[str, float]) -> float:
    return abs(run[f"{_JEM_BINS}:unnormalized"] - run[_JEM] + _OFF)


def _rmig_off(run: Mapping[str, float]) -> float:
    return abs(run[f"{_RM_BINS}:unnormalized"] - run[_RM])


def _counted(label: str, seed: int) -> Numbers:
    """Returns the numbers of images, pixels and entropies of a dataset."""
    dataset: Any = CelebA(split="train") if label.startswith("CelebA") else DSprites()
    is_read = isinstance(dataset, CelebA)
    values = dataset.open().values if is_read else torch.cartesian_prod(*(torch.arange(factor.size) for factor in dataset.factors))
    shares = [torch.bincount(column.long()).double() / len(values) for column in values.T]
    found = {f"entropy:{f.name}": float(-torch.xlogy(p, p).sum()) for f, p in zip(dataset.factors, shares, strict=True)}
    return {"images": len(values), "pixels": dataset.image_shape[1], "channels": dataset.image_shape[0], **found}


def _weights(label: str, net: Any, shape: tuple[int, int, int], size: int) -> Code:
    def compute(case: str, seed: int) -> Numbers:
        with torch.device("meta"):  # weights are counted, not made
            made = {"encoder": net.make_encoder(shape, GaussianLatents(size)), "decoder": net.make_decoder(size, shape)}
            made["critic"] = Critic(init="truncated_normal").for_codes(size, 1)
        weights = {name: list(each.parameters()) for name, each in made.items()}
        found = {f"weights:{name}": sum(w.numel() for w in each) for name, each in weights.items()}
        layers = {f"layers:{name}": len([w for w in each if w.ndim > 1]) for name, each in weights.items()}
        return {**found, **layers, "weights": found["weights:encoder"] + found["weights:decoder"], "layers": sum(layers.values())}

    return Code(compute=compute, cases={label: (0,)})


def _count_best(scores: Scores) -> Scores:
    """Adds on how many attributes a FactorVAE is best among the three models of its seed: of high RMIG, and low JEMMIG."""
    ours, *others = (scores.get(label, {}) for label in THREE)
    found: dict[str, dict[int, float]] = {}
    for metric, sign in ((_RM_BINS, 1), (_JEM_BINS, -1)):
        names = [m for m in ours if m.startswith(f"{metric}:") and m.rpartition(":")[2] != "unnormalized"]
        seeds = set.intersection(*(set(each.get(m, {})) for each in (ours, *others) for m in names)) if names else set()
        led = {s: float(sum(all(sign * ours[m][s] > sign * o[m][s] for o in others) for m in names)) for s in sorted(seeds)}
        found[f"attributes led in {metric}"] = led
    return {THREE[0]: found}


_NUM_BINS, _BINS = (20, 50, 80, 100, 150, 200, 300, 500), of.BINS
_MISJED, _MISJED_50, _DRAWS = MISJED(_BINS), MISJED(Quantized(50, masses="rectangle")), Sampled(10_000)
_INFO, _SEPARABLE, _FLOORED = Informativeness(_DRAWS), Separability(_DRAWS), Separability(_DRAWS, "mc", FLOOR)
_LASSO = DCI(standardize=False, rows="all", num_refits=0), DCI(rows="all", num_refits=0)
_RANKED = of.ranks_of(ranked=Informativeness(_BINS))


CODE: dict[str, Code] = {
    "table1": Code(compute=compute_facts, cases=dict.fromkeys(FACTS, (0,))),
    "table2": Code(
        compute=_counted,
        cases=lambda data: {"CelebA, train" if data == "celeba" else "dSprites": (0,)},
        reads=lambda data: (CelebA(split="train"),) if data == "celeba" else (),
    ),
    "table3": _weights("nets for CelebA, 65 latents", DoTranCelebA(init="truncated_normal"), (3, 64, 64), 65),
    "table4": _weights("nets for dSprites, 10 latents", Conv(init="truncated_normal"), (1, 64, 64), 10),
    "figure4": Code(
        examine=lambda data: of.ranks_of(info=_INFO, separability=_SEPARABLE, floored=_FLOORED), pictures=of_first(shown.by_separability)
    ),
    "figure9": Code(examine=lambda data: _RANKED, derive=per_run({"last to first": lambda run: run["ranked:65"] / run["ranked:1"]})),
    "figure10": Code(examine=lambda data: of.distance_to_data(50), pictures=of_first(shown.most_informative)),
    "table5": Code(examine=lambda data: of.ranked_pairs(pairs=_MISJED, fewer=_MISJED_50)),
    "figure11": Code(examine=lambda data: of.groups_of_pairs(_MISJED_50, 0.1), pictures=of_first(shown.misjed_map(50, 0.1))),
    **dict.fromkeys(("table6", "table7"), Code(examine=lambda data: of.rescaled)),
    "figure12": Code(
        examine=lambda data: of.gaps("Bangs" if data == "celeba" else "azimuth"), pictures=of_first(shown.by_factor(("Bangs", "azimuth"), 5))
    ),
    "figure13": Code(derive=_count_best),
    "figure14": Code(examine=lambda data: _RANKED, derive=per_run({"first to fifth": lambda run: run["ranked:1"] / run["ranked:5"]})),
    "figure15": Code(examine=lambda data: of.groups_of_pairs(_MISJED), pictures=of_first(shown.misjed_map(100))),
    "figure16": Code(pictures=of_first(shown.by_factor(FACTORS, 3))),
    "figure17": Code(examine=lambda data: of.joint_entropies(_NUM_BINS)),
    **dict.fromkeys(("table8", "table9", "figure18"), Code()),
    "figure19": Code(examine=lambda data: of.others_less_joint(_FLOORED, _SEPARABLE, ranked=_INFO, sepin=SEPIN(_DRAWS))),
    "figure20": Code(examine=lambda data: of.excess_of_means),
    "figure22": Code(examine=lambda data: of.spread_of_means),
    "figure23": Code(examine=lambda data: of.best_factor_ranks(told=RMIG(Exact()), binned=MIG(MeansHistogram(100)))),
    "figure23c": Code(examine=lambda data: of.weights_on_dead(*_LASSO, FACTORS[1:])),
    "figure24": Code(
        derive=per_run(
            {
                "JEMMIG off the line": _off_the_line,
                "RMIG off the line": _rmig_off,
                "largest off the line": lambda run: max(_off_the_line(run), _rmig_off(run)),
            }
        )
    ),
    "figure25": Code(derive=per_run({"excess of binned means": lambda run: run["mig:means-histogram:num_bins=100"] - run["mig:sampled"]})),
    "figure26": Code(examine=lambda data: of.agreement, pictures=of_first(shown.grid)),
    **dict.fromkeys(("figure27", "figure28"), Code(examine=lambda data: of.agreement)),
}
