"""Weights of images: how often each is drawn, from a joint table over factors."""

from unbraid.datasets.weights.chen_design import ChenDesign as ChenDesign
from unbraid.datasets.weights.correlated import Correlated as Correlated
from unbraid.datasets.weights.image_weights import image_weights as image_weights
from unbraid.datasets.weights.joint import Joint as Joint
from unbraid.datasets.weights.joint import JointTable as JointTable
from unbraid.datasets.weights.joint import Product as Product
from unbraid.datasets.weights.joint import UniformJoint as UniformJoint
