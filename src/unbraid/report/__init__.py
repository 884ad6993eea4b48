"""Runs in, one page out."""

from unbraid.report.report import write_report as write_report
