"""Report on runs as one HTML page."""

from unbraid.show.report.report import write_report as write_report
