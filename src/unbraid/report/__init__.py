"""Runs in, one page out."""

from unbraid.report.dataset_sheet import write_dataset_sheet as write_dataset_sheet
from unbraid.report.report import write_report as write_report
