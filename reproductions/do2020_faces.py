"""Items of do2020.toml on faces: CelebA, and drawn faces, dSprites or clothes that stand in for it."""

from functools import partial

from reproductions import figure
from reproductions.code import latent_pictures as shown
from reproductions.code import latents as of
from reproductions.code.latents import BINS
from reproductions.do2020 import AAE_50, ON_SPRITES, THIRDS, THREE, asked
from reproductions.item import Code, Examine, Scale, Scores, per_run
from reproductions.pictures import of_first
from unbraid.config import text_of
from unbraid.metrics import JEMMIG, MISJED, RMIG, Correlations, Informativeness
from unbraid.metrics.estimators import Quantized

_RMIG, _JEMMIG = text_of(RMIG(BINS)), text_of(JEMMIG(BINS))
_SETS = {"celeba": THREE, "faces": (*THREE, *THIRDS[:2]), "dsprites": ON_SPRITES}
_CLOTHES = tuple(f"{name}, latents {size}" for size in (10, 65) for name in THREE)


def _count_best(scores: Scores) -> Scores:
    """Adds on how many attributes a FactorVAE is best among the three models of its seed: of high RMIG, and low JEMMIG."""
    ours, *others = (scores.get(label, {}) for label in THREE)
    found: dict[str, dict[int, float]] = {}
    for metric, sign in ((_RMIG, 1), (_JEMMIG, -1)):
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
FACES: dict[str, Code] = {
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
        asked({**_SETS, "fashion": _CLOTHES}, lambda scale: _BOTH, lambda data, scale: of.rescaled), draw=_bars({"RMIG": _RMIG, "JEMMIG": _JEMMIG})
    ),
    "table7": Code(
        asked({**_SETS, "fashion": _CLOTHES}, lambda scale: _BOTH, lambda data, scale: of.rescaled),
        draw=_bars({"JEMMIG": _JEMMIG, "JEMMIG, unit width": "jemmig-rescaled"}),
    ),
    "figure12": Code(
        asked(THREE, lambda scale: _BOTH[:1], lambda data, scale: of.gaps("Bangs" if data == "celeba" else "azimuth"), num_seeds=4),
        draw=_bars({"first latent": "told"}),
        pictures=of_first(shown.by_factor(("Bangs", "azimuth"), 5)),
    ),
    "figure13": Code(asked(THREE, lambda scale: _BOTH), derive=_count_best, draw=figure.points({"each model": (_JEMMIG, _RMIG)})),
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
