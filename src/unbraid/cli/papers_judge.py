"""`unbraid papers judge`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbraid.cli.console import say
from unbraid.errors import UnbraidError


def papers_judge(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Items or papers.", show_default=False)],
    because: Annotated[
        str,
        typer.Option(metavar="TEXT", help="What changed of the claims, and why: pages show it.", show_default=False),
    ],
    scale: Annotated[
        Literal["quick", "long", "paper"] | None,
        typer.Option(metavar="quick|long|paper", help="Of which scale. By default of all.", show_default=False),
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The evidence. By default the project's own.", show_default=False),
    ] = None,
) -> None:
    """Judge kept evidence by claims that have changed since.

    Evidence belongs to one definition of an item: its settings, seeds, metrics and claims. Where only claims have
    changed, its scores are still what they were. This command lets them be judged by the claims of today, and writes
    down in the evidence that these were not fixed before.

    Examples:
      unbraid papers judge esmaeili2018/figure6 --because "the category had been counted as a latent"
    """
    from unbraid.papers.evidence_files import committed_evidence, judge_anew
    from unbraid.papers.registry import find_items

    folder = evidence or committed_evidence()
    if not folder.is_dir():
        raise UnbraidError(f"{folder} is no folder; expected one that holds evidence, as PAPER/ITEM-SCALE.json.")
    refused = []
    for item in find_items(ids):
        for each in item.scales:
            if each == "smoke" or scale not in (None, each):
                continue
            try:
                for path in judge_anew(item, each, folder, because):
                    say(f"{path} is judged by the claims of today.")
            except UnbraidError as error:  # the others are judged all the same
                refused.append(str(error))
    if refused:
        raise UnbraidError(" ".join(dict.fromkeys(refused)))
    say(f"All other evidence of {', '.join(ids)} in {folder}, if there is any, is judged by them already.")
