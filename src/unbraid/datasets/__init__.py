"""Datasets of images and factors: published datasets, synthetic datasets, and user data from files and arrays."""

from unbraid.datasets.dataset import Factor as Factor
from unbraid.datasets.dataset import FactorDataset as FactorDataset
from unbraid.datasets.dataset import FactorImages as FactorImages
from unbraid.datasets.fetching.fetch import fetch as fetch
from unbraid.datasets.published.basel_faces import BaselFaces as BaselFaces
from unbraid.datasets.published.cars3d import Cars3D as Cars3D
from unbraid.datasets.published.celeba import CelebA as CelebA
from unbraid.datasets.published.chairs3d import Chairs3D as Chairs3D
from unbraid.datasets.published.mnist import MNIST as MNIST
from unbraid.datasets.published.mnist import FashionMNIST as FashionMNIST
from unbraid.datasets.published.mpi3d import MPI3D as MPI3D
from unbraid.datasets.published.shapes3d import Shapes3D as Shapes3D
from unbraid.datasets.published.small_norb import SmallNORB as SmallNORB
from unbraid.datasets.synthetic.dsprites import DSprites as DSprites
from unbraid.datasets.synthetic.dsprites_variants import BackgroundDSprites as BackgroundDSprites
from unbraid.datasets.synthetic.dsprites_variants import ColorDSprites as ColorDSprites
from unbraid.datasets.synthetic.dsprites_variants import NoisyDSprites as NoisyDSprites
from unbraid.datasets.synthetic.faces import AttributeFaces as AttributeFaces
from unbraid.datasets.synthetic.faces import ShadedFaces as ShadedFaces
from unbraid.datasets.training_data import TrainingData as TrainingData
from unbraid.datasets.user.from_arrays import FromArrays as FromArrays
from unbraid.datasets.user.from_folder import FromFolder as FromFolder
from unbraid.datasets.user.from_torch import from_torch as from_torch
from unbraid.datasets.user.hugging_face import FromHuggingFace as FromHuggingFace
from unbraid.datasets.user.hugging_face import to_hugging_face as to_hugging_face
