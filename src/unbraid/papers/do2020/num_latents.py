"""Figure 19: what changes with the number of latents, and why."""

import functools
from collections.abc import Mapping, Sequence

from unbraid.metrics import (
    JEMMIG,
    SEPIN,
    Informativeness,
    Metric,
    RankedLatents,
    Separability,
)
from unbraid.papers.do2020.runs import (
    FLOOR,
    Names,
    Question,
    bars,
    beta,
    draws,
    examined,
    named,
)
from unbraid.papers.examination import Numbers, of_each
from unbraid.papers.item import Scale
from unbraid.recipes import text_of
from unbraid.runs.run import Run
from unbraid.studies.claims import (
    Claim,
    Equivalent,
    Growing,
    Near,
    Within,
)

_BY_LATENTS = {count: beta(10) if count == 10 else f"{beta(10)}, latents {count}" for count in (5, 10, 15, 20)}


def _of_sizes(scale: Scale) -> Mapping[str, Metric]:
    return {
        "info": Informativeness(draws(scale)),
        "info, floored": Informativeness(draws(scale), "mc", FLOOR),
        "separability": Separability(draws(scale)),
        "separability, floored": Separability(draws(scale), "mc", FLOOR),
        "ranked": RankedLatents(estimator=draws(scale)),
        "ranked, floored": RankedLatents("informativeness", draws(scale), "mc", FLOOR),
        "sepin": RankedLatents("sepin", draws(scale)),
        "wsepin, floored": SEPIN(draws(scale), "mc", FLOOR),
        "jemmig": JEMMIG(draws(scale)),
    }


def _figure19(names: Names) -> Sequence[Claim]:
    few, many, info = _BY_LATENTS[10], _BY_LATENTS[20], names["info"]
    most = tuple(_BY_LATENTS[count] for count in (10, 15, 20))
    return (
        Growing("With the floor, I(x, z) falls as latents are added.", names["info, floored"], most, "falls", 0.01),
        Growing("With it, I(z_i, z_not_i) rises.", names["separability, floored"], most, "rises", 0.01),
        Equivalent("Without the floor, I(x, z) stays.", info, many, few, 0.3),
        *(
            Within(
                f"Without it, no SEPIN is below 0: {count} latents.", named(names, f"sepin:{count}"), (label,), -0.05
            )
            for count, label in _BY_LATENTS.items()
        ),
        Equivalent("The most informative latent stays.", named(names, "ranked:1"), many, few, 0.1),
        Equivalent("It stays with the floor as well.", named(names, "ranked, floored:1"), many, few, 0.1),
        Equivalent("JEMMIG stays.", names["jemmig"], many, few, 0.1),
    )


_LESS_JOINT = "others-less-joint"


def others_less_joint(run: Run, scale: Scale) -> Numbers:
    """Returns the mean over latents of H(z_not_i) - H(z), in nats, with the floor and without it."""
    kept, found = run.named_scores(), {}
    for part, key in (("", "separability, floored"), (":plain", "separability")):
        tables = kept[text_of(_of_sizes(scale)[key])].tables
        found[f"{_LESS_JOINT}{part}"] = float((tables["entropy_of_others"] - tables["joint_entropy"]).mean())
    return found


FIGURE19 = examined(
    Question("figure19", tuple(_BY_LATENTS.values()), _of_sizes, _figure19).item(
        "What changes with the number of latents, and why",
        "With more latents I(x, z_i) and JEMMIG stay, but I(x, z) falls, I(z_i, z_not_i) jumps, H(z_not_i) - H(z) "
        "comes to 0, and WSEPIN is unstable; the paper leaves it unexplained.",
        draw=bars({"I(x, z), floored": "info, floored", "I(x, z)": "info", "H(z_not_i) - H(z), floored": _LESS_JOINT}),
        notes=(
            "The cause is the floor of 1e-8 under every density in the authors' code: -log q(z) is then at most 18.4 "
            "nats, which latents of noise exceed for their number alone. On pure noise it lowers H(z) by 0.07 nats "
            "with 10 latents, 2.98 with 15 and 9.96 with 20. The same models are scored with it and without it, but "
            "for JEMMIG, which sees one latent at a time."
        ),
    ),
    {_LESS_JOINT: None},
    lambda scale: of_each(functools.partial(others_less_joint, scale=scale)),
    [
        Near(
            "With the floor, H(z_not_i) - H(z) is near 0 with 20 latents.",
            _LESS_JOINT,
            _BY_LATENTS[20],
            0.0,
            0.2,
        )
    ],
)
