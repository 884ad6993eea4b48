"""Figures 9 and 13, tables 6 and 7: what latents say of faces and of their attributes."""

from collections.abc import Callable, Mapping, Sequence

from unbraid.metrics import JEMMIG, RMIG, RankedLatents
from unbraid.papers.do2020.faces import (
    CELEBA,
    FAMILIES,
    NEEDS,
    NUM_LATENTS,
    THREE,
    Labels,
    celeba,
    choices_of_photographs,
    on_photographs_and_drawn,
    setting_on,
)
from unbraid.papers.do2020.runs import (
    BINS,
    Names,
    Question,
    above,
    as_printed,
    named,
    points,
)
from unbraid.papers.item import Printed
from unbraid.studies.claims import BestOnFactors, Claim, MostWithin, RatioWithin

_MIDDLE = 33
_ATTRIBUTES = ("Bangs", "Black_Hair", "Eyeglasses", "Goatee", "Male", "Smiling")
_RMIG = {
    "FactorVAE": (0.1742, 0.0430, 0.0409, 0.0343, 0.0060, 0.0962),
    "beta-VAE": (0.0176, 0.0223, 0.0045, 0.0325, 0.0094, 0.0184),
    "AAE": (0.0035, 0.0276, 0.0018, 0.0069, 0.0060, 0.0099),
}
_JEMMIG = {
    "FactorVAE": (0.6118, 0.6334, 0.6041, 0.6616, 0.6875, 0.6150),
    "beta-VAE": (0.8632, 0.8620, 0.8602, 0.8600, 0.8690, 0.8699),
    "AAE": (0.8463, 0.8613, 0.8423, 0.8496, 0.8644, 0.8575),
}


def _ranked(labels: Labels, names: Names) -> Sequence[Claim]:
    first, middle, last = (named(names, f"ranked:{rank}") for rank in (1, _MIDDLE, NUM_LATENTS))
    *others, aae = labels
    return (
        RatioWithin("The last latent of AAE says nearly as much as the first.", last, first, (aae,), 0.8, share=0.75),
        *(MostWithin(f"{label} has a latent that says nothing.", last, (label,), high=0.01) for label in others),
        *(
            MostWithin(f"{label} has a latent that says at least ten times as much as that.", first, (label,), low=0.1)
            for label in others
        ),
        *(above(f"The middle latent of AAE says more than that of {o}.", middle, aae, o) for o in others),
    )


FIGURE9, FIGURE9_FACES = on_photographs_and_drawn(
    "figure9",
    "Informativeness of 65 latents, sorted",
    "AAE's latents are equally and highly informative; those of FactorVAE and beta-VAE drop to 0 at some latent.",
    lambda scale: {"ranked": RankedLatents(estimator=BINS)},
    _ranked,
    panels={"largest": "ranked:1", "middle": f"ranked:{_MIDDLE}", "smallest": f"ranked:{NUM_LATENTS}"},
    all_latents=True,
)


def _printed(key: str, table: Mapping[str, tuple[float, ...]]) -> Callable[[Names], Sequence[Printed]]:
    return lambda names: [
        Printed(FAMILIES[family], named(names, f"{key}:{attribute}"), value)
        for family, values in table.items()
        for attribute, value in zip(_ATTRIBUTES, values, strict=True)
    ]


_DIGIT = 5e-5  # half of the last of four printed digits


def _higher_rmig(metric: str, words: str, labels: Labels = THREE) -> list[Claim]:
    ours, *others = labels
    return [above(f"FactorVAE has a higher RMIG {words} than {other}.", metric, ours, other) for other in others]


def _lower_jemmig(metric: str, words: str, labels: Labels = THREE) -> list[Claim]:
    ours, *others = labels
    return [above(f"FactorVAE has a lower JEMMIG {words} than {other}.", metric, other, ours) for other in others]


TABLE6, TABLE6_FACES = on_photographs_and_drawn(
    "table6",
    "RMIG of six attributes",
    "FactorVAE fits most attributes better than beta-VAE and AAE; all are far from ideal.",
    lambda scale: {"rmig": RMIG(BINS)},
    lambda labels, names: [
        c for a in ("Bangs", "Smiling") for c in _higher_rmig(named(names, f"rmig:{a}"), f"of {a}", labels)
    ],
    stand_in_claims=lambda labels, names: _higher_rmig(names["rmig"], "on average", labels),
    stand_in_says=("RMIG of four factors", "FactorVAE fits factors better than beta-VAE and AAE."),
    panels={"RMIG": "rmig"},
    printed=_printed("rmig", _RMIG),
    printed_claims=lambda names: [as_printed(_printed("rmig", _RMIG)(names), _DIGIT)],
    notes="One exception is in print: beta-VAE has the higher RMIG of Male.",
)

TABLE7, TABLE7_FACES = on_photographs_and_drawn(
    "table7",
    "JEMMIG of six attributes",
    "FactorVAE has the lowest JEMMIG of all six attributes.",
    lambda scale: {"jemmig": JEMMIG(BINS)},
    lambda labels, names: [
        c for a in _ATTRIBUTES for c in _lower_jemmig(named(names, f"jemmig:{a}"), f"of {a}", labels)
    ],
    stand_in_claims=lambda labels, names: _lower_jemmig(names["jemmig"], "on average", labels),
    stand_in_says=("JEMMIG of four factors", "FactorVAE has the lowest JEMMIG, on average over the factors."),
    panels={"JEMMIG": "jemmig"},
    printed=_printed("jemmig", _JEMMIG),
    printed_claims=lambda names: [as_printed(_printed("jemmig", _JEMMIG)(names), _DIGIT)],
    notes=(
        "JEMMIG rewards narrow latents: one of noise, N(0, 1), scores .864 to .875 whatever the attribute, where "
        "beta-VAE is. FactorVAE's printed lead is nearly all the width of q(z), not what is told of the attribute."
    ),
)

FIGURE13 = Question(
    "figure13",
    THREE,
    lambda scale: {"rmig": RMIG(BINS), "jemmig": JEMMIG(BINS)},
    lambda names: [
        BestOnFactors("FactorVAE has the highest RMIG of 25 attributes.", names["rmig"], THREE[0], THREE[1:], 25),
        BestOnFactors(
            "FactorVAE has the lowest JEMMIG of 36 attributes.", names["jemmig"], THREE[0], THREE[1:], 36, "lowest"
        ),
    ],
    make=setting_on(celeba),
).item(
    "JEMMIG and RMIG of all 40 attributes",
    "In general FactorVAE agrees better with the attributes.",
    draw=points({"each model": ("jemmig", "rmig")}),
    shared=choices_of_photographs(),
    data=CELEBA,
    needs=NEEDS,
)
