"""Optimizers of nets in a fleet."""

from unbraid.training.optimizers.adagrad import Adagrad as Adagrad
from unbraid.training.optimizers.adam import Adam as Adam
from unbraid.training.optimizers.optimizer import Optimizer as Optimizer
from unbraid.training.optimizers.optimizer import StepSize as StepSize
from unbraid.training.optimizers.optimizer import over_members as over_members
