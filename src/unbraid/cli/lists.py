"""`unbraid objectives`, `unbraid models` and `unbraid metrics`."""

from collections.abc import Mapping

from unbraid.cli.console import output, say
from unbraid.cli.flags import flags_of, known_fields

_WIDTH_OFF_SCREEN = 400  # wider than any first line of a docstring


def objectives() -> None:
    """List objectives.

    Example:
      unbraid objectives
    """
    _list({"objective": flags_of(known_fields("train"))["objective"].configs})
    say("Train by one with: unbraid train --objective NAME (its fields: unbraid train --objective NAME --help)")


def models() -> None:
    """List nets, latents, priors and likelihoods.

    A model has an encoder and a decoder, which are nets; latents with a prior; and a likelihood of pixels.

    Example:
      unbraid models
    """
    flags = flags_of(known_fields("train"))
    _list(
        {
            "net": flags["model.encoder"].configs,
            "latents": flags["model.latents"].configs,
            "prior of latents": flags["model.latents.prior"].configs,
            "likelihood of pixels": flags["model.likelihood"].configs,
        }
    )
    say(
        "Choose with --model.encoder NAME, --model.decoder, --model.latents, --model.latents.prior, --model.likelihood."
    )
    say("The fields of one: unbraid train --model.encoder NAME --help")


def metrics() -> None:
    """List metrics of codes and scores of models.

    Example:
      unbraid metrics
    """
    flags = flags_of(known_fields("score"))
    _list(
        {
            "metric": flags["metric"].configs,
            "estimator in a metric": flags["metric.estimator"].configs,
            "score of a model": flags_of(known_fields("model_scores"))["score"].configs,
        }
    )
    say("Score by some with: unbraid score RUNS --metrics NAMES, such as mig,dci:forest,mig:quantized")
    say("The settings of one: unbraid score --metric NAME --help")


def _list(kinds: Mapping[str, Mapping[str, str]]) -> None:
    """Prints the configs of each kind by name, with the first line of its docstring. Off screen, each is one line."""
    from rich.table import Table

    console = output()
    console.width = console.width if console.is_terminal else _WIDTH_OFF_SCREEN
    width = max(len(name) for configs in kinds.values() for name in configs)
    for number, (kind, configs) in enumerate(kinds.items()):
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(kind, no_wrap=True, style="bold", min_width=width)
        table.add_column("")
        for name, summary in configs.items():
            table.add_row(name, summary)
        if number:
            console.print()
        console.print(table)
