"""Scores of a model: a trained model and images in, scores out. What metrics say of codes alone is in
`unbraid.metrics`.
"""

from unbraid.model_scores.distortion import Distortion as Distortion
from unbraid.model_scores.elbo import ELBO as ELBO
from unbraid.model_scores.importance_weighted_bound import ImportanceWeightedBound as ImportanceWeightedBound
from unbraid.model_scores.measure import Trained as Trained
from unbraid.model_scores.measure import measure as measure
from unbraid.model_scores.model_score import ModelScore as ModelScore
from unbraid.model_scores.rate import Rate as Rate
from unbraid.model_scores.reconstruction_error import ReconstructionError as ReconstructionError
