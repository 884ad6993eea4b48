"""Figure 7: thicker without becoming another digit, and categories that are digits."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64
from scipy import stats

from unbraid import figures
from unbraid.codes import Codes
from unbraid.data import MNIST
from unbraid.data.dataset import FactorImages
from unbraid.data.pictures.digit_shape import MEASURED, digit_shape
from unbraid.distributions import GaussianLatents
from unbraid.evaluation.usage import UNUSED, informativeness
from unbraid.models import category_samples
from unbraid.objectives import HFVAE, BetaSVAE, BetaVAE
from unbraid.papers.esmaeili2018.digit_classifier import DigitClassifier, digit_classifier
from unbraid.papers.esmaeili2018.digits import (
    CHOICES,
    NEEDS_MNIST,
    STATED,
    STRONG,
    digit_settings,
    digit_study,
    in_file_names,
)
from unbraid.papers.examination import ExaminedWork, Numbers, of_each
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.panels import side_by_side
from unbraid.papers.work import Work
from unbraid.runs.run import Run
from unbraid.studies.best import best_runs
from unbraid.studies.claims import Higher
from unbraid.studies.figures import run_table
from unbraid.studies.study_scores import StudyScores

KEPT, MODAL, NUM_DIGITS, CORRELATION, ACCURACY = (
    "kept-share",
    "modal-share",
    "modal-digits",
    "thickness-correlation",
    "classifier-accuracy",
)
_BETA_VAE, _BETA_SVAE = "beta-VAE 4", "beta-SVAE 4"
_ENDS, _NUM_FRAMES = (-3.0, 3.0), 7
_NUM_DIGITS = 10
# Images of each digit to start from, draws of each category, images that thickness is measured of, and images that the
# classifier learns from.
_SIZES: Mapping[Scale, tuple[int, int, int, int | None]] = {
    "smoke": (2, 5, 100, 600),
    "quick": (100, 1000, 10_000, None),
}


def examined(run: Run, scale: Scale) -> Numbers:
    """Returns what the classifier says of the images that a model decodes."""
    starts_each, num_draws, num_measured, learned_from = _SIZES[scale]
    classifier = digit_classifier(learned_from)
    images, codes = run.spec.training_data.open(), run.codes()
    latent, correlation = thickness_latent(codes, images, num_measured)
    starts = first_of_each_digit(images, starts_each)
    strips = run.traverse(images=starts.tolist(), latents=latent, range=_ENDS, num_frames=_NUM_FRAMES).strips
    digits = images.values[starts, 0]
    kept = torch.stack([classifier.digits(strip.frames) == digit for strip, digit in zip(strips, digits, strict=True)])
    found = {
        KEPT: float(kept.double().mean()),
        f"{KEPT}:at the ends": float(kept[:, [0, -1]].double().mean()),
        f"{KEPT}:unmoved": _unmoved(run, codes, starts, digits, classifier),
        CORRELATION: correlation,
        ACCURACY: classifier.accuracy,
    }
    if codes.probabilities:
        found |= _of_categories(run, classifier, num_draws)
    return found


def thickness_latent(codes: Codes, images: FactorImages, count: int) -> tuple[int, float]:
    """Returns the continuous latent whose means go most with the thickness of the stroke among images of one digit, and
    the absolute rank correlation, averaged over digits. It is measured of the first `count` images. Latents that say
    nothing are left out, unless all do: their tiny means may go with it, and moving them changes nothing.
    """
    rows = torch.arange(min(count, len(images)))
    pixels = images.batch(rows)[:, 0].mul(255).round().to(torch.uint8).numpy()
    thickness = digit_shape(pixels)[:, MEASURED.index("thickness")]
    digits, means = images.values[rows, 0].numpy(), codes.mean[rows].double().numpy()
    table = np.array([_correlations(means[digits == d], thickness[digits == d]) for d in range(_NUM_DIGITS)])
    nats = informativeness(codes)[: means.shape[1]].cpu().numpy()
    strengths = table.mean(axis=0) * ((nats > UNUSED) | (nats <= UNUSED).all())
    return int(strengths.argmax()), float(strengths.max())


def _correlations(
    means: Float64[np.ndarray, "image latent"], thickness: Float64[np.ndarray, " image"]
) -> Float64[np.ndarray, " latent"]:
    """Returns |Spearman's correlation| of each latent with the thickness; 0 where it is not defined."""
    known = ~np.isnan(thickness)
    if known.sum() < 3:
        return np.zeros(means.shape[1])
    ranks = stats.rankdata(np.column_stack([means[known], thickness[known]]), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.abs(np.corrcoef(ranks, rowvar=False)[-1, :-1]))


def first_of_each_digit(images: FactorImages, count: int) -> Int64[torch.Tensor, " start"]:
    """Returns the first images of each digit, so many of each, or as many as there are."""
    digits = images.values[:, 0]
    return torch.cat([(digits == digit).nonzero()[:count, 0] for digit in range(_NUM_DIGITS)])


def _unmoved(
    run: Run, codes: Codes, starts: Int64[torch.Tensor, " start"], digits: torch.Tensor, classifier: DigitClassifier
) -> float:
    """Returns the share of plain reconstructions that still show the digit."""
    decoded = run.model().decode(codes.rows(starts))
    return float((classifier.digits(decoded) == digits).double().mean())


def _of_categories(run: Run, classifier: DigitClassifier, num_draws: int) -> dict[str, float]:
    """Returns how often draws of a category show its commonest digit, and how many digits are the commonest of one."""
    strips = category_samples(run.model(), num_draws=num_draws, seed=0).strips
    counts = torch.stack([classifier.digits(strip.frames).bincount(minlength=_NUM_DIGITS) for strip in strips])
    return {
        MODAL: float((counts.max(dim=1).values / num_draws).mean()),
        NUM_DIGITS: float(len(counts.argmax(dim=1).unique())),
    }


def _work(scale: Scale) -> Callable[[], ExaminedWork]:
    def work() -> ExaminedWork:
        discrete = {
            _BETA_SVAE: BetaSVAE(4.0),
            STATED: HFVAE(alpha=1.0, beta=4.0, gamma=3.0),
            STRONG: HFVAE(alpha=1.0, beta=10.0, gamma=3.0),
        }
        settings = (
            *digit_settings(scale, {_BETA_VAE: BetaVAE(4.0)}, MNIST(), GaussianLatents(10)),
            *digit_settings(scale, discrete, MNIST()),
        )
        question = "Can a digit be made thicker and stay the digit, and are categories digits?"
        return ExaminedWork(
            digit_study(f"figure7-{scale}", settings, question, ()).study,
            {KEPT: True, MODAL: True, NUM_DIGITS: True, CORRELATION: None, ACCURACY: None},
            of_each(functools.partial(examined, scale=scale)),
            (
                Higher("Digits of an HFVAE stay what they are more than a beta-VAE's.", KEPT, STATED, _BETA_VAE),
                Higher("So do a beta-SVAE's.", KEPT, _BETA_SVAE, _BETA_VAE),
                Higher("Categories of an HFVAE show one digit more than a beta-SVAE's.", MODAL, STATED, _BETA_SVAE),
            ),
        )

    return work


def _draw(scores: StudyScores) -> Any:
    panels = {"frames that keep the digit": KEPT, "draws with the category's digit": MODAL}
    known = {title: metric for title, metric in panels.items() if scores.with_any_score(metric)}
    places = side_by_side(list(known))
    for axes, metric in zip(places, known.values(), strict=True):
        figures.strip_plot(run_table(scores, [metric]), metric, axes=axes)
    return tuple(places)


def _pictures(work: Work, folder: Path) -> Mapping[str, bytes]:
    """Returns, of the best run of each setting, a digit of each kind along the latent of thickness, and draws from the
    prior by category.
    """
    if not isinstance(work, ExaminedWork):
        return {}
    found: dict[str, bytes] = {}
    for label, run in best_runs(work.study, folder, by="informative-latents").items():
        name = in_file_names(label)
        images = run.spec.training_data.open()
        latent, _ = thickness_latent(run.codes(), images, 1000)
        starts = first_of_each_digit(images, 1).tolist()
        found[f"{name}-thickness"] = run.traverse(starts, latents=latent, range=_ENDS, num_frames=_NUM_FRAMES).png()
        if run.spec.model.latents.num_discrete:
            found[f"{name}-categories"] = category_samples(run.model(), num_draws=12, seed=0).png()
    return found


FIGURE7 = Item(
    id="esmaeili2018/figure7",
    title="Thicker digits that stay what they are, and categories that are digits",
    claim=(
        "Moving the latent of thickness from -3 to 3 changes digits in a beta-VAE and keeps them in a beta-SVAE and an "
        "HFVAE; draws of an HFVAE's categories are distinct digits, a beta-SVAE's are not."
    ),
    work={scale: _work(scale) for scale in ("smoke", "quick")},
    data="MNIST",
    seconds={"quick": 200},
    choices=(
        *CHOICES,
        Choice("beta of beta-VAE and beta-SVAE", "not stated", "4"),
        Choice(
            "latent of thickness",
            "by eye",
            "that of the highest rank correlation with the measured thickness among images of one digit",
        ),
        Choice(
            "measure of success",
            "pictures",
            "what an independent classifier says of 7 frames of 100 images of each digit, and of 1,000 draws of each "
            "category",
        ),
        Choice(
            "classifier",
            "none",
            "two convolutions and a linear layer, four epochs over MNIST from a fixed seed; its accuracy on the test "
            "part is kept as classifier-accuracy",
        ),
    ),
    draw=_draw,
    pictures=_pictures,
    columns=(KEPT, MODAL, NUM_DIGITS, CORRELATION, ACCURACY),
    needs=NEEDS_MNIST,
    notes=(
        "kept-share:unmoved is the share of plain reconstructions that show their digit: what a latent can keep at "
        "most. A beta-VAE has no categories, and no share of them."
    ),
)
