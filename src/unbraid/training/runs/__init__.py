"""Specs of runs, and runs on disk."""

from unbraid.training.runs.grid import grid as grid
from unbraid.training.runs.grid import zipped as zipped
from unbraid.training.runs.history import History as History
from unbraid.training.runs.run import Run as Run
from unbraid.training.runs.run_folder import RunFolder as RunFolder
from unbraid.training.runs.runs_in import Runs as Runs
from unbraid.training.runs.runs_in import runs_in as runs_in
from unbraid.training.runs.runs_in import traverse_together as traverse_together
from unbraid.training.runs.spec import RunSpec as RunSpec
