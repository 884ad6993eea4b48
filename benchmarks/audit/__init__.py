"""An audit of the metrics themselves: `python -m benchmarks.audit`."""

from benchmarks.audit.auditing import audit as audit
from benchmarks.audit.cell import Cell as Cell
from benchmarks.audit.findings import Audit as Audit
from benchmarks.audit.page import write_audit_page as write_audit_page
from benchmarks.audit.sizes import SIZES as SIZES
from benchmarks.audit.sizes import Size as Size
from benchmarks.audit.table import Row as Row
from benchmarks.audit.table import rows_of as rows_of
