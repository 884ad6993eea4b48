"""Posteriors, priors and likelihoods: recipes, and records of tensors."""

from unbraid.distributions.likelihoods.continuous_bernoulli import (
    ContinuousBernoulliLikelihood as ContinuousBernoulliLikelihood,
)
from unbraid.distributions.likelihoods.laplace_likelihood import LaplaceLikelihood as LaplaceLikelihood
from unbraid.distributions.likelihoods.learned_gaussian_likelihood import (
    LearnedGaussianLikelihood as LearnedGaussianLikelihood,
)
from unbraid.distributions.likelihoods.likelihood import BernoulliLikelihood as BernoulliLikelihood
from unbraid.distributions.likelihoods.likelihood import GaussianLikelihood as GaussianLikelihood
from unbraid.distributions.likelihoods.likelihood import Likelihood as Likelihood
from unbraid.distributions.noise import logistic as logistic
from unbraid.distributions.posteriors.bernoulli import Bernoulli as Bernoulli
from unbraid.distributions.posteriors.bernoulli import BernoulliLatents as BernoulliLatents
from unbraid.distributions.posteriors.bernoulli import BinaryConcrete as BinaryConcrete
from unbraid.distributions.posteriors.concrete import Categorical as Categorical
from unbraid.distributions.posteriors.concrete import Concrete as Concrete
from unbraid.distributions.posteriors.concrete import ConcreteLatents as ConcreteLatents
from unbraid.distributions.posteriors.conditional import Conditional as Conditional
from unbraid.distributions.posteriors.conditional import ConditionalLatents as ConditionalLatents
from unbraid.distributions.posteriors.conditional import ConditionalPrior as ConditionalPrior
from unbraid.distributions.posteriors.correlated_gaussian import CorrelatedGaussian as CorrelatedGaussian
from unbraid.distributions.posteriors.correlated_gaussian import CorrelatedGaussianLatents as CorrelatedGaussianLatents
from unbraid.distributions.posteriors.deterministic import Deterministic as Deterministic
from unbraid.distributions.posteriors.deterministic import DeterministicLatents as DeterministicLatents
from unbraid.distributions.posteriors.diagonal_gaussian import DiagonalGaussian as DiagonalGaussian
from unbraid.distributions.posteriors.gaussian_posterior import GaussianPosterior as GaussianPosterior
from unbraid.distributions.posteriors.grouped import Grouped as Grouped
from unbraid.distributions.posteriors.grouped import GroupedLatents as GroupedLatents
from unbraid.distributions.posteriors.grouped import GroupedPrior as GroupedPrior
from unbraid.distributions.posteriors.laplace import Laplace as Laplace
from unbraid.distributions.posteriors.laplace import LaplaceLatents as LaplaceLatents
from unbraid.distributions.posteriors.laplace import LaplacePrior as LaplacePrior
from unbraid.distributions.posteriors.laplace import StandardLaplace as StandardLaplace
from unbraid.distributions.posteriors.latents import ContinuousLatents as ContinuousLatents
from unbraid.distributions.posteriors.latents import GaussianLatents as GaussianLatents
from unbraid.distributions.posteriors.latents import Latents as Latents
from unbraid.distributions.posteriors.posterior import Posterior as Posterior
from unbraid.distributions.priors.categorical_priors import CategoricalPriorRecipe as CategoricalPriorRecipe
from unbraid.distributions.priors.categorical_priors import LearnedCategories as LearnedCategories
from unbraid.distributions.priors.categorical_priors import UniformCategories as UniformCategories
from unbraid.distributions.priors.flow_prior import Flow as Flow
from unbraid.distributions.priors.flow_prior import FlowPrior as FlowPrior
from unbraid.distributions.priors.learned_gaussian_prior import FullGaussian as FullGaussian
from unbraid.distributions.priors.learned_gaussian_prior import LearnedGaussianPrior as LearnedGaussianPrior
from unbraid.distributions.priors.prior import Prior as Prior
from unbraid.distributions.priors.prior import StandardNormal as StandardNormal
from unbraid.distributions.priors.prior_recipes import PriorRecipe as PriorRecipe
from unbraid.distributions.priors.prior_recipes import StandardNormalPrior as StandardNormalPrior
from unbraid.distributions.priors.uniform_prior import Uniform as Uniform
from unbraid.distributions.priors.uniform_prior import UniformPrior as UniformPrior
