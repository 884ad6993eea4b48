"""Where images and factors come from: a data set is one file."""

from unbraid.data.arrays import FromArrays as FromArrays
from unbraid.data.dataset import Factor as Factor
from unbraid.data.dataset import FactorDataset as FactorDataset
from unbraid.data.dataset import FactorImages as FactorImages
from unbraid.data.dsprites import DSprites as DSprites
from unbraid.data.fashion_mnist import FashionMNIST as FashionMNIST
from unbraid.data.mnist import MNIST as MNIST
