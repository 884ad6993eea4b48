"""Subsets of images: which ones are trained on or scored."""

from unbraid.datasets.subsets.chosen_values import ChosenValues as ChosenValues
from unbraid.datasets.subsets.held_out_combinations import HeldOutCombinations as HeldOutCombinations
from unbraid.datasets.subsets.listed_rows import Rows as Rows
from unbraid.datasets.subsets.outer_values import OuterValues as OuterValues
from unbraid.datasets.subsets.random_split import RandomSplit as RandomSplit
from unbraid.datasets.subsets.row_range import RowRange as RowRange
from unbraid.datasets.subsets.subset import Subset as Subset
from unbraid.datasets.subsets.threshold import Threshold as Threshold
from unbraid.datasets.subsets.zero_shot import all_but as all_but
from unbraid.datasets.subsets.zero_shot import outer_rows as outer_rows
