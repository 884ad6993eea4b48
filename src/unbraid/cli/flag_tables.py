"""Writes `flags.json`, which keeps what help says of the fields of recipes: `python -m unbraid.cli.flag_tables`.

It is written again whenever a field, its default or its docstring has changed; a test fails until it is.
"""

import json

from unbraid import files
from unbraid.cli.flags import TABLES, to_json
from unbraid.cli.recipe_flags import flags_of, flags_of_kind
from unbraid.metrics.metric import Metric
from unbraid.metrics.mig import MIG
from unbraid.model_scores import ModelScore
from unbraid.runs.spec import RunSpec


def tables_text() -> str:
    """Returns the flags of the classes as they are, a line for each class that has a field."""
    tables = {
        "train": flags_of(RunSpec),
        "score": flags_of_kind(Metric, "metric", MIG()),
        "model_scores": flags_of_kind(ModelScore, "score"),
    }
    written = []
    for name, flags in tables.items():
        lines = [
            f"  {json.dumps(path)}: [\n" + ",\n".join(f"   {json.dumps(holder)}" for holder in holders) + "\n  ]"
            for path, holders in to_json(flags.values()).items()
        ]
        written.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(written) + "\n}\n"


if __name__ == "__main__":
    files.write_text(TABLES, tables_text())
