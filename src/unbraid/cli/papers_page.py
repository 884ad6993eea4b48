"""`unbraid papers page`."""

from pathlib import Path
from typing import Annotated

import typer

from unbraid.cli.console import say, stage


def papers_page(
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the pages are written.")] = Path("docs/papers"),
    evidence: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The evidence. By default the project's own.", show_default=False),
    ] = None,
    summary: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A Markdown file into which the counts of verdicts are put, between its marks for papers.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the pages of the docs about papers.

    One page per paper, every table and figure in the paper's order, ours beside the printed numbers, and a summary:
    computed from evidence alone.

    Examples:
      unbraid papers page
      unbraid papers page --summary README.md --summary docs/index.md
      unbraid papers page --evidence runs/papers/evidence --to pages
    """
    from unbraid.papers.evidence_files import committed_evidence
    from unbraid.papers.page import put_summary, write_pages

    source = evidence or committed_evidence()
    with stage(f"Writing pages to {to}"):
        written = write_pages(to, source)
        for path in summary or []:
            put_summary(path, source)
    say(f"{len(written)} pages are in {to}.")
