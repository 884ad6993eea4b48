"""Statistics over seeds: every number here is of trained models, one value per seed, never of images."""

from unbraid.studies.statistics.many_groups import RankCorrelation as RankCorrelation
from unbraid.studies.statistics.many_groups import Trend as Trend
from unbraid.studies.statistics.many_groups import chances_to_win as chances_to_win
from unbraid.studies.statistics.many_groups import correlation_over_settings as correlation_over_settings
from unbraid.studies.statistics.many_groups import holm as holm
from unbraid.studies.statistics.many_groups import trend as trend
from unbraid.studies.statistics.medians import of_medians as of_medians
from unbraid.studies.statistics.medians import resampled_medians as resampled_medians
from unbraid.studies.statistics.one_group import best_of as best_of
from unbraid.studies.statistics.one_group import median as median
from unbraid.studies.statistics.one_group import prediction_interval as prediction_interval
from unbraid.studies.statistics.paired import PairedComparison as PairedComparison
from unbraid.studies.statistics.paired import compare_pairs as compare_pairs
from unbraid.studies.statistics.shares import shares_in_order as shares_in_order
from unbraid.studies.statistics.two_groups import Comparison as Comparison
from unbraid.studies.statistics.two_groups import Equivalence as Equivalence
from unbraid.studies.statistics.two_groups import compare as compare
from unbraid.studies.statistics.two_groups import equivalence as equivalence
from unbraid.studies.statistics.two_groups import seeds_needed as seeds_needed
