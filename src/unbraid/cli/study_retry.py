"""`unbraid study retry`."""

from pathlib import Path

from unbraid.cli.console import say
from unbraid.cli.options import OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile


def study_retry(file: StudyFile, out: OutFolder = Path("runs"), packages: Packages = None) -> None:
    """Put the failed runs of a study aside.

    `study run` then trains them afresh. Their folders are kept, in .archived. What fails the same way each time (a loss
    that is not finite) needs another setting, not another try.

    Examples:
      unbraid study retry study.json
      unbraid study run study.json
    """
    from unbraid.cli.study_work import read_study
    from unbraid.studies.execute import retry_study

    failed = retry_study(read_study(file, parse_packages(packages), out), out)
    if not failed:
        say("No run of the study has failed.")
        return
    say(f"{len(failed)} failed runs are archived in {out / '.archived'}.")
    say(f"Train them: unbraid study run {file} --out {out}")
