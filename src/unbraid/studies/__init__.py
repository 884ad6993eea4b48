"""Studies: settings and seeds that are trained, scored and compared to answer a question."""

from unbraid.studies.claims import Claim as Claim
from unbraid.studies.claims import Correlated as Correlated
from unbraid.studies.claims import Decision as Decision
from unbraid.studies.claims import Dominated as Dominated
from unbraid.studies.claims import Equivalent as Equivalent
from unbraid.studies.claims import FoundAmong as FoundAmong
from unbraid.studies.claims import Growing as Growing
from unbraid.studies.claims import Higher as Higher
from unbraid.studies.claims import Interaction as Interaction
from unbraid.studies.claims import Near as Near
from unbraid.studies.claims import PrintedRange as PrintedRange
from unbraid.studies.claims import Ratio as Ratio
from unbraid.studies.claims import Verdict as Verdict
from unbraid.studies.claims import WeaklyCorrelated as WeaklyCorrelated
from unbraid.studies.claims import Within as Within
from unbraid.studies.claims import decide_all as decide_all
from unbraid.studies.collect import collect as collect
from unbraid.studies.evidence import Evidence as Evidence
from unbraid.studies.execute import Outcome as Outcome
from unbraid.studies.execute import StudyOptions as StudyOptions
from unbraid.studies.execute import run_study as run_study
from unbraid.studies.study import Setting as Setting
from unbraid.studies.study import Study as Study
from unbraid.studies.study_scores import StudyScores as StudyScores
