"""Where images and factors come from: a data set is one file."""

from unbraid.data.arrays import FromArrays as FromArrays
from unbraid.data.background_dsprites import BackgroundDSprites as BackgroundDSprites
from unbraid.data.basel_faces import BaselFaces as BaselFaces
from unbraid.data.cars3d import Cars3D as Cars3D
from unbraid.data.celeb_a import CelebA as CelebA
from unbraid.data.chairs3d import Chairs3D as Chairs3D
from unbraid.data.colour_dsprites import ColourDSprites as ColourDSprites
from unbraid.data.dataset import Factor as Factor
from unbraid.data.dataset import FactorDataset as FactorDataset
from unbraid.data.dataset import FactorImages as FactorImages
from unbraid.data.dsprites import DSprites as DSprites
from unbraid.data.fashion_mnist import FashionMNIST as FashionMNIST
from unbraid.data.folder import FromFolder as FromFolder
from unbraid.data.hugging_face import FromHuggingFace as FromHuggingFace
from unbraid.data.mnist import MNIST as MNIST
from unbraid.data.mpi3d import MPI3D as MPI3D
from unbraid.data.noisy_dsprites import NoisyDSprites as NoisyDSprites
from unbraid.data.shaded_faces import ShadedFaces as ShadedFaces
from unbraid.data.shapes3d import Shapes3D as Shapes3D
from unbraid.data.small_norb import SmallNORB as SmallNORB
