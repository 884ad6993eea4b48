"""`unbraid metrics`."""

from unbraid.cli.console import say
from unbraid.cli.flags import known_flags
from unbraid.cli.recipe_lists import list_recipes


def metrics() -> None:
    """List what codes and models can be scored by.

    Example:
      unbraid metrics
    """
    list_recipes(
        {
            "metric": known_flags("score")["metric"].recipes,
            "estimator in a metric": known_flags("score")["metric.estimator"].recipes,
            "score of a model": known_flags("model_scores")["score"].recipes,
        }
    )
    say("Score by some with: unbraid score RUNS --metrics NAMES, such as mig,dci:forest,mig:quantised")
    say("The settings of one: unbraid score --metric NAME --help")
    say("What each can and cannot tell: unbraid audit")
