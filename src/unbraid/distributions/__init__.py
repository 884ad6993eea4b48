"""Posteriors, priors and likelihoods, as records of tensors."""

from unbraid.distributions.diagonal_gaussian import DiagonalGaussian as DiagonalGaussian
from unbraid.distributions.latents import GaussianLatents as GaussianLatents
from unbraid.distributions.latents import Latents as Latents
from unbraid.distributions.likelihood import BernoulliLikelihood as BernoulliLikelihood
from unbraid.distributions.likelihood import GaussianLikelihood as GaussianLikelihood
from unbraid.distributions.likelihood import Likelihood as Likelihood
from unbraid.distributions.posterior import Posterior as Posterior
from unbraid.distributions.prior import Prior as Prior
from unbraid.distributions.prior import StandardNormal as StandardNormal
