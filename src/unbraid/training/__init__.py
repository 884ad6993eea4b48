"""From specs to runs."""

from unbraid.training.extension import extend as extend
from unbraid.training.fleet import Fleet as Fleet
from unbraid.training.options import TrainingOptions as TrainingOptions
from unbraid.training.state import Member as Member
from unbraid.training.train import train as train
from unbraid.training.train import train_runs as train_runs
