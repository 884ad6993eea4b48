"""Encoders, decoders and the config of a model."""

from unbraid.models.architecture import Architecture as Architecture
from unbraid.models.autoencoder import Autoencoder as Autoencoder
from unbraid.models.autoencoder import AutoencoderModule as AutoencoderModule
from unbraid.models.chen_conv import ChenConv as ChenConv
from unbraid.models.conv import Conv as Conv
from unbraid.models.disentanglement_lib_conv import DisentanglementLibConv as DisentanglementLibConv
from unbraid.models.do_tran_celeba import DoTranCelebA as DoTranCelebA
from unbraid.models.esmaeili_celeba import EsmaeiliCelebA as EsmaeiliCelebA
from unbraid.models.esmaeili_dsprites import EsmaeiliDSprites as EsmaeiliDSprites
from unbraid.models.esmaeili_mnist import EsmaeiliMNIST as EsmaeiliMNIST
from unbraid.models.infogan_conv import InfoGANConv as InfoGANConv
from unbraid.models.mlp import MLP as MLP
from unbraid.models.sharing_conv import SharingConv as SharingConv
from unbraid.models.spatial_broadcast import SpatialBroadcast as SpatialBroadcast
from unbraid.models.split_conv import SplitConv as SplitConv
from unbraid.models.trained.encode import encode as encode
from unbraid.models.trained.encode import encode_all as encode_all
from unbraid.models.trained.traverse import category_samples as category_samples
from unbraid.models.wrapped_module import WrappedModule as WrappedModule
from unbraid.models.wrapped_module import wrap as wrap
