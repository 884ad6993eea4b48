"""`unbraid doctor`."""

from pathlib import Path

import typer

from unbraid.cli.console import complain, output, say
from unbraid.cli.options import Device, OutFolder

_WRONG = 1


def doctor(
    out: OutFolder = Path(),
    device: Device = "auto",
) -> None:
    """Check the installation.

    It lists versions, device, threads, cache, free disk and memory, then trains, scores and shows a tiny model in a
    temporary folder. Where something is wrong it prints what to do about it, and exits with 1. Add what it prints to a
    bug report.

    Examples:
      unbraid doctor
      unbraid doctor --out runs --device cuda
    """
    from unbraid.cli.checkup import check_up

    findings = []
    for finding in check_up(out, device):
        findings.append(finding)
        say(f"{finding.about:9} {finding.found}", style="" if finding.wrong is None else "yellow")
    wrong = [finding for finding in findings if finding.wrong is not None]
    output().print()
    for finding in wrong:
        complain(f"{finding.about}: {finding.wrong}")
    if wrong:
        raise typer.Exit(_WRONG)
    say("Nothing is wrong.")
