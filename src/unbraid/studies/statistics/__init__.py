"""Statistics over seeds (one value per trained model): exact tests, and confidence intervals by test inversion."""

from unbraid.studies.statistics.correlations import slope as slope
from unbraid.studies.statistics.correlations import spearman as spearman
from unbraid.studies.statistics.exact_tests import binomial as binomial
from unbraid.studies.statistics.exact_tests import holm as holm
from unbraid.studies.statistics.exact_tests import mann_whitney as mann_whitney
from unbraid.studies.statistics.exact_tests import seeds_needed as seeds_needed
from unbraid.studies.statistics.exact_tests import sign_test as sign_test
from unbraid.studies.statistics.exact_tests import signed_rank as signed_rank
from unbraid.studies.statistics.measurement import Measurement as Measurement
from unbraid.studies.statistics.measurement import StatisticsError as StatisticsError
