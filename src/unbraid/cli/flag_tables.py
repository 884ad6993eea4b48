"""The flags of fields of configs, made from the classes: the content of `flags.json`."""

from typing import Any

from unbraid.cli.config_flags import flags_of, flags_of_kind
from unbraid.cli.flags import flags_to_json
from unbraid.metrics.metric import Metric
from unbraid.metrics.mig import MIG
from unbraid.metrics.model import ModelScore
from unbraid.training.runs.spec import RunSpec


def flag_tables() -> dict[str, Any]:
    """Returns the flags of the classes as they are, by table and path."""
    tables = {
        "train": flags_of(RunSpec),
        "score": flags_of_kind(Metric, "metric", MIG()),
        "model_scores": flags_of_kind(ModelScore, "score"),
    }
    return {name: flags_to_json(flags.values()) for name, flags in tables.items()}
