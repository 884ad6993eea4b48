"""An audit of the metrics themselves: `unbraid audit`."""

from unbraid.audit.auditing import audit as audit
from unbraid.audit.cell import Cell as Cell
from unbraid.audit.findings import Audit as Audit
from unbraid.audit.page import write_audit_page as write_audit_page
from unbraid.audit.sizes import SIZES as SIZES
from unbraid.audit.sizes import Size as Size
from unbraid.audit.table import Row as Row
from unbraid.audit.table import rows_of as rows_of
