"""Where images and factors come from: a data set is one file."""

from unbraid.data.dataset import Factor as Factor
from unbraid.data.dataset import FactorDataset as FactorDataset
from unbraid.data.dataset import FactorImages as FactorImages
from unbraid.data.drawn.attribute_faces import AttributeFaces as AttributeFaces
from unbraid.data.drawn.background_dsprites import BackgroundDSprites as BackgroundDSprites
from unbraid.data.drawn.colour_dsprites import ColourDSprites as ColourDSprites
from unbraid.data.drawn.dsprites import DSprites as DSprites
from unbraid.data.drawn.noisy_dsprites import NoisyDSprites as NoisyDSprites
from unbraid.data.drawn.shaded_faces import ShadedFaces as ShadedFaces
from unbraid.data.fetching.fetch import fetch as fetch
from unbraid.data.own.from_arrays import FromArrays as FromArrays
from unbraid.data.own.from_folder import FromFolder as FromFolder
from unbraid.data.own.from_hugging_face import FromHuggingFace as FromHuggingFace
from unbraid.data.own.from_torch import from_torch as from_torch
from unbraid.data.own.to_hugging_face import to_hugging_face as to_hugging_face
from unbraid.data.published.basel_faces import BaselFaces as BaselFaces
from unbraid.data.published.cars3d import Cars3D as Cars3D
from unbraid.data.published.celeba import CelebA as CelebA
from unbraid.data.published.chairs3d import Chairs3D as Chairs3D
from unbraid.data.published.fashion_mnist import FashionMNIST as FashionMNIST
from unbraid.data.published.mnist import MNIST as MNIST
from unbraid.data.published.mpi3d import MPI3D as MPI3D
from unbraid.data.published.shapes3d import Shapes3D as Shapes3D
from unbraid.data.published.small_norb import SmallNORB as SmallNORB
from unbraid.data.training_data import TrainingData as TrainingData
