"""Tables 6 and 7 on real images that anyone can have, clothes in place of faces; and latents of one width."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from unbraid.codes import Codes
from unbraid.data import FashionMNIST
from unbraid.evaluation import evaluate
from unbraid.metrics import JEMMIG, RMIG, Metric
from unbraid.models import Conv
from unbraid.papers.do2020.faces import FACES, THREE, choices_of_drawn_faces, faces, setting_on
from unbraid.papers.do2020.runs import (
    AAE_50,
    BINS,
    COMMON_CHOICES,
    STATED_OPTIMISER,
    Names,
    Question,
    above,
    bars,
    beta,
    examined,
    gamma,
    spec,
)
from unbraid.papers.examination import Numbers, of_each
from unbraid.papers.item import Choice, Scale
from unbraid.runs.run import Run
from unbraid.sampling import RowRange
from unbraid.studies.claims import Claim
from unbraid.studies.study import Setting

_STEPS: Mapping[Scale, int] = {"smoke": 2, "quick": 28_140, "long": 93_800, "paper": 281_400}
_NUM_SEEDS = 8
_LABELS = tuple(f"{name}, latents {size}" for size in (10, 65) for name in (gamma(50), beta(50), AAE_50))
RMIG_RESCALED, JEMMIG_RESCALED = "rmig-rescaled", "jemmig-rescaled"


def _setting(scale: Scale, label: str) -> Setting:
    tiny, (name, _, latents) = scale == "smoke", label.partition(", latents ")
    net = Conv((4, 4), hidden=8) if tiny else Conv(init="truncated_normal")
    made = spec(
        scale,
        name,
        max(3, int(latents) // 10) if tiny else int(latents),
        images=FashionMNIST(),
        net=net,
        optimiser=STATED_OPTIMISER,
    )
    made = replace(made, num_steps=_STEPS[scale], subset=RowRange(0, 50) if tiny else None)
    return Setting(label, made, tuple(range(1 if tiny else _NUM_SEEDS)), family=name.rpartition(" ")[0])


def rescaled(codes: Codes) -> Codes:
    """Returns the codes with every latent in units of its own std, that of q(z): means and stds alike."""
    assert codes.std is not None
    mean, std = codes.mean.double(), codes.std.double()
    width = (mean.var(dim=0, correction=0) + std.square().mean(dim=0)).sqrt()
    width = torch.where(width > 0, width, torch.ones_like(width))
    return replace(codes, mean=mean / width, std=std / width, prior=None)


def _examine(run: Run) -> Numbers:
    card = evaluate(rescaled(run.codes()), [RMIG(BINS), JEMMIG(BINS)], progress=False)
    rmig, jemmig = card.scores
    return {RMIG_RESCALED: rmig.value, JEMMIG_RESCALED: jemmig.value}


def size_of(label: str) -> str:
    """Returns the number of latents that a label ends with."""
    return label.rpartition(" ")[2]


def _others(label: str) -> list[tuple[str, str]]:
    """Returns the other two models with as many latents, and what they are called."""
    size = label.partition(", ")[2]
    return [(f"{name}, {size}", name) for name in (beta(50), AAE_50)]


def _claims(names: Names) -> Sequence[Claim]:
    found: list[Claim] = []
    for ours in _LABELS[::3]:
        latents = size_of(ours)
        for other, name in _others(ours):
            found += [
                above(f"FactorVAE has a higher RMIG than {name} ({latents} latents).", names["rmig"], ours, other),
                above(f"FactorVAE has a lower JEMMIG than {name} ({latents} latents).", names["jemmig"], other, ours),
            ]
    return found


def _metrics(scale: Scale) -> Mapping[str, Metric]:
    return {"rmig": RMIG(BINS), "jemmig": JEMMIG(BINS)}


TABLE6_FASHION = examined(
    Question("table6-fashion", _LABELS, _metrics, _claims, make=_setting).item(
        "RMIG and JEMMIG of the class of clothes",
        "RMIG and JEMMIG tell of real images that FactorVAE fits a label better than beta-VAE and AAE.",
        draw=bars({"RMIG": "rmig", "JEMMIG": "jemmig", "JEMMIG, unit width": JEMMIG_RESCALED}),
        choices=(
            Choice("images", "CelebA, six attributes", "Fashion-MNIST, its ten classes"),
            Choice("nets", "table 3", "the convolutions of table 4, at 28 pixels"),
            Choice("latents", "65", "65, and 10"),
        ),
        shared=(
            Choice("learning rate, Adam", "1e-3; 0.5 and 0.99", "as stated"),
            Choice("length", "300 epochs of batch 64", "paper: 281,400 steps; long: 93,800; quick: 28,140"),
            Choice("seeds", "not stated", str(_NUM_SEEDS)),
            *COMMON_CHOICES,
        ),
        data="Fashion-MNIST",
        needs="the files of Fashion-MNIST (`unbraid datasets fetch fashion-mnist`)",
        notes=(
            "JEMMIG rewards narrow latents, so it is also computed with every latent in units of its own std: if the "
            "order falls there, it was one of widths."
        ),
        stands_in_for="do2020/table6",
    ),
    {RMIG_RESCALED: True, JEMMIG_RESCALED: False},
    lambda scale: of_each(_examine),
    [
        above(
            f"With latents of unit width, JEMMIG of FactorVAE is lower than of {name} ({size_of(ours)} latents).",
            JEMMIG_RESCALED,
            other,
            ours,
            is_control=True,
        )
        for ours in _LABELS[::3]
        for other, name in _others(ours)
    ],
)

_OURS = gamma(50)
TABLE7_RESCALED = examined(
    Question(
        "table7-faces-rescaled",
        THREE,
        _metrics,
        lambda names: [
            above(f"FactorVAE has a lower JEMMIG than {other}.", names["jemmig"], other, _OURS) for other in THREE[1:]
        ],
        make=setting_on(faces),
    ).item(
        "JEMMIG on drawn faces, with latents of one width",
        "FactorVAE has the lowest JEMMIG, on average over the factors.",
        draw=bars({"JEMMIG": "jemmig", "JEMMIG, unit width": JEMMIG_RESCALED}),
        shared=choices_of_drawn_faces(),
        data=FACES,
        notes="Beside table7-faces: a lead that falls when every latent is in units of its own std was one of widths.",
        stands_in_for="do2020/table7",
    ),
    {RMIG_RESCALED: True, JEMMIG_RESCALED: False},
    lambda scale: of_each(_examine),
    [
        above(
            f"With latents of unit width, FactorVAE has a lower JEMMIG than {o}.",
            JEMMIG_RESCALED,
            o,
            _OURS,
            is_control=True,
        )
        for o in (beta(50), AAE_50)
    ],
)
