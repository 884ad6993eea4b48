"""Diagnosis of a run, or of codes and a decoder."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unbraid._internal import row_draws
from unbraid._internal.device import resolve_device, wide_device
from unbraid.codes import Codes
from unbraid.config.annotations import check_value, in_short
from unbraid.diagnose.diagnosis import OF_CODES, Diagnosis, Finding
from unbraid.diagnose.factor_checks import diagnose_factors
from unbraid.diagnose.history_check import check_failure, check_history
from unbraid.diagnose.jacobian import NAME as JACOBIAN
from unbraid.diagnose.jacobian import check_jacobian
from unbraid.diagnose.latent_checks import check_collapse, check_redundancy, used_latents
from unbraid.diagnose.loss_weight import LossWeights, diagnose_weights
from unbraid.errors import CodesError, DataError, SpecError
from unbraid.metrics.unused_latents import is_collapsed
from unbraid.models.categories import likeliest
from unbraid.models.distributions import GaussianLikelihood
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.trained.elbo import CodedImages
from unbraid.objectives.objective import Objective
from unbraid.objectives.weight_advice import RateWeight, WeightAdvice
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import spec_labels

NUM_IMAGES = 10_000
"""The default maximum number of images."""
_NUM_DECODED = 64


def diagnose(run: Run, *, num_images: int = NUM_IMAGES, device: torch.device | str = "auto") -> Diagnosis:
    """Diagnoses a finished or failed run.

    The checks cover collapsed latents, the effective beta, redundant latents, the angles of the decoder's Jacobian,
    factors encoded in no latent or in two, and the convergence of training. A failed run has no codes, so its checks
    are only the effective beta and the reason of the failure.

    Args:
        run: The run.
        num_images: The maximum number of training images, drawn with the image weights as probabilities.
        device: The device.
    """
    name = f"{spec_labels([run.spec])[run.spec.digest]}, seed {run.seed}"
    price = rate_weight(run.spec.objective, run.spec.model.latents)
    if run.failure is not None:
        findings = [diagnose_weights(_weights(run), price), check_failure(run.failure, run.history, run.spec)]
        return Diagnosis.from_findings(name, findings, str(run.folder))
    place = wide_device(resolve_device(device))
    codes = run.codes(device=place)
    rows = _rows(codes, num_images)
    model = run.model().to(place)
    advice = advice_on(run.spec.objective, run.spec.model.latents)
    chosen = replace(codes[rows], weights=None)  # the weights determined the drawn rows
    used = used_latents(chosen)
    weights = diagnose_weights(
        _weights(run, _root_error(run, rows, place)),
        price,
        advice,
        is_collapsed=is_collapsed(chosen.num_latents - len(used), chosen.num_latents),
    )
    findings = _of_codes(chosen, used, model.decode, model.latents.widths, advice)
    findings = [findings[0], weights, *findings[1:], check_history(run.history, run.spec)]
    return Diagnosis.from_findings(name, findings, str(run.folder))


def diagnose_codes(
    codes: Codes, decoder: Callable[[Tensor], Tensor] | None = None, *, num_images: int = NUM_IMAGES
) -> Diagnosis:
    """Diagnoses codes of any origin and, if given, their decoder.

    The decoder is a function from codes (one per row) to images.
    """
    if not isinstance(codes, Codes):
        raise CodesError(
            f"Expected `codes` to be a Codes, got {type(codes).__name__}. Use Codes.from_arrays(mean, std)."
        )
    if decoder is not None and not callable(decoder):
        raise CodesError(f"Expected `decoder` to be a function or None, got {in_short(decoder)}. Pass model.decode.")
    widths = (1,) * codes.mean.shape[1] + tuple(table.shape[1] for table in codes.probabilities)
    chosen = replace(codes[_rows(codes, num_images)], weights=None)
    found = _of_codes(chosen, used_latents(chosen), decoder, widths, OF_CODES)
    return Diagnosis.from_findings(f"Codes of {len(codes):,} images", found)


def _of_codes(
    codes: Codes,
    used: list[int],
    decoder: Callable[[Tensor], Tensor] | None,
    widths: tuple[int, ...],
    advice: WeightAdvice,
) -> list[Finding]:
    continuous = [latent for latent in used if latent < codes.mean.shape[1]]
    num_varying = sum(len(labels.values[labels.is_known].unique(dim=0)) > 1 for labels in codes.factors)
    findings = [check_collapse(codes, used, num_varying, advice), check_redundancy(codes, used, advice)]
    if decoder is None:
        findings.append(Finding(JACOBIAN, "unknown", "No decoder was given."))
    elif len(continuous) < 2:
        findings.append(Finding(JACOBIAN, "unknown", "Fewer than two continuous latents are used."))
    else:
        some = torch.arange(min(_NUM_DECODED, len(codes)), device=codes.mean.device)
        spread = codes.mean.double().std(dim=0)[continuous]
        findings.append(check_jacobian(decoder, likeliest(codes, some, widths), continuous, spread, advice))
    return [*findings, *diagnose_factors(codes, used, advice)]


def _rows(codes: Codes, num_images: int) -> Tensor:
    """Returns the indices of the images for the diagnosis, drawn with the image weights as probabilities."""
    if check_value(num_images, int, "num_images") < 2:
        raise SpecError(f"Expected `num_images` to be an integer >= 2, got {num_images}. Pass for example 10000.")
    count = max(2, min(num_images, len(codes)))
    if codes.weights is None and count == len(codes):
        return torch.arange(count, device=codes.mean.device)
    return row_draws.draw_rows(count, len(codes), 0, "diagnosed images", codes.weights).to(codes.mean.device)


def _weights(run: Run, root_error: float | None = None) -> LossWeights:
    history, likelihood = run.history, run.spec.model.likelihood
    return LossWeights(
        history.at_the_end("loss"),
        history.at_the_end("distortion"),
        history.at_the_end("rate"),
        math.prod(run.spec.dataset.image_shape),
        run.spec.model.latents.num_latents,
        likelihood.std if isinstance(likelihood, GaussianLikelihood) else None,
        root_error,
    )


@torch.no_grad()
def _root_error(run: Run, rows: Tensor, device: torch.device) -> float | None:
    """Returns the root mean squared error of pixels, for codes drawn from q(z | x).

    Returns None if the images are not available, or if the model has no Gaussian likelihood in its loss.
    """
    if not isinstance(run.spec.model.likelihood, GaussianLikelihood) or run.spec.objective.generates:
        return None
    try:
        images: Any = run.spec.training_data.open().streamed_to(device)
    except DataError:
        return None
    coded = CodedImages(run.model().to(device), images, rows[:1024])
    return float((coded.x - coded.model.decode(coded.code(0))).square().mean().sqrt())


def advice_on(objective: Objective, latents: Latents) -> WeightAdvice:
    """Returns the hyperparameter advice of this objective for a model with these latents."""
    advice = objective.weight_advice()
    is_diagonal = _a_posterior(latents).with_true_density().covariance is None
    return replace(advice, independence=advice.independence if latents.num_latents > 1 else "", is_diagonal=is_diagonal)


def rate_weight(objective: Objective, latents: Latents) -> RateWeight:
    """Returns the weight of the rate in the loss of this objective, at the end of all schedules."""
    price, posterior = objective.at(torch.tensor(1.0)).rate_weight(), _a_posterior(latents)
    if not price.reason and posterior.with_true_density() is not posterior:
        why = "The loss uses the rate of independent latents, but the posterior of this model is correlated."
        return RateWeight(f"{why} There is no effective beta.", price.weight)
    return price


def _a_posterior(latents: Latents) -> Posterior:
    return latents.posterior(torch.zeros(1, latents.num_parameters), torch.tensor(1.0))
