"""Subsets of images for training or scoring."""

from unbraid.datasets.subsets.factor_values import ChosenValues as ChosenValues
from unbraid.datasets.subsets.factor_values import HeldOutCombinations as HeldOutCombinations
from unbraid.datasets.subsets.factor_values import OuterValues as OuterValues
from unbraid.datasets.subsets.factor_values import Threshold as Threshold
from unbraid.datasets.subsets.factor_values import all_but as all_but
from unbraid.datasets.subsets.factor_values import outer_rows as outer_rows
from unbraid.datasets.subsets.subset import RandomSplit as RandomSplit
from unbraid.datasets.subsets.subset import RowRange as RowRange
from unbraid.datasets.subsets.subset import Rows as Rows
from unbraid.datasets.subsets.subset import Subset as Subset
