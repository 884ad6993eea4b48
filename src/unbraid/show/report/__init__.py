"""Runs in, one page out."""

from unbraid.show.report.report import write_report as write_report
