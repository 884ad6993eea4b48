"""Estimators: recipes for what each latent says of the image and of the factors. Each is one file."""

from unbraid.metrics.estimators.drawn_histogram import DrawnHistogram as DrawnHistogram
from unbraid.metrics.estimators.estimator import Deviations as Deviations
from unbraid.metrics.estimators.estimator import Estimator as Estimator
from unbraid.metrics.estimators.exact import Exact as Exact
from unbraid.metrics.estimators.group_neighbours import GroupNeighbours as GroupNeighbours
from unbraid.metrics.estimators.levels import Levels as Levels
from unbraid.metrics.estimators.means_histogram import MeansHistogram as MeansHistogram
from unbraid.metrics.estimators.neighbours import Neighbours as Neighbours
from unbraid.metrics.estimators.quantised import Quantised as Quantised
from unbraid.metrics.estimators.sampled import Sampled as Sampled
