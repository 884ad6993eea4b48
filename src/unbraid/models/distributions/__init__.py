"""Posteriors, priors and likelihoods: configs, and records of tensors."""

from unbraid.models.distributions.distribution import Distribution as Distribution
from unbraid.models.distributions.distribution import Posterior as Posterior
from unbraid.models.distributions.distribution import Prior as Prior
from unbraid.models.distributions.likelihoods.continuous_bernoulli import (
    ContinuousBernoulliLikelihood as ContinuousBernoulliLikelihood,
)
from unbraid.models.distributions.likelihoods.learned_gaussian_likelihood import (
    LearnedGaussianLikelihood as LearnedGaussianLikelihood,
)
from unbraid.models.distributions.likelihoods.likelihood import BernoulliLikelihood as BernoulliLikelihood
from unbraid.models.distributions.likelihoods.likelihood import GaussianLikelihood as GaussianLikelihood
from unbraid.models.distributions.likelihoods.likelihood import LaplaceLikelihood as LaplaceLikelihood
from unbraid.models.distributions.likelihoods.likelihood import Likelihood as Likelihood
from unbraid.models.distributions.noise import logistic as logistic
from unbraid.models.distributions.posteriors.bernoulli import BernoulliLatents as BernoulliLatents
from unbraid.models.distributions.posteriors.bernoulli import BinaryConcrete as BinaryConcrete
from unbraid.models.distributions.posteriors.concrete import Concrete as Concrete
from unbraid.models.distributions.posteriors.concrete import ConcreteLatents as ConcreteLatents
from unbraid.models.distributions.posteriors.conditional import Conditional as Conditional
from unbraid.models.distributions.posteriors.conditional import ConditionalLatents as ConditionalLatents
from unbraid.models.distributions.posteriors.deterministic import Deterministic as Deterministic
from unbraid.models.distributions.posteriors.deterministic import DeterministicLatents as DeterministicLatents
from unbraid.models.distributions.posteriors.gaussian import CorrelatedGaussian as CorrelatedGaussian
from unbraid.models.distributions.posteriors.gaussian import CorrelatedGaussianLatents as CorrelatedGaussianLatents
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian as DiagonalGaussian
from unbraid.models.distributions.posteriors.gaussian import GaussianLatents as GaussianLatents
from unbraid.models.distributions.posteriors.grouped import Grouped as Grouped
from unbraid.models.distributions.posteriors.grouped import GroupedLatents as GroupedLatents
from unbraid.models.distributions.posteriors.grouped import GroupedPrior as GroupedPrior
from unbraid.models.distributions.posteriors.laplace import Laplace as Laplace
from unbraid.models.distributions.posteriors.laplace import LaplaceLatents as LaplaceLatents
from unbraid.models.distributions.posteriors.laplace import LaplacePrior as LaplacePrior
from unbraid.models.distributions.posteriors.latents import ContinuousLatents as ContinuousLatents
from unbraid.models.distributions.posteriors.latents import Latents as Latents
from unbraid.models.distributions.priors.categorical_priors import CategoricalPriorConfig as CategoricalPriorConfig
from unbraid.models.distributions.priors.categorical_priors import LearnedCategories as LearnedCategories
from unbraid.models.distributions.priors.categorical_priors import UniformCategories as UniformCategories
from unbraid.models.distributions.priors.flow_prior import Flow as Flow
from unbraid.models.distributions.priors.flow_prior import FlowPrior as FlowPrior
from unbraid.models.distributions.priors.learned_gaussian_prior import FullGaussian as FullGaussian
from unbraid.models.distributions.priors.learned_gaussian_prior import LearnedGaussianPrior as LearnedGaussianPrior
from unbraid.models.distributions.priors.prior import PriorConfig as PriorConfig
from unbraid.models.distributions.priors.prior import StandardNormalPrior as StandardNormalPrior
from unbraid.models.distributions.priors.prior import UniformPrior as UniformPrior
