"""Figures 2 to 8: what the sweep of gamma and beta does to every score."""

from collections.abc import Mapping, Sequence

from unbraid.metrics import (
    DCI,
    JEMMIG,
    RMIG,
    SEPIN,
    InformativeLatents,
    Informativeness,
    Metric,
    Modularity,
    RankedLatents,
    Separability,
)
from unbraid.metrics.estimators import Exact, MeansHistogram
from unbraid.papers.do2020.pictures import by_separability
from unbraid.papers.do2020.runs import (
    BETA_VAES,
    FACTOR_VAES,
    FACTORS,
    FLOOR,
    SWEEP,
    Names,
    Question,
    above,
    as_printed,
    bars,
    beta,
    draws,
    gamma,
    named,
    points,
)
from unbraid.papers.item import Choice, Printed, Scale
from unbraid.studies.claims import (
    Claim,
    ClearlyHigher,
    Equivalent,
    Growing,
    MostWithin,
    NotGrowing,
    Reaches,
    StronglyCorrelated,
    TellsApart,
    Uncorrelated,
)

_VAE = beta(1)
_LARGE_BETAS = (beta(10), beta(20), beta(50))


def _of_information(scale: Scale) -> Mapping[str, Metric]:
    return {"info": Informativeness(draws(scale)), "floored": Informativeness(draws(scale), "mc", FLOOR)}


def _figure2(names: Names) -> Sequence[Claim]:
    info, mean = names["info"], named(names, "info:mean_over_latents")
    return (
        Growing("I(x, z) falls as beta rises.", info, BETA_VAES, "falls", 0.01),
        Growing("The mean of I(x, z_i) falls as beta rises.", mean, BETA_VAES, "falls", 0.01),
        ClearlyHigher("FactorVAEs together have a lower mean of I(x, z_i) than the VAE.", mean, (_VAE,), FACTOR_VAES),
        *(Equivalent(f"{label} has about the VAE's I(x, z).", info, label, _VAE, 0.7) for label in FACTOR_VAES),
    )


FIGURE2 = Question("figure2", SWEEP, _of_information, _figure2).item(
    "Informativeness by gamma and beta",
    "Both the mean of I(x, z_i) and I(x, z) fall as beta rises; the total correlation term leaves I(x, z) nearly as in "
    "the VAE and lowers the mean of I(x, z_i).",
    draw=bars({"mean of I(x, z_i)": "info:mean_over_latents", "I(x, z)": "info"}),
    choices=(
        Choice("estimate", "10,000 draws; densities floored at 1e-8 in the code", "10,000 draws without a floor"),
    ),
    notes="I(x, z) is at most log 737,280 = 13.51 nats, whatever the objective.",
)


def _of_separation(scale: Scale) -> Mapping[str, Metric]:
    return {
        "separability": Separability(draws(scale)),
        "wsepin": SEPIN(draws(scale)),
        "separability, floored": Separability(draws(scale), "mc", FLOOR),
        "wsepin, floored": SEPIN(draws(scale), "mc", FLOOR),
    }


# Derived from figure 4, whose FactorVAE is probably that of gamma 20.
_LEVELS = {beta(10): (2.35, 2.44), gamma(20): (1.30, 1.59), _VAE: (0.33, 0.39)}


def _printed_levels(names: Names) -> list[Printed]:
    return [
        Printed(label, named(names, wanted), value)
        for label, values in _LEVELS.items()
        for wanted, value in zip(("wsepin", "wsepin:SEPIN@3"), values, strict=True)
    ]


def _figure3(names: Names) -> Sequence[Claim]:
    most, wsepin, top3 = named(names, "separability:max"), names["wsepin"], named(names, "wsepin:SEPIN@3")
    best, others = (beta(10),), tuple(label for label in SWEEP if label != beta(10))
    return (
        ClearlyHigher("beta 10 has a higher WSEPIN than each other setting.", wsepin, best, others, each=True),
        ClearlyHigher("beta 10 has a higher SEPIN@3 than each other setting.", top3, best, others, each=True),
        *(
            ClearlyHigher(f"Large betas separate latents better than {label}.", most, (label,), _LARGE_BETAS)
            for label in FACTOR_VAES
        ),
        NotGrowing("The largest I(z_i, z_not_i) of FactorVAE does not rise with gamma.", most, FACTOR_VAES),
        as_printed(_printed_levels(names), 0.005),
    )


FIGURE3 = Question("figure3", SWEEP, _of_separation, _figure3).item(
    "Separability, WSEPIN and SEPIN@3 by gamma and beta",
    "beta-VAEs with a large beta have evenly small I(z_i, z_not_i), FactorVAEs a wide spread of it that gamma changes "
    "little; beta = 10 has the highest WSEPIN and SEPIN@3 of all.",
    draw=bars(
        {
            "largest I(z_i, z_not_i)": "separability:max",
            "WSEPIN": "wsepin",
            "SEPIN@3": "wsepin:SEPIN@3",
            "WSEPIN, floored": "wsepin, floored",
        }
    ),
    printed=_printed_levels,
    notes="Levels are derived from the numbers of figure 4; the axes of figure 3 cannot be read in the text.",
)

_INFO = {
    gamma(20): (4.5231, 4.5229, 3.9097, 2.8971, 1.5442),
    _VAE: (4.7944, 4.7764, 3.8164, 3.2606, 3.1706),
    beta(10): (2.8457, 2.8331, 1.9369, 0.7636),
}
_SEP = {
    gamma(20): (2.7832, 2.7307, 2.6833, 2.3561, 1.4175),
    _VAE: (4.4006, 4.3106, 3.7150, 2.9649, 2.8458),
    beta(10): (0.1424, 0.1306, 0.0734, 0.0722),
}
_DIGIT = 5e-5  # half of the last of four printed digits


def _of_latents(scale: Scale) -> Mapping[str, Metric]:
    return {
        "count": InformativeLatents(),
        "info": RankedLatents(estimator=draws(scale)),
        "separability": RankedLatents("separability", draws(scale)),
        "separability, floored": RankedLatents("separability", draws(scale), "mc", FLOOR),
    }


def _printed_latents(names: Names, panel: str, label: str) -> list[Printed]:
    """Returns what figure 4 prints for a panel, of a setting of ours."""
    return [
        Printed(label, named(names, f"{what}:{rank}"), value)
        for what, found in (("info", _INFO), ("separability", _SEP))
        for rank, value in enumerate(found[panel], start=1)
    ]


def _figure4(names: Names) -> Sequence[Claim]:
    fifth, last = (named(names, f"separability, floored:{rank}") for rank in (5, 10))
    return (
        *(
            MostWithin(f"{label} has {count} informative latents.", names["count"], (label,), count, count)
            for label, count in ((gamma(10), 5), (gamma(20), 5), (_VAE, 5), (beta(10), 4))
        ),
        as_printed(_printed_latents(names, gamma(20), gamma(10)), _DIGIT, "Panel a is such as a FactorVAE 10."),
        as_printed(
            _printed_latents(names, gamma(20), gamma(20)), _DIGIT, "Panel a is such as a FactorVAE 20.", is_control=True
        ),
        as_printed(_printed_latents(names, _VAE, _VAE), _DIGIT, "Panel b is such as a VAE."),
        as_printed(_printed_latents(names, beta(10), beta(10)), _DIGIT, "Panel c is such as a beta-VAE 10."),
        MostWithin(
            "With the floor, the fifth latent of beta 10, of noise, seems to share 0.03 to 0.06 nats.",
            fifth,
            (beta(10),),
            0.03,
            0.06,
        ),
        MostWithin("With the floor, so does the tenth.", last, (beta(10),), 0.03, 0.06),
        MostWithin(
            "Without the floor, the fifth latent shares nothing.",
            named(names, "separability:5"),
            (beta(10),),
            high=0.005,
        ),
    )


FIGURE4 = Question("figure4", (gamma(10), *_INFO), _of_latents, _figure4).item(
    "Separability and informativeness of the latents of three models",
    "FactorVAE and VAE have five informative latents of poor separability and five dead ones; beta 10 has four "
    "informative ones that are separable.",
    printed=lambda names: [each for label in _INFO for each in _printed_latents(names, label, label)],
    pictures=by_separability,
    notes=(
        "The panel labelled TC = 10 has the informative latents of the TC = 20 model of figure 23; both are trained "
        "here, and the panel is compared with both. Latents are ranked, so the fifth to the tenth of a beta-VAE with "
        "four informative ones are those of noise. In print, latents of beta 10 that say nothing share 0.04 nats, "
        "which cannot be: for a factorised encoder I(z_i, z_not_i) is at most I(z_i, x). The floor of 1e-8 in the "
        "authors' code adds as much."
    ),
)


def _of_interpretability(scale: Scale) -> Mapping[str, Metric]:
    return {"jemmig": JEMMIG(draws(scale)), "rmig": RMIG(draws(scale))}


def _figure5(names: Names) -> Sequence[Claim]:
    jemmig, rmig = names["jemmig"], named(names, "rmig:unnormalised")
    others = tuple(label for label in SWEEP if label != _VAE)
    return (
        above("The worst FactorVAE has a higher RMIG than the best beta-VAE.", rmig, gamma(10), beta(10)),
        above("The worst FactorVAE has a lower JEMMIG than the best beta-VAE.", jemmig, beta(10), gamma(10)),
        ClearlyHigher("FactorVAEs have higher RMIG than beta-VAEs.", rmig, FACTOR_VAES, BETA_VAES),
        ClearlyHigher("FactorVAEs have lower JEMMIG than beta-VAEs.", jemmig, BETA_VAES, FACTOR_VAES),
        ClearlyHigher("The VAE has a worse JEMMIG than each other setting.", jemmig, (_VAE,), others, each=True),
        StronglyCorrelated("JEMMIG and RMIG go together.", jemmig, rmig, SWEEP, "negative", 0.7, 0.4),
    )


FIGURE5 = Question("figure5", SWEEP, _of_interpretability, _figure5).item(
    "JEMMIG and RMIG by gamma and beta, and against each other",
    "FactorVAEs are more interpretable than beta-VAEs by both scores: even the worst (gamma 10) beats the best "
    "(beta 10); the VAE is worst by JEMMIG; the two scores go together.",
    draw=points({"each model": ("jemmig", "rmig:unnormalised")}),
)

_FOUR = FACTORS[1:]


def _of_dci(scale: Scale) -> Mapping[str, Metric]:
    # Codes that were hardly trained are nearly collinear, and a small penalty finds no end.
    alpha = 0.5 if scale == "smoke" else 0.002
    return {
        "dci": DCI(alpha=alpha, standardise=False, rows="all", num_refits=0),
        "dci, standardised": DCI(alpha=alpha, rows="all", num_refits=0),
        "jemmig": JEMMIG(draws(scale)),
        "rmig": RMIG(draws(scale)),
    }


def _figure6(names: Names) -> Sequence[Claim]:
    jemmig, rmig = names["jemmig"], named(names, "rmig:unnormalised")
    error, completeness = named(names, "dci:train_error"), named(names, "dci:completeness")
    scaled = names["dci, standardised"], named(names, "dci, standardised:completeness")
    families = FACTOR_VAES, BETA_VAES
    return (
        TellsApart("JEMMIG parts FactorVAEs from beta-VAEs.", jemmig, *families, low=0.9),
        TellsApart("RMIG parts FactorVAEs from beta-VAEs.", rmig, *families, low=0.9),
        TellsApart("Disentanglement does not part them.", names["dci"], *families, high=0.75),
        TellsApart("Completeness does not part them.", completeness, *families, high=0.75),
        StronglyCorrelated("Error and JEMMIG go together.", jemmig, error, SWEEP, "positive"),
        StronglyCorrelated("Error and RMIG go against each other.", rmig, error, SWEEP, "negative"),
        Uncorrelated("Disentanglement does not go with JEMMIG.", jemmig, names["dci"], SWEEP),
        Uncorrelated("Completeness does not go with JEMMIG.", jemmig, completeness, SWEEP),
        *(
            control
            for what, score in zip(("Disentanglement", "Completeness"), scaled, strict=True)
            for control in (
                TellsApart(
                    f"{what} from standardised means does not part them.", score, *families, high=0.75, is_control=True
                ),
                Uncorrelated(
                    f"{what} from standardised means does not go with JEMMIG.", jemmig, score, SWEEP, is_control=True
                ),
            )
        ),
    )


_ROWS = Choice("LASSO", "alpha 0.002", "raw labels on raw means of all images, training error: as in the authors' code")
_SHAPE = Choice("factors", "five", "without shape, as in the authors' code")

FIGURE6 = Question("figure6", SWEEP, _of_dci, _figure6, _FOUR).item(
    "JEMMIG and RMIG against disentanglement, completeness and error",
    "JEMMIG and RMIG part FactorVAE from beta-VAE, disentanglement and completeness do not; the error alone goes with "
    "JEMMIG and RMIG.",
    draw=points(
        {
            "disentanglement": ("jemmig", "dci"),
            "completeness": ("jemmig", "dci:completeness"),
            "error": ("jemmig", "dci:train_error"),
        }
    ),
    choices=(_ROWS, _SHAPE),
    notes="With standardised means dead latents have no huge weights; if the finding falls there, it is about scaling.",
)


def _figure7(names: Names) -> Sequence[Claim]:
    completeness, error = named(names, "dci:completeness"), named(names, "dci:train_error")
    return (
        Growing("Disentanglement rises with beta.", names["dci"], BETA_VAES, "rises", 0.01),
        Growing("Completeness rises with beta.", completeness, BETA_VAES, "rises", 0.01),
        ClearlyHigher("beta 50 has more disentanglement than FactorVAEs.", names["dci"], (beta(50),), FACTOR_VAES),
        ClearlyHigher("beta 50 has more completeness than FactorVAEs.", completeness, (beta(50),), FACTOR_VAES),
        ClearlyHigher("Betas of 20 and 50 have larger errors than FactorVAEs.", error, _LARGE_BETAS[1:], FACTOR_VAES),
        Growing(
            "Disentanglement rises with standardised means too.",
            names["dci, standardised"],
            BETA_VAES,
            "rises",
            0.01,
            is_control=True,
        ),
    )


FIGURE7 = Question("figure7", SWEEP, _of_dci, _figure7, _FOUR).item(
    "Disentanglement, completeness and error by gamma and beta",
    "Disentanglement and completeness prefer beta-VAEs with a high beta, although their error is larger.",
    draw=bars({"disentanglement": "dci", "completeness": "dci:completeness", "error": "dci:train_error"}),
    choices=(_ROWS, _SHAPE),
)


def _of_modularity(scale: Scale) -> Mapping[str, Metric]:
    return {
        "original": Modularity(MeansHistogram(100)),
        "correct": Modularity(draws(scale), uninformative="published"),
        "left out": Modularity(Exact(), uninformative="left_out", threshold=0.01),
        "jemmig": JEMMIG(draws(scale)),
    }


def _figure8(names: Names) -> Sequence[Claim]:
    return (
        *(
            ClearlyHigher(f"The VAE is more modular than FactorVAEs, {words}.", names[key], (_VAE,), FACTOR_VAES)
            for key, words in (("original", "from binned means"), ("correct", "from q(z | x)"))
        ),
        *(Reaches(f"The modularity of {label} is at least 0.8.", names["correct"], label, 0.8) for label in SWEEP),
        ClearlyHigher("By JEMMIG the VAE is worse than FactorVAEs.", names["jemmig"], (_VAE,), FACTOR_VAES),
        ClearlyHigher(
            "The VAE is more modular without dead latents too.",
            names["left out"],
            (_VAE,),
            FACTOR_VAES,
            is_control=True,
        ),
    )


FIGURE8 = Question("figure8", SWEEP, _of_modularity, _figure8).item(
    "Modularity by gamma and beta",
    "From binned means and from q(z | x) alike, modularity is often higher for VAEs than for FactorVAEs, where JEMMIG "
    "says otherwise.",
    draw=bars({"original": "original", "correct": "correct", "without dead latents": "left out"}),
    choices=(
        Choice("dead latents", "not stated", "as in the authors' code: sampling noise decides; beside it, left out"),
    ),
)
