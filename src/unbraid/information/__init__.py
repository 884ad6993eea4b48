"""Estimators of entropy and mutual information, from tensors, in nats."""

from unbraid.information.aggregate import Decomposition as Decomposition
from unbraid.information.aggregate import decompose as decompose
from unbraid.information.aggregate import log_aggregate as log_aggregate
from unbraid.information.aggregate import log_weights as log_weights
from unbraid.information.exact import exact_information as exact_information
from unbraid.information.latent_information import LatentInformation as LatentInformation
from unbraid.information.posteriors import Draws as Draws
from unbraid.information.posteriors import Posteriors as Posteriors
from unbraid.information.quantized import Bins as Bins
from unbraid.information.quantized import Masses as Masses
from unbraid.information.quantized import means_histogram_information as means_histogram_information
from unbraid.information.quantized import quantize as quantize
from unbraid.information.quantized import quantized_information as quantized_information
from unbraid.information.sampled import LogDensities as LogDensities
from unbraid.information.sampled import log_densities as log_densities
from unbraid.information.value_table import ValueTable as ValueTable
