"""How weights follow their gradient. An optimiser is one file."""

from unbraid.optimisers.adagrad import Adagrad as Adagrad
from unbraid.optimisers.adam import Adam as Adam
from unbraid.optimisers.optimiser import Optimiser as Optimiser
