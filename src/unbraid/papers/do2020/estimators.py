"""Figures 17, 18, 24 and 25: how scores depend on bins and draws, and laws of estimates."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from unbraid.metrics import (
    JEMMIG,
    MIG,
    RMIG,
    SEPIN,
    Metric,
    RankedLatents,
)
from unbraid.metrics.estimators import MeansHistogram, Quantised, Sampled
from unbraid.papers.do2020.runs import (
    AAE_50,
    BETA_VAES,
    BINS,
    FACTOR_VAES,
    SWEEP,
    Names,
    Question,
    beta,
    curves,
    draws,
    examined,
    gamma,
    named,
    points,
)
from unbraid.papers.examination import Numbers, of_each
from unbraid.papers.item import Scale
from unbraid.recipes import text_of
from unbraid.runs.run import Run
from unbraid.studies.claims import (
    Claim,
    Difference,
    GrowingApart,
    NoDrift,
    OnLine,
    SameOrder,
    WithinErrors,
)
from unbraid.studies.study_scores import StudyScores

_NUM_BINS = (20, 50, 80, 100, 150, 200, 300, 500)
_SEVEN = (gamma(10), gamma(20), gamma(50), beta(10), beta(20), beta(30), beta(50))


_NESTED = ((20, 100), (50, 100), (50, 150), (50, 200), (100, 200), (100, 300), (100, 500))
_WITH_MASSES = (20, 50, 100, 150, 200, 300, 500)


def _rectangles(number: int) -> Quantised:
    return Quantised(number, masses="rectangle")


def _by_bins(scale: Scale) -> Mapping[str, Metric]:
    return {
        **{f"rmig {number}": RMIG(_rectangles(number)) for number in _NUM_BINS},
        **{f"jemmig {number}": JEMMIG(_rectangles(number)) for number in _NUM_BINS},
        **{
            f"told {number}, masses": RankedLatents("best_factor", Quantised(number, masses="erf_edge"))
            for number in _WITH_MASSES
        },
    }


_JOINT = "joint-entropy"


def joint_entropies(run: Run) -> Numbers:
    """Returns the mean over factors of H(z*, y), in nats, by the number of bins: it is what JEMMIG and RMIG add up to,
    without their divisions.
    """
    kept = run.named_scores()
    found = {
        number: sum(kept[text_of(kind(_rectangles(number)))].parts["unnormalised"].value for kind in (RMIG, JEMMIG))
        for number in _NUM_BINS
    }
    return {_JOINT: found[100]} | {f"{_JOINT}:{number}": value for number, value in found.items()}


def _figure17(names: Names) -> Sequence[Claim]:
    return (
        Difference("RMIG is stable above 200 bins.", names["rmig 500"], names["rmig 200"], _SEVEN, -0.005, 0.005),
        Difference("RMIG rises from 20 bins to 200.", names["rmig 200"], names["rmig 20"], _SEVEN, low=0.0),
        *(
            Difference(
                f"JEMMIG grows from {few} bins to {many}.",
                names[f"jemmig {many}"],
                names[f"jemmig {few}"],
                _SEVEN,
                low=0.0,
            )
            for few, many in pairwise(_NUM_BINS)
        ),
        *(
            SameOrder(
                f"{kind} in {number} bins orders models as in 100.",
                names[f"{key} {number}"],
                names[f"{key} 100"],
                _SEVEN,
            )
            for key, kind in (("rmig", "RMIG"), ("jemmig", "JEMMIG"))
            for number in _NUM_BINS
            if number != 100
        ),
        *(
            Difference(
                f"With masses of q(z | x), the best latent says no less in {many} bins than in {few}.",
                named(names, f"told {many}, masses:1"),
                named(names, f"told {few}, masses:1"),
                _SEVEN,
                low=-1e-6,
                is_control=True,
            )
            for few, many in _NESTED
        ),
    )


FIGURE17 = examined(
    Question("figure17", _SEVEN, _by_bins, _figure17).item(
        "RMIG, JEMMIG and H(z*, y) by the number of bins",
        "RMIG rises with the number of bins and is stable above 200; JEMMIG and H(z*, y) keep growing; the order of "
        "models does not change.",
        draw=curves(
            {
                "RMIG": {number: f"rmig {number}" for number in _NUM_BINS},
                "JEMMIG": {number: f"jemmig {number}" for number in _NUM_BINS},
                "H(z*, y)": {number: f"{_JOINT}:{number}" for number in _NUM_BINS},
            },
            "bins",
        ),
        notes=(
            "Rectangles of few bins miss narrow posteriors. With the mass of q(z | x) in every bin, finer bins that "
            "lie within coarser ones never say less of a factor."
        ),
    ),
    {_JOINT: None},
    lambda scale: of_each(joint_entropies),
    [
        Difference(f"H(z*, y) grows from {few} bins to {many}.", f"{_JOINT}:{many}", f"{_JOINT}:{few}", _SEVEN, low=0.0)
        for few, many in pairwise(_NUM_BINS)
    ],
)


def _num_draws(scale: Scale) -> tuple[int, ...]:
    return (10, 20, 30) if scale == "smoke" else (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)


def _by_draws(scale: Scale) -> Mapping[str, Metric]:
    few, *between, many = _num_draws(scale)
    found: dict[str, Metric] = {"jemmig few": JEMMIG(Sampled(few)), "wsepin few": SEPIN(Sampled(few))}
    for number in between:
        found |= {f"jemmig {number}": JEMMIG(Sampled(number)), f"wsepin {number}": SEPIN(Sampled(number))}
    return found | {"jemmig many": JEMMIG(Sampled(many)), "wsepin many": SEPIN(Sampled(many))}


def _figure18(names: Names) -> Sequence[Claim]:
    both = [(key.upper(), names[f"{key} few"], names[f"{key} many"]) for key in ("jemmig", "wsepin")]
    return (
        *(WithinErrors(f"{kind} of 1,000 draws is that of 50,000.", few, many, _SEVEN) for kind, few, many in both),
        *(NoDrift(f"{kind} does not drift with the draws.", few, many, _SEVEN, 6) for kind, few, many in both),
    )


def _by_number_of_draws(scores: StudyScores, names: Names) -> Any:
    scale: Scale = "paper" if f"jemmig {_num_draws('paper')[1]}" in names else "smoke"
    few, *between, many = _num_draws(scale)
    places = {few: "few", **{number: str(number) for number in between}, many: "many"}
    kinds = {"JEMMIG": "jemmig", "WSEPIN": "wsepin"}
    panels = {kind: {number: f"{key} {place}" for number, place in places.items()} for kind, key in kinds.items()}
    return curves(panels, "draws")(scores, names)


FIGURE18 = Question("figure18", _SEVEN, _by_draws, _figure18).item(
    "JEMMIG and WSEPIN by the number of draws",
    "Neither depends on the number of draws.",
    draw=_by_number_of_draws,
    notes="With the mixture of all images there is no bias that draws could lower; flat curves show small noise.",
)


def _both_ways(scale: Scale) -> Mapping[str, Metric]:
    return {
        "jemmig sampled": JEMMIG(draws(scale)),
        "jemmig in bins": JEMMIG(BINS),
        "rmig sampled": RMIG(draws(scale)),
        "rmig in bins": RMIG(BINS),
    }


_LOG_WIDTH = 2.526  # -log 0.08, the width of a bin


def _figure24(names: Names) -> Sequence[Claim]:
    in_bins, sampled = named(names, "jemmig in bins:unnormalised"), names["jemmig sampled"]
    rmig = named(names, "rmig in bins:unnormalised"), named(names, "rmig sampled:unnormalised")
    return (
        OnLine("JEMMIG in bins is the sampled one less log of the width.", sampled, in_bins, SWEEP, offset=_LOG_WIDTH),
        OnLine("RMIG in bins is the sampled one.", *rmig[::-1], SWEEP, scatter=0.01),
        Difference("No JEMMIG is off by more than 0.1.", in_bins, sampled, SWEEP, _LOG_WIDTH - 0.1, _LOG_WIDTH + 0.1),
        Difference("No RMIG is off by more than 0.1.", *rmig, SWEEP, -0.1, 0.1),
    )


FIGURE24 = Question("figure24", (*SWEEP, AAE_50), _both_ways, _figure24).item(
    "Draws against bins",
    "JEMMIG in bins is the sampled one less log of the width of a bin; RMIG in bins is the sampled one.",
    draw=points(
        {
            "JEMMIG": ("jemmig sampled", "jemmig in bins:unnormalised"),
            "RMIG": ("rmig sampled:unnormalised", "rmig in bins:unnormalised"),
        }
    ),
    notes=(
        "Where posteriors are narrow against a bin of 0.08, the rectangles miss them: AAE, which no claim is about, "
        "shows it."
    ),
)


def _three_gaps(scale: Scale) -> Mapping[str, Metric]:
    return {"rmig": RMIG(BINS), "mig": MIG(draws(scale)), "mig of means": MIG(MeansHistogram(100))}


def _figure25(names: Names) -> Sequence[Claim]:
    large = (beta(20), beta(30), beta(50))
    by_beta = (*BETA_VAES[:-1], *large[1:])
    return (
        Difference("RMIG all but equals MIG.", names["rmig"], names["mig"], _GAPS, -0.01, 0.01, share=0.5),
        Difference("It is never far from it.", names["rmig"], names["mig"], _GAPS, -0.03, 0.03, share=0.95),
        Difference(
            "Binned means make MIG too high for large beta.", names["mig of means"], names["mig"], large, low=0.0
        ),
        GrowingApart("The excess grows with beta.", names["mig of means"], names["mig"], by_beta),
    )


_GAPS = (*FACTOR_VAES, *BETA_VAES, beta(30))
FIGURE25 = Question("figure25", _GAPS, _three_gaps, _figure25).item(
    "RMIG against two MIGs",
    "RMIG of 100 bins all but equals the MIG of 10,000 draws; that of binned means is too high for beta 20, 30 and 50.",
    draw=points({"RMIG": ("mig", "rmig"), "MIG of binned means": ("mig", "mig of means")}),
)
