"""`unbraid papers show`."""

from pathlib import Path
from typing import Annotated

import typer


def papers_show(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Items or papers.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where your own runs are kept.")] = Path("runs/papers"),
) -> None:
    """Show what an item claims, its settings, and printed numbers beside ours.

    Verdicts come from the project's own evidence and, where you have run the item, from yours.

    Example:
      unbraid papers show chen2018/figure3a
    """
    from unbraid.cli.paper_work import show_item
    from unbraid.papers.registry import find_items

    for item in find_items(ids):
        show_item(item, out)
