"""`unbraid papers list`."""

from typing import Annotated

import typer

from unbraid.cli.console import output, say


def papers_list(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Papers or items; by default all.", show_default=False)
    ] = None,
) -> None:
    """List the tables and figures of papers.

    For each: what it is, the data that it needs, what each scale costs (training on one H200), and the verdict of the
    project's own evidence so far.

    Examples:
      unbraid papers list
      unbraid papers list chen2018
    """
    from unbraid.cli.paper_work import item_table

    output().print(item_table(ids))
    say("Look at one with: unbraid papers show ID")
