"""HTML report of runs."""

from unbraid.show.report.report import write_report as write_report
