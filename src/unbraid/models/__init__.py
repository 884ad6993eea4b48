"""Encoders and decoders as plain modules, and the recipe that puts them together."""

from unbraid.models.architecture import Architecture as Architecture
from unbraid.models.autoencoder import Autoencoder as Autoencoder
from unbraid.models.autoencoder import AutoencoderModule as AutoencoderModule
from unbraid.models.conv import Conv as Conv
from unbraid.models.encode import encode as encode
from unbraid.models.mlp import MLP as MLP
