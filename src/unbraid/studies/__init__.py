"""Studies: settings and seeds that are trained, scored and compared to answer a question."""

from unbraid.studies.claims import Claim as Claim
from unbraid.studies.claims import Correlated as Correlated
from unbraid.studies.claims import Decision as Decision
from unbraid.studies.claims import Equivalent as Equivalent
from unbraid.studies.claims import Growing as Growing
from unbraid.studies.claims import Higher as Higher
from unbraid.studies.claims import Near as Near
from unbraid.studies.claims import Verdict as Verdict
from unbraid.studies.collect import collect as collect
from unbraid.studies.study import Setting as Setting
from unbraid.studies.study import Study as Study
from unbraid.studies.study_scores import StudyScores as StudyScores
