"""What was asked for, and what came of it, on disk."""

from unbraid.runs.history import History as History
from unbraid.runs.run import Run as Run
from unbraid.runs.spec import RunSpec as RunSpec
