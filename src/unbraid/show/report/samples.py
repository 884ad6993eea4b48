"""Images that each model draws from its prior."""

from collections.abc import Mapping

from unbraid.show.pages.pictures import FrameSheet, sheet
from unbraid.show.report.members import ReportedRun
from unbraid.show.report.shown import Role

NUM_ROWS, NUM_COLUMNS = 2, 8


def prior_samples(shown: Mapping[Role, ReportedRun]) -> dict[Role, FrameSheet]:
    """Returns the same draws of the prior, decoded by each of these members."""
    images = {role: member.run.pictures.samples() for role, member in shown.items()}
    return {role: sheet(drawn.unflatten(0, (NUM_ROWS, NUM_COLUMNS))) for role, drawn in images.items()}
