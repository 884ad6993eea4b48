"""Weights of images: how often each is drawn, from a joint table over factors."""

from unbraid.datasets.weights.chen_design import ChenDesign as ChenDesign
from unbraid.datasets.weights.correlated import Correlated as Correlated
from unbraid.datasets.weights.joint import Joint as Joint
from unbraid.datasets.weights.joint_table import JointTable as JointTable
from unbraid.datasets.weights.joint_table import UniformJoint as UniformJoint
from unbraid.datasets.weights.product import Product as Product
from unbraid.datasets.weights.weighting import image_weights as image_weights
