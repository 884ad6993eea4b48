"""How weights follow their gradient. An optimiser is one file."""

from unbraid.optimisers.adagrad import Adagrad as Adagrad
from unbraid.optimisers.adam import Adam as Adam
from unbraid.optimisers.optimiser import Optimiser as Optimiser
from unbraid.optimisers.optimiser import Pace as Pace
from unbraid.optimisers.optimiser import over_members as over_members
