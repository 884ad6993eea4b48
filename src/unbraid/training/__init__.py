"""From specs to runs."""

from unbraid.training.fleet import Fleet as Fleet
from unbraid.training.fleet import Member as Member
from unbraid.training.train import Progress as Progress
from unbraid.training.train import train as train
from unbraid.training.train import train_runs as train_runs
