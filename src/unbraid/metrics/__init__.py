"""Metrics: codes in, scores out."""

from unbraid.metrics.metric import Metric as Metric
from unbraid.metrics.metric import Score as Score
from unbraid.metrics.mig import MIG as MIG
