"""Training of models from specs."""

from unbraid._internal.progress import Event as Event
from unbraid._internal.progress import emit as emit
from unbraid._internal.progress import listening as listening
from unbraid._internal.progress import part_of as part_of
from unbraid.training.critic import Critic as Critic
from unbraid.training.extension import extend as extend
from unbraid.training.fleet import Fleet as Fleet
from unbraid.training.options import TrainingOptions as TrainingOptions
from unbraid.training.state import Member as Member
from unbraid.training.train import train as train
from unbraid.training.train import train_runs as train_runs
