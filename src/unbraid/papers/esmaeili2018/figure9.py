"""Figure 9: digits written in a way that was left out of training."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from unbraid.data import MNIST
from unbraid.evaluation.scoring import Scoring
from unbraid.model_scores import Distortion
from unbraid.objectives import HFVAE, VAE
from unbraid.objectives.objective import Objective
from unbraid.papers.esmaeili2018.digits import CHOICES, NEEDS_MNIST, both, mnist_spec
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.work import StudyWork
from unbraid.sampling import OuterValues
from unbraid.studies.claims import AtMostTimes, Claim
from unbraid.studies.figures import draw
from unbraid.studies.study import Setting, Study
from unbraid.studies.study_scores import StudyScores

_DISTORTION = "distortion"
_CONTROL = "VAE"
_OBJECTIVES: dict[str, Objective] = {"HFVAE": HFVAE(alpha=1.0, beta=4.0, gamma=3.0), _CONTROL: VAE()}
_THICK_SEVENS = OuterValues("thickness", "digit", 7, side="high")
_NARROW_ZEROS = OuterValues("width", "digit", 0, side="low")


def _settings(scale: Scale, kept: OuterValues) -> tuple[Setting, ...]:
    """Returns each objective trained on all digits, and on those that are kept."""
    seeds = tuple(range(1 if scale == "smoke" else 8))
    found = []
    for label, objective in _OBJECTIVES.items():
        digits = MNIST(split="test" if scale == "smoke" else "train", shape_factors=True)
        spec = replace(mnist_spec(objective, scale, latents=both(), dataset=digits), subset=None)
        found.append(Setting(f"{label}, all digits", spec, seeds, label))
        found.append(Setting(f"{label}, without them", replace(spec, subset=kept), seeds, label))
    return tuple(found)


def _claims(what: str) -> tuple[Claim, ...]:
    return tuple(
        AtMostTimes(
            f"{article} {label} that has not seen {what} reconstructs them at most 10 % worse than one that has.",
            _DISTORTION,
            f"{label}, without them",
            f"{label}, all digits",
            times=1.1,
            refuted_above=1.25,
            is_control=label == _CONTROL,
        )
        for label, article in zip(_OBJECTIVES, ("An", "A"), strict=True)
    )


def _work(scale: Scale, panel: Literal["a", "b"], kept: OuterValues, what: str) -> Callable[[], StudyWork]:
    def work() -> StudyWork:
        left_out = replace(kept, part="test")
        others = () if scale == "smoke" else (Scoring(part="all", subset=kept),)
        return StudyWork(
            Study(
                name=f"esmaeili2018-figure9{panel}-{scale}",
                question=f"Does a model reconstruct {what} that it has not seen?",
                settings=_settings(scale, kept),
                metrics=(Distortion(),),
                scorings=(Scoring(part="all", subset=left_out), *others),
                keep="scores",
                claims=_claims(what),
            )
        )

    return work


def _draw(scores: StudyScores) -> Any:
    return draw(scores, "strip", [_DISTORTION])


def _item(panel: Literal["a", "b"], kept: OuterValues, what: str) -> Item:
    return Item(
        id=f"esmaeili2018/figure9{panel}",
        title=f"Zero-shot generalisation: {what}",
        claim=f"An HFVAE that was trained without {what} reconstructs them.",
        work={scale: _work(scale, panel, kept, what) for scale in ("smoke", "quick")},
        data="MNIST",
        seconds={"quick": 240},
        choices=(
            *CHOICES,
            Choice(
                "what is left out", "by a latent of a first model, how many is not stated", "a fifth, by measurement"
            ),
            Choice("measure of success", "pictures and histograms", "distortion, beside that of a model that saw them"),
            Choice("control", "none", "a VAE"),
        ),
        draw=_draw,
        needs=NEEDS_MNIST,
        notes=(
            "Which latent shows thickness differs from seed to seed, so the images are chosen by what is measured from "
            "their pixels. If the VAE does as well, the finding is not the HFVAE's. The other half of the figure, that "
            "images left out have values of the latent beyond those of the images that were kept, is not measured, "
            "and a beta-VAE was not trained."
        ),
    )


FIGURE9A = _item("a", _THICK_SEVENS, "thick sevens")
FIGURE9B = _item("b", _NARROW_ZEROS, "narrow zeros")
