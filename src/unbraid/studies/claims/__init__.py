"""Claims: sentences that the scores of a study decide. A kind of claim is one file."""

from unbraid.studies.claims.at_least import AtLeast as AtLeast
from unbraid.studies.claims.averages_correlated import AveragesCorrelated as AveragesCorrelated
from unbraid.studies.claims.claim import Claim as Claim
from unbraid.studies.claims.claim import Decision as Decision
from unbraid.studies.claims.claim import Verdict as Verdict
from unbraid.studies.claims.claim import decide_all as decide_all
from unbraid.studies.claims.correlated import Correlated as Correlated
from unbraid.studies.claims.difference import Difference as Difference
from unbraid.studies.claims.dominated import Dominated as Dominated
from unbraid.studies.claims.equivalent import Equivalent as Equivalent
from unbraid.studies.claims.equivalent_pairs import EquivalentPairs as EquivalentPairs
from unbraid.studies.claims.found_among import FoundAmong as FoundAmong
from unbraid.studies.claims.found_among import PrintedRange as PrintedRange
from unbraid.studies.claims.growing import Growing as Growing
from unbraid.studies.claims.higher import Higher as Higher
from unbraid.studies.claims.higher_at_matched import HigherAtMatched as HigherAtMatched
from unbraid.studies.claims.interaction import Interaction as Interaction
from unbraid.studies.claims.lowest_above import LowestAbove as LowestAbove
from unbraid.studies.claims.more_correlated import MoreCorrelated as MoreCorrelated
from unbraid.studies.claims.more_often_above import MoreOftenAbove as MoreOftenAbove
from unbraid.studies.claims.near import Near as Near
from unbraid.studies.claims.peaks_at import PeaksAt as PeaksAt
from unbraid.studies.claims.pooled_higher import PooledHigher as PooledHigher
from unbraid.studies.claims.ratio import Ratio as Ratio
from unbraid.studies.claims.weakly_correlated import WeaklyCorrelated as WeaklyCorrelated
from unbraid.studies.claims.within import Within as Within
