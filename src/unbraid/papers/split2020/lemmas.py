"""Lemmas 1 and 2 as numbers: both sides of equation 6 of small trained models, each from draws of its own."""

import functools
import math
import statistics
import tempfile
from collections.abc import Mapping
from typing import Any

from unbraid import figures
from unbraid.codes import Codes
from unbraid.data import DSprites
from unbraid.distributions import CorrelatedGaussianLatents, GaussianLatents
from unbraid.metrics import Lemma2Gap
from unbraid.metrics.estimators import Sampled
from unbraid.models import Autoencoder, Conv, Critic, SharingConv, SplitConv
from unbraid.models.architecture import Architecture
from unbraid.objectives import VAE, FactorVAE
from unbraid.optimisers import Adam
from unbraid.papers.calculation import Calculation
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.split2020.nets import BASELINE, CORRELATED, SHARING, SPLIT
from unbraid.papers.split2020.runs import FACTOR_VAE, NUM_LATENTS, RHO, VAE_, label
from unbraid.runs.spec import RunSpec
from unbraid.studies.claims import Within
from unbraid.studies.figures import run_table
from unbraid.studies.study_scores import StudyScores
from unbraid.training import train

_ENCODERS = (BASELINE, CORRELATED, SHARING, SPLIT)
_CASES = {label(objective, encoder): (objective, encoder) for objective in (VAE_, FACTOR_VAE) for encoder in _ENCODERS}
# KL(q(z|x) || prod q(z_i|x)) of a Gaussian whose latents all have this correlation: 9.26 nats of ten latents at 0.9.
OF_NOISE = -0.5 * ((NUM_LATENTS - 1) * math.log(1 - RHO) + math.log(1 + (NUM_LATENTS - 1) * RHO))
_SUBSETS: Mapping[str, tuple[int, ...]] = {"": (), ":two": (0, 1), ":five": (0, 2, 4, 6, 8)}
_NUM_PAIRS = 10
_ERRORS = 5.0  # standard errors of ten pairs that their mean may be off by; one in 1,300 is by chance
_LEAST_INFORMATION = 1.0  # nats of the image in all latents: of a model that says nothing, both sides are 0


def _compute(scale: Scale, case: str, seed: int) -> Mapping[str, float]:
    """Returns both sides of the lemma for all latents, for two of them and for five, of a model that is trained now."""
    codes = _codes(_spec(scale, *_CASES[case]), seed)
    num_samples, num_pairs = (1_000, 3) if scale == "smoke" else (5_000, _NUM_PAIRS)
    found: dict[str, float] = {}
    for name, latents in _SUBSETS.items():
        pairs = [
            Lemma2Gap(estimator=Sampled(num_samples, seed=pair), latents=latents, left_side_seed=1_000 + pair)(codes)
            for pair in range(num_pairs)
        ]
        differences = [score.parts["difference"].value for score in pairs]
        error = statistics.stdev(differences) / math.sqrt(num_pairs)
        found |= {
            f"right_side{name}": statistics.mean(score.value for score in pairs),
            f"left_side{name}": statistics.mean(score.parts["left_side"].value for score in pairs),
            f"difference{name}": statistics.mean(differences),
            f"difference_in_errors{name}": statistics.mean(differences) / error if error else 0.0,
            f"posterior_dependence{name}": pairs[0].parts["posterior_dependence"].value,
        }
        if not latents:
            found["information"] = statistics.mean(float(score.tables["joint_informativeness"][0]) for score in pairs)
    return found


def _codes(spec: RunSpec, seed: int) -> Codes:
    with tempfile.TemporaryDirectory() as folder:
        [run] = train(spec, seeds=[seed], folder=folder, device="cpu", progress=False)
        return run.codes()


def _spec(scale: Scale, objective: str, encoder: str) -> RunSpec:
    is_smoke = scale == "smoke"
    channels, hidden = ((4, 4, 4, 4), 8) if is_smoke else ((16, 16, 32, 32), 128)
    nets: Mapping[str, Architecture] = {
        SHARING: SharingConv(channels, hidden=hidden),
        SPLIT: SplitConv(channels, branch_width=hidden // 4, hidden=hidden),
    }
    baseline = Conv(channels, hidden=hidden)
    latents = CorrelatedGaussianLatents(NUM_LATENTS, rho=RHO) if encoder == CORRELATED else GaussianLatents(NUM_LATENTS)
    has_critic = objective == FACTOR_VAE
    return RunSpec(
        dataset=DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=8 if is_smoke else 16),
        model=Autoencoder(nets.get(encoder, baseline), baseline, latents),
        objective=FactorVAE(gamma=10.0, same_batch=True) if has_critic else VAE(),
        critic=Critic(hidden=(64, 64), optimiser=Adam(1e-3, betas=(0.5, 0.9))) if has_critic else None,
        num_steps=12 if is_smoke else 3_000,
        batch_size=32,
        optimiser=Adam(2e-3),
    )


def _work(scale: Scale) -> Calculation:
    correlated = tuple(case for case, (_, encoder) in _CASES.items() if encoder == CORRELATED)
    independent = tuple(case for case in _CASES if case not in correlated)
    words = {"": "all latents", ":two": "two latents", ":five": "five latents"}
    agree = [
        Within(
            f"Both sides of Lemma 2 agree within {_ERRORS:g} standard errors, for {words[name]}.",
            f"difference_in_errors{name}",
            tuple(_CASES),
            -_ERRORS,
            _ERRORS,
        )
        for name in _SUBSETS
    ]
    claims = (
        *agree,
        Within(
            f"Correlated noise makes latents depend on each other given the image by {OF_NOISE:.2f} nats.",
            "posterior_dependence",
            correlated,
            OF_NOISE - 0.001,
            OF_NOISE + 0.001,
        ),
        Within("Without it they do not, whatever they share.", "posterior_dependence", independent, 0.0, 0.0),
        Within(
            f"Every model says at least {_LEAST_INFORMATION:g} nat of the image: of one that says nothing, both sides "
            "would be 0.",
            "information",
            tuple(_CASES),
            low=_LEAST_INFORMATION,
            is_control=True,
        ),
    )
    names = ("right_side", "left_side", "difference", "difference_in_errors", "posterior_dependence", "information")
    return Calculation(
        name="split2020-lemmas",
        cases=dict.fromkeys(_CASES, (0,)),
        metrics=dict.fromkeys(names),
        compute=functools.partial(_compute, scale),
        claims=claims,
        families={case: encoder for case, (_, encoder) in _CASES.items()},
        size=scale,
    )


def _draw(scores: StudyScores) -> Any:
    labels = ("E KL(q(z|x) || Πq(zᵢ|x)) - TC (nats)", "I(x; z) - Σ I(x; zᵢ) (nats)")
    table = run_table(scores, ["right_side", "left_side"])
    return figures.scatter_plot(table, "right_side", "left_side", diagonal=True, labels=labels)


LEMMAS = Item(
    id="split2020/lemmas",
    title="Lemmas 1 and 2 as numbers",
    claim=(
        "What latents of any subset say together of the image, less what each says alone, is how much they depend on "
        "each other given the image, less their total correlation."
    ),
    work={"smoke": lambda: _work("smoke"), "paper": lambda: _work("paper")},
    data="small sprites",
    seconds={"paper": 480},
    choices=(
        Choice("models", "none: both are proved", "eight small ones: four encoders, as VAE and as FactorVAE"),
        Choice(
            "estimate",
            "none",
            "ten pairs of 5,000 codes per side, each side with draws of its own; q(z) is exact. The standard error is "
            "that of the ten differences",
        ),
    ),
    draw=_draw,
    trains=False,
    notes=(
        "Both sides are one sum of entropies, so that computed from the same codes they would agree whatever they "
        "are: each side has draws of its own here. Lemma 1 is the chain rule, of which Lemma 2 is the repeated use; "
        "it adds no number. What the dependence given the image is for an encoder that shares its last layer, 0, is "
        "what figure 2 turns on."
    ),
)
