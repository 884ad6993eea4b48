"""Codes: what an encoder says of images, and what is known of their factors."""

from unbraid.codes.codes import Codes as Codes
from unbraid.codes.labels import Labels as Labels
from unbraid.codes.latent_prior import LatentPrior as LatentPrior
from unbraid.codes.options import CodesOptions as CodesOptions
