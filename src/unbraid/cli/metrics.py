"""`unbraid metrics`."""

from unbraid.cli.config_lists import list_configs
from unbraid.cli.console import say
from unbraid.cli.flags import known_flags


def metrics() -> None:
    """List what codes and models can be scored by.

    Example:
      unbraid metrics
    """
    list_configs(
        {
            "metric": known_flags("score")["metric"].configs,
            "estimator in a metric": known_flags("score")["metric.estimator"].configs,
            "score of a model": known_flags("model_scores")["score"].configs,
        }
    )
    say("Score by some with: unbraid score RUNS --metrics NAMES, such as mig,dci:forest,mig:quantized")
    say("The settings of one: unbraid score --metric NAME --help")
