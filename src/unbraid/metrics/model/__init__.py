"""Scores of trained models on images, such as the ELBO. Metrics of codes are in `unbraid.metrics`."""

from unbraid.metrics.model.distortion import Distortion as Distortion
from unbraid.metrics.model.elbo import ELBO as ELBO
from unbraid.metrics.model.importance_weighted_bound import ImportanceWeightedBound as ImportanceWeightedBound
from unbraid.metrics.model.model_score import ModelScore as ModelScore
from unbraid.metrics.model.model_score import Trained as Trained
from unbraid.metrics.model.model_score import measure as measure
from unbraid.metrics.model.rate import Rate as Rate
from unbraid.metrics.model.reconstruction_error import ReconstructionError as ReconstructionError
