"""Claims: sentences about quantities of a study, which its scores support, contradict, or leave undecided."""

from unbraid.studies.claims.claim import Claim as Claim
from unbraid.studies.claims.judgment import JudgedClaim as JudgedClaim
from unbraid.studies.claims.judgment import Judgment as Judgment
from unbraid.studies.claims.judgment import Verdict as Verdict
from unbraid.studies.claims.judgment import judge as judge
from unbraid.studies.claims.quantities import computed as computed
from unbraid.studies.claims.quantities import correlation as correlation
from unbraid.studies.claims.quantities import difference as difference
from unbraid.studies.claims.quantities import lead as lead
from unbraid.studies.claims.quantities import median as median
from unbraid.studies.claims.quantities import paired_difference as paired_difference
from unbraid.studies.claims.quantities import ratio as ratio
from unbraid.studies.claims.quantities import share as share
from unbraid.studies.claims.quantities import trend as trend
from unbraid.studies.claims.quantity import Quantity as Quantity
from unbraid.studies.claims.quantity import Scores as Scores
from unbraid.studies.claims.quantity import best_of as best_of
