"""What was asked for, and what came of it, on disk."""

from unbraid.runs.grid import grid as grid
from unbraid.runs.grid import zipped as zipped
from unbraid.runs.history import History as History
from unbraid.runs.run import Run as Run
from unbraid.runs.runs_in import Runs as Runs
from unbraid.runs.runs_in import runs_in as runs_in
from unbraid.runs.spec import RunSpec as RunSpec
from unbraid.runs.together import traverse_together as traverse_together
