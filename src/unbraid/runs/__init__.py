"""What was asked for, and what came of it, on disk."""

from unbraid.runs.history import History as History
from unbraid.runs.recipes import from_json as from_json
from unbraid.runs.recipes import to_json as to_json
from unbraid.runs.run import Run as Run
from unbraid.runs.spec import RunSpec as RunSpec
