"""Diagnoses of trained models with suggested fixes (`unbraid diagnose`)."""

from unbraid.diagnose.diagnose import diagnose as diagnose
from unbraid.diagnose.diagnose import diagnose_codes as diagnose_codes
from unbraid.diagnose.diagnosis import Diagnosis as Diagnosis
from unbraid.diagnose.diagnosis import Finding as Finding
