"""Codes of images: the outputs of an encoder and the factor labels of the images."""

from unbraid.codes.codes import Codes as Codes
from unbraid.codes.conversions import CodesOptions as CodesOptions
from unbraid.codes.labels import Labels as Labels
from unbraid.codes.latent_prior import LatentPrior as LatentPrior
