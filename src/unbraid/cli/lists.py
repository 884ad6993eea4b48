"""`unbraid objectives`, `unbraid models` and `unbraid metrics`: lists of the available classes."""

from collections.abc import Mapping

from unbraid.cli.console import echo, output
from unbraid.cli.flags import flags_of, known_fields

_WIDTH_OFF_SCREEN = 400  # wider than any first line of a docstring


def objectives() -> None:
    """List objectives.

    Example:
      unbraid objectives
    """
    _list({"objective": flags_of(known_fields("train"))["objective"].configs})
    echo("Train with an objective: unbraid train --objective NAME")
    echo("List its fields: unbraid train --objective NAME --help")


def models() -> None:
    """List nets, latents, priors and likelihoods.

    A model consists of two nets (encoder and decoder), latents with a prior, and a likelihood of pixels.

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
    echo("Choose by --model.encoder NAME, --model.decoder, --model.latents, --model.latents.prior, --model.likelihood.")
    echo("List the fields of a net: unbraid train --model.encoder NAME --help")


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
    echo("Compute metrics: unbraid score RUNS --metrics NAMES, such as mig,dci:forest,mig:quantized")
    echo("List the fields of a metric: unbraid score --metric NAME --help")


def _list(kinds: Mapping[str, Mapping[str, str]]) -> None:
    """Prints a table of the configs of each kind. Rows are not wrapped if standard output is not a terminal."""
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
