"""What ails a trained model, and what to try next: `unbraid diagnose`."""

from unbraid.diagnosis.diagnose import diagnose as diagnose
from unbraid.diagnosis.diagnose import diagnose_codes as diagnose_codes
from unbraid.diagnosis.diagnosis import Diagnosis as Diagnosis
from unbraid.diagnosis.diagnosis import Finding as Finding
