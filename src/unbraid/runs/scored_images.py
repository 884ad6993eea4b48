"""The images of a run that are scored: those that it was trained on, those that it held out, or all; and how likely
each is.
"""

from dataclasses import replace

from unbraid.data.training_data import TrainingData
from unbraid.errors import RunError
from unbraid.evaluation.scoring import Sampling, ScoredPart, Scoring
from unbraid.runs.spec import RunSpec


def settled(spec: RunSpec, scoring: Scoring) -> Scoring:
    """Returns the scoring in the one form that scores of a run of this spec are kept under, so that one question has
    one name: without a subset "all" is "train", and a sampling that is that of the run is None.
    """
    has_discrete = spec.model.latents.num_discrete > 0
    scoring = scoring.settled([factor.name for factor in spec.dataset.factors], has_discrete=has_discrete)
    is_own = scoring.sampling == ("data" if spec.sampling is None else spec.sampling)
    part = "train" if spec.subset is None and scoring.part == "all" else scoring.part
    return replace(scoring, part=part, sampling=None if is_own else scoring.sampling)


def scored_images(spec: RunSpec, part: ScoredPart, sampling: Sampling = None) -> TrainingData:
    """Returns which images this part of a run is, weighted by `sampling` as `Scoring` means it. Nothing is read."""
    joint = spec.sampling if sampling is None else None if sampling == "data" else sampling
    if part == "train":
        return TrainingData(spec.dataset, joint, spec.subset)
    if part == "all":
        return TrainingData(spec.dataset, joint)
    if spec.subset is None:
        raise RunError(
            "The held-out part (part 'test') was asked for, and this run was trained on all images of its "
            "data set. Train with a subset, such as --subset random-split, or score part 'all'."
        )
    return TrainingData(spec.dataset, joint, spec.subset.complement())
