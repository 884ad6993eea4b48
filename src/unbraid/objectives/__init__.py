"""What models are trained to minimise: an objective is one file."""

from unbraid.objectives.beta_tcvae import BetaTCVAE as BetaTCVAE
from unbraid.objectives.beta_vae import BetaVAE as BetaVAE
from unbraid.objectives.decomposed_elbo import DecomposedELBO as DecomposedELBO
from unbraid.objectives.objective import Loss as Loss
from unbraid.objectives.objective import Objective as Objective
from unbraid.objectives.objective import Step as Step
from unbraid.objectives.vae import VAE as VAE
