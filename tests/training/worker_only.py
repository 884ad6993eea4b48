"""An objective that fails in worker processes alone."""

import os
from dataclasses import dataclass

from unbraid.objectives import VAE, Loss, Step

PARENT = "UNBRAID_TEST_PARENT"


@dataclass(frozen=True)
class FailsElsewhere(VAE):
    """Raises an error outside of the process whose number is in the environment."""

    def __call__(self, step: Step) -> Loss:
        if os.environ[PARENT] != str(os.getpid()):
            raise ValueError("not here")
        return super().__call__(step)
