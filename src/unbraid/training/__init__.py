"""From specs to runs."""

from unbraid.training.events import Compiling as Compiling
from unbraid.training.events import Encoding as Encoding
from unbraid.training.events import Event as Event
from unbraid.training.events import Progress as Progress
from unbraid.training.events import TrainingPlan as TrainingPlan
from unbraid.training.fleet import Fleet as Fleet
from unbraid.training.options import TrainingOptions as TrainingOptions
from unbraid.training.state import Member as Member
from unbraid.training.train import train as train
from unbraid.training.train import train_runs as train_runs
