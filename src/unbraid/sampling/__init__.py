"""Which images, and how often: draws of rows (all that is random in a metric), weights p(n) from a joint table over
factors, and subsets.

Factors are seen as columns of values here, with their names and sizes; where images come from is above.
"""

from unbraid.sampling.chen_design import ChenDesign as ChenDesign
from unbraid.sampling.chosen_values import ChosenValues as ChosenValues
from unbraid.sampling.correlated import Correlated as Correlated
from unbraid.sampling.held_out_combinations import HeldOutCombinations as HeldOutCombinations
from unbraid.sampling.joint import Joint as Joint
from unbraid.sampling.joint_table import Table as Table
from unbraid.sampling.joint_table import UniformJoint as UniformJoint
from unbraid.sampling.listed_rows import Rows as Rows
from unbraid.sampling.outer_values import OuterValues as OuterValues
from unbraid.sampling.product import Product as Product
from unbraid.sampling.random_split import RandomSplit as RandomSplit
from unbraid.sampling.row_range import RowRange as RowRange
from unbraid.sampling.rows import ImagesByValue as ImagesByValue
from unbraid.sampling.rows import batches_sharing_a_value as batches_sharing_a_value
from unbraid.sampling.rows import images as images
from unbraid.sampling.rows import normal as normal
from unbraid.sampling.rows import pairs_sharing_a_value as pairs_sharing_a_value
from unbraid.sampling.rows import permuted_rows as permuted_rows
from unbraid.sampling.rows import rows_of_part as rows_of_part
from unbraid.sampling.rows import train_and_test_rows as train_and_test_rows
from unbraid.sampling.rows import uniform as uniform
from unbraid.sampling.subset import Subset as Subset
from unbraid.sampling.threshold import Threshold as Threshold
from unbraid.sampling.weighting import image_weights as image_weights
from unbraid.sampling.zero_shot import all_but as all_but
from unbraid.sampling.zero_shot import outer_rows as outer_rows
