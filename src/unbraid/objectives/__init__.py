"""Objectives: the losses of models, one file each."""

from unbraid.objectives.aae import AAE as AAE
from unbraid.objectives.anchor_vae import AnchorVAE as AnchorVAE
from unbraid.objectives.annealed_vae import AnnealedVAE as AnnealedVAE
from unbraid.objectives.beta_svae import BetaSVAE as BetaSVAE
from unbraid.objectives.beta_tcvae import BetaTCVAE as BetaTCVAE
from unbraid.objectives.beta_vae import BetaVAE as BetaVAE
from unbraid.objectives.composite import Composite as Composite
from unbraid.objectives.decomposed_elbo import DecomposedELBO as DecomposedELBO
from unbraid.objectives.dip_vae import DIPVAE as DIPVAE
from unbraid.objectives.factor_vae import FactorVAE as FactorVAE
from unbraid.objectives.hfvae import HFVAE as HFVAE
from unbraid.objectives.info_gan import InfoGAN as InfoGAN
from unbraid.objectives.info_vae import InfoVAE as InfoVAE
from unbraid.objectives.information_dropout import InformationDropout as InformationDropout
from unbraid.objectives.objective import EncodedBatch as EncodedBatch
from unbraid.objectives.objective import Loss as Loss
from unbraid.objectives.objective import Objective as Objective
from unbraid.objectives.objective import Step as Step
from unbraid.objectives.vae import VAE as VAE
