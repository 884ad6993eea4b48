"""Calibration: which beta and gamma, which the paper does not state, fit the axes that it prints."""

from typing import Any

from unbraid import figures
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.split2020.nets import BASELINE, KERNELS
from unbraid.papers.split2020.runs import (
    BETA_VAE,
    BETAS,
    DISTORTION,
    FACTOR_VAE,
    GAMMAS,
    RATE,
    SHARED_CHOICES,
    SPRITES,
    VAE_,
    label,
    seconds,
    spec,
    work,
)
from unbraid.papers.work import StudyWork
from unbraid.studies.claims import FoundAmong, PrintedRange
from unbraid.studies.figures import run_table
from unbraid.studies.study import Setting
from unbraid.studies.study_scores import StudyScores

_PAIRS = [(VAE_, BASELINE)] * 2 + [(BETA_VAE, BASELINE)] * len(BETAS) + [(FACTOR_VAE, BASELINE)] * len(GAMMAS)
_SEEDS = {"smoke": (0,), "paper": (0, 1, 2)}


def _settings(scale: Scale) -> list[Setting]:
    betas, gammas = (BETAS[:2], GAMMAS[:2]) if scale == "smoke" else (BETAS, GAMMAS)
    seeds = _SEEDS[scale]
    return [
        *(Setting(label(VAE_, net), spec(SPRITES, scale, VAE_, net), seeds, VAE_) for net in (BASELINE, KERNELS)),
        *(
            Setting(f"{BETA_VAE} {beta:g}", spec(SPRITES, scale, BETA_VAE, BASELINE, beta=beta), seeds, BETA_VAE)
            for beta in betas
        ),
        *(
            Setting(
                f"{FACTOR_VAE} {gamma:g}", spec(SPRITES, scale, FACTOR_VAE, BASELINE, gamma=gamma), seeds, FACTOR_VAE
            )
            for gamma in gammas
        ),
    ]


def _work(scale: Scale) -> StudyWork:
    settings = _settings(scale)
    of_kind = {
        kind: tuple(each.label for each in settings if each.family == kind) for kind in (VAE_, BETA_VAE, FACTOR_VAE)
    }
    claims = (
        FoundAmong(
            "A VAE distorts as much as on the axis of figure 4.", of_kind[VAE_], (PrintedRange(DISTORTION, 17.2, 18.8),)
        ),
        FoundAmong(
            "One beta gives the distortion and the KL of figure 11.",
            of_kind[BETA_VAE],
            (PrintedRange(DISTORTION, 42.5, 44.5), PrintedRange(RATE, 14.7, 15.1)),
        ),
        FoundAmong(
            "One gamma gives the distortion and the KL of figure 4.",
            of_kind[FACTOR_VAE],
            (PrintedRange(DISTORTION, 48.0, 52.0), PrintedRange(RATE, 18.0, 21.5)),
        ),
    )
    return work("calibration", settings, claims)


def _draw(scores: StudyScores) -> Any:
    return figures.rate_distortion_plane(run_table(scores, [RATE, DISTORTION]))


CALIBRATION = Item(
    id="split2020/calibration",
    title="Which beta and gamma fit the printed axes",
    claim="The axes of figures 4 and 11 print distortion and KL, which pin the weights that the paper does not state.",
    work={"smoke": lambda: _work("smoke"), "paper": lambda: _work("paper")},
    data="dSprites, exact",
    seconds={"paper": seconds("paper", _PAIRS, 3)},
    choices=(
        *(choice for choice in SHARED_CHOICES if choice.what not in ("beta, gamma", "seeds")),
        Choice("beta, gamma", "not stated", "beta 2, 4, 6, 8; gamma 10, 20, 30, 40, 50, 100"),
        Choice("seeds", "not stated", "3"),
    ),
    draw=_draw,
    columns=(DISTORTION, RATE),
    notes=(
        "Where no candidate fits both axes, the settings of the paper could not be found, and no level of its other "
        "figures can be judged. What is found goes into `WEIGHTS` of `unbraid.papers.split2020.runs`, with "
        "`IS_CALIBRATED`: until then, levels of beta-VAE and FactorVAE are controls. The VAE checks length and net: it "
        "is trained with the kernels of the baseline, and with those of disentanglement_lib, of 2 x 2 in its third and "
        "fourth convolution."
    ),
)
