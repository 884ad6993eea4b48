"""The images of a run that are scored: those that it was trained on, those that it held out, or all; and how likely
each is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import torch

from unbraid.codes import Codes
from unbraid.datasets.selected import rows_of
from unbraid.datasets.subsets import Subset
from unbraid.datasets.training_data import TrainingData
from unbraid.errors import CodesError, RunError
from unbraid.metrics.evaluate import evaluate_as
from unbraid.metrics.model.measure import Trained
from unbraid.metrics.scorecard import Scorecard
from unbraid.metrics.scoring import Sampling, ScoredPart, Scoring
from unbraid.metrics.selection import Metrics, select
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encode
from unbraid.training.runs.kept_scores import KeptScores
from unbraid.training.runs.spec import RunSpec


def settled(spec: RunSpec, scoring: Scoring) -> Scoring:
    """Returns the scoring in the one form that scores of a run of this spec are kept under, so that one question has
    one name: without a subset "all" is "train", a sampling that is that of the run is None, and so is its last step.
    """
    latents, names = spec.model.latents, []
    if scoring.factors or scoring.one_vs_rest:  # else the data set need not be looked at
        names = [factor.name for factor in spec.dataset.factors]
    scoring = scoring.settled(names, has_discrete=latents.num_discrete > 0, has_groups=len(latents.groups) > 1)
    is_own = scoring.sampling == ("data" if spec.sampling is None else spec.sampling)
    is_whole = spec.subset is None and scoring.subset is None
    part = "train" if is_whole and scoring.part == "all" else scoring.part
    return replace(
        scoring,
        part=part,
        sampling=None if is_own else scoring.sampling,
        step=None if scoring.step == spec.num_steps else scoring.step,
    )


@final
@dataclass(frozen=True)
class Scorable:
    """Holds what of a run of this spec is scored: the codes that it kept or makes now, its model and its images."""

    spec: RunSpec
    scoring: Scoring
    kept_codes: Callable[[], Codes | None]
    model: Callable[[int | None], AutoencoderModule]

    def codes(self, device: torch.device) -> Codes:
        """Returns the codes of the part, with the weights of the sampling. Those that were not kept, of images that
        were held out, or of another step than the last, are encoded now.
        """
        is_kept = self.scoring.part == "train" and self.scoring.step is None
        if is_kept and (codes := self.kept_codes()) is not None:
            if self.scoring.sampling is not None:
                weights = self._images.open().weights
                codes = replace(codes, weights=None if weights is None else weights.to(codes.mean))
            return codes.to(device)
        model = self.model(self.scoring.step).to(device)
        return encode(model, self._images.open().streamed_to(device), precision=self.spec.precision)

    def fitted_on(self, device: torch.device) -> Codes | None:
        """Returns the codes that predictors are fitted on, if not on some of those that are scored."""
        if self.scoring.fit == "part":
            return None
        return replace(self, scoring=replace(self.scoring, part="train", fit="part")).codes(device)

    def trained(self, device: torch.device) -> Trained:
        """Returns the model and the images of the rows that are scored."""
        images = self._images.open()
        rows = self.scoring.rows(len(images))
        images = images if rows is None else rows_of(images, rows)
        return Trained(self.model(self.scoring.step).to(device), images.streamed_to(device), self.spec.precision)

    def score(self, kept: KeptScores, metrics: Metrics, seed: int | None, device: torch.device) -> Scorecard:
        """Returns the scores of these codes, computed on the device, and keeps them. Metrics that are refused are kept
        with their reasons, even if not one is left.
        """
        codes, fitted_on = self.codes(device), self.fitted_on(device)
        try:
            card = evaluate_as(self.scoring, codes, metrics, seed, lambda: self.trained(device), fitted_on)
        except CodesError as error:  # not one of them is defined
            selection = select(metrics, seed)
            refused = dict.fromkeys((*selection.metrics, *selection.model_scores), str(error))
            kept.add_answers({}, refused, self.scoring)
            raise
        kept.add(card)
        return card

    @property
    def _images(self) -> TrainingData:
        return scored_images(self.spec, self.scoring.part, self.scoring.sampling, self.scoring.subset)


def scored_images(
    spec: RunSpec, part: ScoredPart, sampling: Sampling = None, subset: Subset | None = None
) -> TrainingData:
    """Returns which images this part of a run is, weighted by `sampling` as `Scoring` means it; of "all", those of a
    `subset`. Nothing is read.
    """
    joint = spec.sampling if sampling is None else None if sampling == "data" else sampling
    if part == "train":
        return TrainingData(spec.dataset, joint, spec.subset)
    if part == "all":
        return TrainingData(spec.dataset, joint, subset)
    if spec.subset is None:
        raise RunError(
            "The held-out part (part 'test') was asked for, and this run was trained on all images of its "
            "data set. Train with a subset, such as --subset random-split, or score part 'all'."
        )
    return TrainingData(spec.dataset, joint, spec.subset.complement())
