"""`unbraid study status`."""

from pathlib import Path

from unbraid.cli.options import OutFolder, Packages, parse_packages
from unbraid.cli.study_files import StudyFile


def study_status(file: StudyFile, out: OutFolder = Path("runs"), packages: Packages = None) -> None:
    """Say how far a study is.

    It reads the folders alone, also while another process runs the study.

    Examples:
      unbraid study status study.json
    """
    from unbraid.cli.study_work import read_study, show_status

    show_status(read_study(file, parse_packages(packages), out), out)
