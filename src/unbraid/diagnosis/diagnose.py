"""Looks at a run, or at codes and a decoder, for what commonly goes wrong."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unbraid import sampling
from unbraid.codes import Codes
from unbraid.device import resolve_device
from unbraid.diagnosis.diagnosis import Diagnosis, Finding
from unbraid.diagnosis.factor_checks import check_factors
from unbraid.diagnosis.history_check import check_history
from unbraid.diagnosis.jacobian import check_jacobian
from unbraid.diagnosis.latent_checks import check_collapse, check_redundancy, used_latents
from unbraid.diagnosis.loss_weight import LossWeights, check_weights
from unbraid.distributions import GaussianLikelihood
from unbraid.errors import CodesError, DataError
from unbraid.models.trained.coded_images import CodedImages
from unbraid.models.trained.decode import likeliest
from unbraid.runs.run import Run
from unbraid.runs.spec_words import spec_labels

NUM_IMAGES = 10_000
"""How many images are looked at, at most."""
_NUM_DECODED = 64


def diagnose(run: Run, *, num_images: int = NUM_IMAGES, device: torch.device | str = "auto") -> Diagnosis:
    """Returns what stands out in a finished run: collapsed latents, the effective beta, redundant latents, the angles
    of the decoder's Jacobian, factors that no latent or two latents hold, and whether training was over.

    At most `num_images` of the images that it was trained on are looked at, drawn by their weights. Nothing is kept.
    """
    place = resolve_device(device)
    codes = run.codes(device=place)
    rows = _rows(codes, num_images)
    model = run.model().to(place)
    found = _of_codes(codes, rows, model.decode, model.latents.widths)
    findings = [found[0], _weights(run, rows, place), *found[1:], check_history(run.history)]
    return Diagnosis(f"{spec_labels([run.spec])[run.spec.digest]}, seed {run.seed}", tuple(findings))


def diagnose_codes(
    codes: Codes, decoder: Callable[[Tensor], Tensor] | None = None, *, num_images: int = NUM_IMAGES
) -> Diagnosis:
    """Returns what stands out in codes from anywhere, and in a decoder, if one is given: a function from codes, a row
    each, to images.
    """
    if not isinstance(codes, Codes):
        raise CodesError(f"Codes were given as {type(codes).__name__}; expected unbraid.Codes.")
    widths = (1,) * codes.mean.shape[1] + tuple(table.shape[1] for table in codes.probabilities)
    found = _of_codes(codes, _rows(codes, num_images), decoder, widths)
    return Diagnosis(f"Codes of {len(codes):,} images", tuple(found))


def _of_codes(
    codes: Codes, rows: Tensor, decoder: Callable[[Tensor], Tensor] | None, widths: tuple[int, ...]
) -> list[Finding]:
    looked_at = replace(codes.rows(rows), weights=None)  # they were drawn by their weights
    used = used_latents(looked_at)
    continuous = [latent for latent in used if latent < codes.mean.shape[1]]
    findings = [check_collapse(looked_at, used, _num_varying(looked_at)), check_redundancy(looked_at, used)]
    if decoder is None:
        findings.append(Finding("decoder's Jacobian", "unknown", "No decoder was given."))
    else:
        some = torch.arange(min(_NUM_DECODED, len(looked_at)), device=codes.mean.device)
        spread = looked_at.mean.double().std(dim=0)[continuous]
        findings.append(check_jacobian(decoder, likeliest(looked_at, some, widths), continuous, spread))
    return [*findings, *check_factors(looked_at, used)]


def _num_varying(codes: Codes) -> int:
    """Returns how many factors have more than one value in these images."""
    return sum(len(labels.values.unique(dim=0)) > 1 for labels in codes.factors)


def _rows(codes: Codes, num_images: int) -> Tensor:
    """Returns the images that are looked at, equally likely from here on."""
    count = max(2, min(num_images, len(codes)))
    if codes.weights is None and count == len(codes):
        return torch.arange(count, device=codes.mean.device)
    return sampling.images(count, len(codes), 0, "diagnosed images", codes.weights).to(codes.mean.device)


def _weights(run: Run, rows: Tensor, device: torch.device) -> Finding:
    history, shape = run.history, run.spec.dataset.image_shape
    likelihood, root_error = run.spec.model.likelihood, None
    if isinstance(likelihood, GaussianLikelihood):
        root_error = _root_error(run, rows, device)
    return check_weights(
        LossWeights(
            history.at_the_end("loss"),
            history.at_the_end("distortion"),
            history.at_the_end("rate"),
            math.prod(shape),
            run.spec.model.latents.num_latents,
            likelihood.std if isinstance(likelihood, GaussianLikelihood) else None,
            root_error,
        )
    )


@torch.no_grad()
def _root_error(run: Run, rows: Tensor, device: torch.device) -> float | None:
    """Returns the root of the mean squared error of pixels, with codes drawn as in training; None without images."""
    try:
        images: Any = run.spec.training_data.open().streamed_to(device)
    except DataError:
        return None
    coded = CodedImages(run.model().to(device), images, rows[:1024])
    return float((coded.x - coded.model.decode(coded.code(0))).square().mean().sqrt())
