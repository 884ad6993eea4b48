"""Figures 5, 6 and 11 and section 6.3: digits and clothes, one set of runs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unbraid.data import MNIST, FashionMNIST
from unbraid.data.dataset import FactorDataset
from unbraid.distributions import ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.distributions.posteriors.latents import Latents
from unbraid.metrics import ClusterAccuracy, InformativeLatents, Informativeness
from unbraid.models import Autoencoder, EsmaeiliMNIST, category_samples
from unbraid.objectives import HFVAE, VAE, BetaSVAE, BetaTCVAE
from unbraid.objectives.objective import Objective
from unbraid.optimisers import Adam
from unbraid.papers.esmaeili2018.table2 import TABLE2
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.work import StudyWork, Work
from unbraid.runs.spec import RunSpec
from unbraid.sampling import RowRange
from unbraid.studies.best import best_runs
from unbraid.studies.claims import Claim, Higher, Near, Within
from unbraid.studies.figures import draw
from unbraid.studies.study import Setting, Study
from unbraid.studies.study_scores import StudyScores

NEEDS_MNIST = "the files of MNIST (`unbraid datasets fetch mnist`)"
NEEDS_BOTH = "the files of MNIST and Fashion-MNIST (`unbraid datasets fetch mnist`, `... fashion-mnist`)"

ACTIVE, ACCURACY = "informative-latents", "cluster-accuracy"
_SAID_BY_CATEGORY = "informativeness:group_1"
# The score counts every latent, so the category too, which says more than a nat in every run: one more than of style.
_CATEGORY = 1
_WITH_CATEGORY = (
    "`informative-latents` counts the category, which says more than a nat in every run "
    "(`informativeness:group_1`), beside the ten latents of the style: of these, one less say something."
)
_DIGITS, _CLOTHES, _SPRITES = "MNIST", "Fashion-MNIST", "dSprites"
STRONG = "HFVAE (10, 3)"
STATED = "HFVAE (4, 3)"
_SEEDS: dict[Scale, int] = {"smoke": 1, "quick": 8, "paper": 8}
_STEPS: dict[Scale, int] = {"smoke": 4, "quick": 23_400, "paper": 23_400}


def both() -> GroupedLatents:
    """Returns the latents of the paper: ten for the style, one of ten categories."""
    return GroupedLatents((GaussianLatents(10), ConcreteLatents(10)))


def mnist_spec(objective: Objective, scale: Scale, *, latents: Latents, dataset: FactorDataset) -> RunSpec:
    """Returns a run on images of 28 by 28 pixels, with the nets of table 3. The smallest scale sees 600 images."""
    is_small = scale == "smoke"
    net = EsmaeiliMNIST(hidden=(32,), branch_width=16, decoder_hidden=(16, 32)) if is_small else EsmaeiliMNIST()
    return RunSpec(
        dataset=dataset,
        model=Autoencoder(net, latents=latents),
        objective=objective,
        num_steps=_STEPS[scale],
        batch_size=64 if is_small else 512,
        optimiser=Adam(1e-3),
        subset=RowRange(0, 600) if is_small else None,
    )


def digit_settings(
    scale: Scale, objectives: Mapping[str, Objective], dataset: FactorDataset, latents: Latents | None = None
) -> tuple[Setting, ...]:
    """Returns a setting for each objective, by default with the latents of the paper."""
    seeds = tuple(range(_SEEDS[scale]))
    return tuple(
        Setting(label, mnist_spec(objective, scale, latents=latents or both(), dataset=dataset), seeds, label)
        for label, objective in objectives.items()
    )


def digit_study(name: str, settings: tuple[Setting, ...], question: str, claims: tuple[Claim, ...]) -> StudyWork:
    """Returns a study in which every run is asked the same, so that items that share runs find all scores kept."""
    return StudyWork(
        Study(
            name=f"esmaeili2018-{name}",
            question=question,
            settings=settings,
            metrics=(InformativeLatents(), Informativeness(), ClusterAccuracy()),
            keep="best",
            best_by=ACCURACY,
            claims=claims,
        )
    )


def _category_speaks(*settings: str) -> Claim:
    """Returns the control that the category is among the latents that count, so that one less are of the style."""
    sentence = "The category says more than a nat in every run, and so is one of the latents that are counted."
    return Within(sentence, _SAID_BY_CATEGORY, settings, low=1.0, is_control=True)


def _pruning(scale: Scale) -> Callable[[], StudyWork]:
    def work() -> StudyWork:
        objectives = {
            "VAE": VAE(),
            "beta-TCVAE 4": BetaTCVAE(beta=4.0, estimator="eq13"),
            STATED: HFVAE(alpha=1.0, beta=4.0, gamma=3.0),
            STRONG: HFVAE(alpha=1.0, beta=10.0, gamma=3.0),
        }
        return digit_study(
            f"figure6-{scale}",
            digit_settings(scale, objectives, MNIST()),
            "How many of ten latents keep information about digits?",
            (
                Near("HFVAE keeps 7 of its 10 latents, 8 with the category.", ACTIVE, STATED, 7 + _CATEGORY, 1),
                Within("It prunes at least one of the 10 in every seed.", ACTIVE, (STATED,), high=9 + _CATEGORY),
                Higher("A VAE keeps more latents than HFVAE.", ACTIVE, "VAE", STATED),
                _category_speaks(*objectives),
            ),
        )

    return work


def _traversals(scale: Scale, dataset: FactorDataset, name: str, figure: str) -> Callable[[], StudyWork]:
    def work() -> StudyWork:
        return digit_study(
            f"{figure}-{scale}",
            digit_settings(scale, {STATED: HFVAE(alpha=1.0, beta=4.0, gamma=3.0)}, dataset),
            f"How many latents of an HFVAE change a picture of {name}?",
            (
                Within(
                    f"More than one of 10 latents, and the category, say something of {name} in every seed.",
                    ACTIVE,
                    (STATED,),
                    low=2 + _CATEGORY,
                ),
                Within(
                    f"At least 7 of 10 latents, 8 with the category, say something of {name}.",
                    ACTIVE,
                    (STATED,),
                    low=7 + _CATEGORY,
                ),
                _category_speaks(STATED),
            ),
        )

    return work


def _both_traversals(scale: Scale) -> Callable[[], StudyWork]:
    def work() -> StudyWork:
        digits, clothes = (
            replace(digit_settings(scale, {STATED: HFVAE(alpha=1.0, beta=4.0, gamma=3.0)}, dataset)[0], label=label)
            for label, dataset in ((_DIGITS, MNIST()), (_CLOTHES, FashionMNIST()))
        )
        seven = 7 + _CATEGORY
        return digit_study(
            f"figure5-{scale}",
            (digits, clothes),
            "How many latents of an HFVAE can be seen to move something?",
            (
                Near("7 of 10 latents, 8 with the category, say something of digits.", ACTIVE, _DIGITS, seven, 1),
                Near("About as many say something of clothes.", ACTIVE, _CLOTHES, seven, 1),
                _category_speaks(_DIGITS, _CLOTHES),
            ),
        )

    return work


def _labels(scale: Scale) -> Callable[[], StudyWork]:
    def work() -> StudyWork:
        strong, structured = HFVAE(alpha=1.0, beta=10.0, gamma=3.0), BetaSVAE(4.0)
        digits = digit_settings(scale, {_DIGITS: strong, f"{_DIGITS}, beta-SVAE": structured}, MNIST())
        clothes = digit_settings(scale, {_CLOTHES: strong}, FashionMNIST())
        sprites = next(each for each in TABLE2.at(_of_sprites(scale)).study.settings if each.label == "HFVAE")  # type: ignore[attr-defined]
        return digit_study(
            f"labels-{scale}",
            (*digits, *clothes, replace(sprites, label=_SPRITES, family=_SPRITES)),
            "Do the categories of an HFVAE become the classes, without labels?",
            (
                Higher("Clothes are told apart better than digits.", ACCURACY, _CLOTHES, _DIGITS),
                Higher(
                    "Digits are told apart better by an HFVAE than by a beta-SVAE.", ACCURACY, _DIGITS, digits[1].label
                ),
                Near("Shapes are hardly told apart (chance: 1/3).", f"{ACCURACY}:shape", _SPRITES, 1 / 3, 0.1),
                Near("Digits become the categories.", ACCURACY, _DIGITS, 0.8, 0.2),
            ),
        )

    return work


def _of_sprites(scale: Scale) -> Scale:
    return "quick" if scale == "paper" else scale


def _draw_active(scores: StudyScores) -> Any:
    return draw(scores, "strip", [ACTIVE])


def _draw_accuracy(scores: StudyScores) -> Any:
    return draw(scores, "strip", [ACCURACY])


def in_file_names(label: str) -> str:
    """Returns the label of a setting as the names of its pictures have it."""
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def _pictures(work: Work, folder: Path) -> Mapping[str, bytes]:
    """Returns, of the best run of each setting, its latents from -3 to 3 and draws from the prior by category."""
    if not isinstance(work, StudyWork):
        return {}
    found: dict[str, bytes] = {}
    for label, run in best_runs(work.study, folder).items():
        name = in_file_names(label)
        found[f"{name}-latents"] = run.traverse(latents=range(10), range=(-3.0, 3.0)).png()
        found[f"{name}-categories"] = category_samples(run.model(), num_draws=12, seed=0).png()
    return found


CHOICES = (
    Choice("beta, gamma", "not stated for digits and clothes", "4 and 3, those of dSprites; also 10 and 3"),
    Choice("steps", "not stated", "23,400 of 512 images: 200 epochs"),
    Choice("temperature", "not stated", "0.66, that of the authors' library"),
    Choice("images", "32 by 32 in the text, 28 by 28 in table 3", "28 by 28"),
    Choice("seeds", "not stated", "8"),
)
_COUNTED = Choice(
    "latents that count", "the 10 of the style", "those that say more than 0.01 nats, the category counted as one more"
)
_COLUMNS = (ACTIVE, "informativeness", _SAID_BY_CATEGORY, ACCURACY)

FIGURE5 = Item(
    id="esmaeili2018/figure5",
    title="Latents of an HFVAE from -3 to 3, digits and clothes",
    claim="Single latents change one property each; 7 of 10 are used for digits.",
    work={scale: _both_traversals(scale) for scale in ("smoke", "quick")},
    data="MNIST and Fashion-MNIST",
    seconds={"quick": 190},
    choices=(*CHOICES, _COUNTED),
    draw=_draw_active,
    pictures=_pictures,
    columns=_COLUMNS,
    needs=NEEDS_BOTH,
    notes=(
        "A picture is no proof: what is judged is how many latents say more than 0.01 nats of the image. "
        f"{_WITH_CATEGORY} What each latent shows is not measured here: not whether one is the thickness, the slant or "
        "the width of a digit, nor whether it changes that alone; figure7 measures thickness."
    ),
)
FIGURE6 = Item(
    id="esmaeili2018/figure6",
    title="Information of each latent: three of ten are pruned",
    claim="On MNIST 7 of 10 latents keep information about the image; in 3 it goes to 0.",
    work={scale: _pruning(scale) for scale in ("smoke", "quick")},
    data="MNIST",
    seconds={"quick": 240},
    choices=(
        *CHOICES,
        Choice("I(x; z_d)", "not stated how estimated", "exact, over all images, at the end"),
        _COUNTED,
    ),
    draw=_draw_active,
    columns=_COLUMNS,
    needs=NEEDS_MNIST,
    notes=(
        f"{_WITH_CATEGORY} A beta-TCVAE of the same weight keeps no more latents, so pruning is not the HFVAE's alone. "
        "The verdict rests on the end of training; the curves are in figure6-curve."
    ),
)
LABELS = Item(
    id="esmaeili2018/labels",
    title="Section 6.3: classes found without labels",
    claim="Categories become classes easily for clothes, less for digits, hardly for sprites; a beta-SVAE fails at it.",
    work={scale: _labels(scale) for scale in ("smoke", "quick")},
    data="MNIST, Fashion-MNIST and dSprites",
    seconds={"quick": 380},
    choices=(*CHOICES, Choice("measure of success", "none: pictures", "accuracy under the best matching")),
    draw=_draw_accuracy,
    pictures=None,
    needs=NEEDS_BOTH,
    notes=(
        "With a constant alpha of 1 categories were seen to hold little; k-means on pixels reaches 0.51 on digits and "
        "0.55 on clothes. That digits become the categories is read as an accuracy of at least 0.6."
    ),
)
FIGURE11 = Item(
    id="esmaeili2018/figure11",
    title="Latents of an HFVAE trained on clothes",
    claim="Single latents of an HFVAE trained on Fashion-MNIST change one property each.",
    work={scale: _traversals(scale, FashionMNIST(), "clothes", "figure11") for scale in ("smoke", "quick")},
    data="Fashion-MNIST",
    seconds={"quick": 100},
    choices=(*CHOICES, _COUNTED),
    draw=_draw_active,
    pictures=_pictures,
    columns=_COLUMNS,
    needs="the files of Fashion-MNIST (`unbraid datasets fetch fashion-mnist`)",
    notes=(
        f"{_WITH_CATEGORY} Models keep 4 or 5 of 10 latents where the same weights keep 7 on digits. The paper states "
        "neither weight for clothes; a smaller beta, which prunes less, is the first thing to try, and was not tried. "
        "How far the picture changes along each latent is shown, not measured."
    ),
)
