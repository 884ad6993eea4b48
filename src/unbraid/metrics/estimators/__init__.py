"""Estimators of the mutual information of latents with the image and the factors."""

from unbraid.metrics.estimators.estimator import Deviations as Deviations
from unbraid.metrics.estimators.estimator import Estimator as Estimator
from unbraid.metrics.estimators.exact import Exact as Exact
from unbraid.metrics.estimators.group_neighbors import GroupNeighbors as GroupNeighbors
from unbraid.metrics.estimators.levels import Levels as Levels
from unbraid.metrics.estimators.means_histogram import MeansHistogram as MeansHistogram
from unbraid.metrics.estimators.neighbors import Neighbors as Neighbors
from unbraid.metrics.estimators.quantized import Quantized as Quantized
from unbraid.metrics.estimators.sampled import Sampled as Sampled
