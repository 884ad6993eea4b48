"""The models of the paper: which are trained on which images, for how long; and items that ask something of them."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from unbraid import figures
from unbraid.data import DSprites
from unbraid.data.dataset import FactorDataset
from unbraid.distributions import GaussianLatents
from unbraid.distributions.likelihoods.likelihood import Likelihood
from unbraid.evaluation import Scoring
from unbraid.figures.median_lines import median_lines
from unbraid.metrics import Metric
from unbraid.metrics.estimators import Quantised, Sampled
from unbraid.models import Autoencoder, Conv, Critic
from unbraid.models.architecture import Architecture
from unbraid.objectives import AAE, BetaVAE, FactorVAE
from unbraid.objectives.objective import Objective
from unbraid.optimisers import Adam
from unbraid.papers.examination import Examine, ExaminedWork
from unbraid.papers.item import Choice, Item, Printed, Scale
from unbraid.papers.panels import side_by_side
from unbraid.papers.work import StudyWork
from unbraid.precision import Precision
from unbraid.recipes import text_of
from unbraid.runs.spec import RunSpec
from unbraid.studies.claims import AsPrinted, Claim, ClearlyHigher, PrintedScore
from unbraid.studies.figures import run_table
from unbraid.studies.study import Setting, Study
from unbraid.studies.study_scores import StudyScores
from unbraid.table import Table

GAMMAS, BETAS = (10, 20, 50, 100), (1, 4, 10, 20, 50)
NUM_LATENTS = 10
FACTORS = ("shape", "scale", "orientation", "position_x", "position_y")
BINS = Quantised(masses="rectangle")
FLOOR = 1e-8


def gamma(weight: float) -> str:
    """Returns what a FactorVAE with this weight of the total correlation is called."""
    return f"FactorVAE {weight:g}"


def beta(weight: float) -> str:
    """Returns what a beta-VAE is called."""
    return f"beta-VAE {weight:g}"


AAE_50 = "AAE 50"
FACTOR_VAES, BETA_VAES = tuple(map(gamma, GAMMAS)), tuple(map(beta, BETAS))
SWEEP = (*FACTOR_VAES, *BETA_VAES)
# Settings that single tests compare have more seeds.
_HEADLINE = {gamma(10), beta(1), beta(10), beta(50), AAE_50}


@final
@dataclass(frozen=True)
class Size:
    """How long models are trained, how many of each, and how many draws their scores take."""

    num_steps: int
    num_seeds: int
    few_seeds: int
    batch_size: int = 64
    precision: Precision = "bf16"
    num_draws: int = 10_000


SIZES: Mapping[Scale, Size] = {
    "smoke": Size(2, 1, 1, 16, "float32", 10),
    "quick": Size(115_200, 8, 4),
    "long": Size(345_600, 8, 4),
    "paper": Size(1_152_000, 8, 4),
}
# Milliseconds of one step of a model on an H200, by the objective.
_MILLISECONDS = {"FactorVAE": 0.186, "beta-VAE": 0.088, "AAE": 0.232}
_SECONDS_OF_SCORES, _SECONDS_OF_COMPILING = 4.0, 45.0
SPRITES_OPTIMISER, STATED_OPTIMISER = Adam(1e-4, betas=(0.9, 0.99)), Adam(1e-3, betas=(0.5, 0.99))


def draws(scale: Scale) -> Sampled:
    """Returns the estimator of the paper's sampled numbers."""
    return Sampled(SIZES[scale].num_draws)


def spec(
    scale: Scale,
    label: str,
    num_latents: int = NUM_LATENTS,
    *,
    images: FactorDataset | None = None,
    net: Architecture | None = None,
    likelihood: Likelihood | None = None,
    optimiser: Adam = SPRITES_OPTIMISER,
) -> RunSpec:
    """Returns what a setting of this label trains, by default on dSprites as the authors' code does."""
    size, (family, _, weight) = SIZES[scale], label.partition(", ")[0].rpartition(" ")
    objectives: Mapping[str, Callable[[float], Objective]] = {"FactorVAE": FactorVAE, "beta-VAE": BetaVAE, "AAE": AAE}
    tiny = scale == "smoke"
    sprites = DSprites(resolution=32, num_orientations=2, num_positions=2) if tiny else DSprites()
    default = Conv((4, 4, 4, 4), hidden=8) if tiny else Conv(init="truncated_normal")
    critic = Critic(
        hidden=(16, 16) if tiny else (1000,) * 5, optimiser=Adam(1e-4, betas=(0.5, 0.99)), init="truncated_normal"
    )
    model = Autoencoder(net or default, latents=GaussianLatents(num_latents))
    if likelihood is not None:
        model = Autoencoder(net or default, latents=GaussianLatents(num_latents), likelihood=likelihood)
    return RunSpec(
        dataset=images or sprites,
        model=model,
        objective=objectives[family](float(weight)),
        critic=None if family == "beta-VAE" else critic,
        num_steps=size.num_steps,
        batch_size=size.batch_size,
        optimiser=optimiser,
        precision=size.precision,
    )


def sprite_setting(scale: Scale, label: str) -> Setting:
    """Returns a setting of the sweep with its seeds. A label may end with the number of latents: ", latents 5"."""
    size, (plain, _, latents) = SIZES[scale], label.partition(", latents ")
    seeds = size.num_seeds if label in _HEADLINE else size.few_seeds
    made = spec(scale, plain, int(latents or NUM_LATENTS))
    return Setting(label, made, tuple(range(seeds)), family=plain.rpartition(" ")[0])


Names = Mapping[str, str]
"""The names of metrics in a study, by what they are called here."""


@final
@dataclass(frozen=True)
class Question:
    """What is asked of trained models: which settings, which metrics by a name of ours, and the claims that they
    decide, given the names of these metrics in the study. `fraction` of the images are scored.
    """

    key: str
    settings: tuple[str, ...]
    metrics: Callable[[Scale], Mapping[str, Metric]]
    claims: Callable[[Names], Sequence[Claim]]
    factors: tuple[str, ...] = ()
    make: Callable[[Scale, str], Setting] = sprite_setting
    fraction: float = 1.0

    def names(self, scale: Scale) -> dict[str, str]:
        """Returns the names of the metrics in the study."""
        return {key: text_of(metric) for key, metric in self.metrics(scale).items()}

    def work(self, scale: Scale) -> StudyWork:
        """Returns the study. Codes stay, so that other questions about the same models can be asked later."""
        return StudyWork(
            Study(
                name=f"do2020-{self.key}",
                settings=tuple(self.make(scale, label) for label in self.settings),
                metrics=tuple(self.metrics(scale).values()),
                scorings=(Scoring(factors=self.factors, fraction=self.fraction),),
                claims=tuple(self.claims(self.names(scale))),
            )
        )

    def names_in(self, scores: StudyScores) -> dict[str, str]:
        """Returns the names of the metrics in these scores, which may be of any scale."""
        names = self.names("paper")
        return names if set(names.values()) <= set(scores.metrics) else self.names("smoke")

    def seconds(self, scale: Scale) -> float:
        """Returns about how long the settings take on one H200."""
        made = [self.make(scale, label) for label in self.settings]
        steps = sum(len(s.seeds) * s.spec.num_steps * _MILLISECONDS[s.family] / 1000 for s in made)
        scores = _SECONDS_OF_SCORES * sum(len(s.seeds) for s in made)
        return round(steps + scores + _SECONDS_OF_COMPILING * len({s.family for s in made}))

    def item(
        self,
        title: str,
        claim: str,
        *,
        draw: Callable[[StudyScores, Names], Any] | None = None,
        printed: Callable[[Names], Sequence[Printed]] | None = None,
        choices: tuple[Choice, ...] = (),
        notes: str = "",
        data: str = "dSprites, drawn",
        shared: tuple[Choice, ...] | None = None,
        **rest: Any,
    ) -> Item:
        """Returns the item that this is asked for. `shared` are the choices that it has in common with others, by
        default those of all models on dSprites.
        """
        scales: tuple[Scale, ...] = ("smoke", "quick", "long", "paper")
        return Item(
            id=f"do2020/{self.key}",
            title=title,
            claim=claim,
            work={scale: functools.partial(self.work, scale) for scale in scales},
            data=data,
            seconds={scale: self.seconds(scale) for scale in scales if scale != "smoke"},
            choices=(*choices, *(SHARED_CHOICES if shared is None else shared)),
            printed=tuple(printed(self.names("paper"))) if printed else (),
            draw=None if draw is None else lambda scores: draw(scores, self.names_in(scores)),
            notes=notes,
            **rest,
        )


def examined(
    item: Item, numbers: Mapping[str, bool | None], examine: Callable[[Scale], Examine], claims: Sequence[Claim]
) -> Item:
    """Returns the item with models that are examined beside what is scored of them. Its claims are those of the scores
    and these, about the numbers that are examined.
    """

    def work(scale: Scale) -> ExaminedWork:
        scored = item.at(scale)
        assert isinstance(scored, StudyWork)
        study = replace(scored.study, claims=())
        return ExaminedWork(study, numbers, examine(scale), (*scored.claims, *claims))

    return replace(item, work={scale: functools.partial(work, scale) for scale in item.work})


def above(sentence: str, metric: str, ours: str, theirs: str, **rest: Any) -> ClearlyHigher:
    """Returns the claim that one setting scores above another: by an exact test, and by the interval of the shift."""
    return ClearlyHigher(sentence, metric, (ours,), (theirs,), **rest)


def as_printed(printed: Sequence[Printed], rounding: float, sentence: str = "", **rest: Any) -> AsPrinted:
    """Returns the claim that these numbers of single models are such as one more seed of ours might have."""
    told = sentence or f"The {len(printed)} printed numbers are such as one more seed might have."
    scores = tuple(PrintedScore(each.setting, each.metric, each.value) for each in printed)
    return AsPrinted(told, scores, rounding=rounding, **rest)


def bars(panels: Mapping[str, str]) -> Callable[[StudyScores, Names], Any]:
    """Returns what draws a panel of bars for each title whose score any model has; a panel is a metric of ours, or a
    part of it after a colon.
    """

    def drawn(scores: StudyScores, names: Names) -> Any:
        known = {title: wanted for title, wanted in panels.items() if scores.with_any_score(named(names, wanted))}
        places = side_by_side(list(known), height=3.2)
        for axes, wanted in zip(places, known.values(), strict=True):
            metric = named(names, wanted)
            figures.error_bars(run_table(scores, [metric]), metric, axes=axes, label=wanted)
        return tuple(places)

    return drawn


def points(pairs: Mapping[str, tuple[str, str]]) -> Callable[[StudyScores, Names], Any]:
    """Returns what draws a panel for each title, with a point for each model at two of its scores."""

    def drawn(scores: StudyScores, names: Names) -> Any:
        places = side_by_side(list(pairs), height=3.2)
        for axes, (x, y) in zip(places, pairs.values(), strict=True):
            first, second = named(names, x), named(names, y)
            figures.scatter_plot(run_table(scores, [first, second]), first, second, labels=(x, y), axes=axes)
        return tuple(places)

    return drawn


def curves(panels: Mapping[str, Mapping[int, str]], across: str) -> Callable[[StudyScores, Names], Any]:
    """Returns what draws a panel for each title: the median of a score, a line for each setting, over the number that
    each score of ours belongs to.
    """

    def drawn(scores: StudyScores, names: Names) -> Any:
        places = side_by_side(list(panels), height=3.2)
        for axes, (title, by_place) in zip(places, panels.items(), strict=True):
            rows = [
                {"setting": label, "family": scores.families[label], across: place, title: value}
                for label in scores.settings
                for place, wanted in by_place.items()
                for value in scores.values(label, named(names, wanted)).values()
            ]
            median_lines(Table.of(rows), across, title, axes=axes)
        return tuple(places)

    return drawn


def named(names: Names, wanted: str) -> str:
    """Returns the name in the study of a metric of ours, or of a part of it: "rmig:scale". One that is examined has its
    name already.
    """
    key, _, part = wanted.partition(":")
    return names.get(key, key) + (f":{part}" if part else "")


_LENGTH = Choice("length", "300 epochs; 100 in the code", "paper: 100 epochs (1,152,000 steps); long: 30; quick: 10")
COMMON_CHOICES = (
    Choice("critic", "1e-4; 0.5 and 0.99", "as stated; weights start from a truncated normal, as in their code"),
    Choice("heads", "mean and log std", "mean and log variance: the same functions, another speed of the std"),
    Choice("error bars", "standard error; the code draws the standard deviation", "95 % interval of the mean"),
    Choice("precision", "not stated", "bfloat16 products, weights in float32"),
)
"""What all models of the paper have in common, whatever the images."""
SHARED_CHOICES = (
    Choice("learning rate, Adam", "1e-3; 0.5 and 0.99", "1e-4; 0.9 and 0.99, as in the authors' code for dSprites"),
    _LENGTH,
    Choice("seeds", "4 per setting", "4, and 8 of the settings that single tests compare"),
    *COMMON_CHOICES,
)
"""What all models of the sweep on dSprites have in common."""
