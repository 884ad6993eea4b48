"""Losses, penalties, estimators and metrics as plain functions of tensors and arrays."""

from unbraid.functional.adversarial import aae_loss as aae_loss
from unbraid.functional.adversarial import critic_cross_entropy as critic_cross_entropy
from unbraid.functional.adversarial import factor_vae_critic_loss as factor_vae_critic_loss
from unbraid.functional.adversarial import factor_vae_loss as factor_vae_loss
from unbraid.functional.adversarial import info_gan_loss as info_gan_loss
from unbraid.functional.adversarial import permute_latents as permute_latents
from unbraid.functional.estimators import aggregate_log_prob as aggregate_log_prob
from unbraid.functional.estimators import index_code_mutual_information as index_code_mutual_information
from unbraid.functional.estimators import total_correlation as total_correlation
from unbraid.functional.losses import anchor_vae_loss as anchor_vae_loss
from unbraid.functional.losses import annealed_vae_loss as annealed_vae_loss
from unbraid.functional.losses import beta_tcvae_loss as beta_tcvae_loss
from unbraid.functional.losses import beta_vae_loss as beta_vae_loss
from unbraid.functional.losses import dip_vae_loss as dip_vae_loss
from unbraid.functional.losses import elbo as elbo
from unbraid.functional.losses import hfvae_loss as hfvae_loss
from unbraid.functional.losses import info_vae_loss as info_vae_loss
from unbraid.functional.losses import information_dropout_loss as information_dropout_loss
from unbraid.functional.penalties import concrete_kl as concrete_kl
from unbraid.functional.penalties import dip_vae_penalty as dip_vae_penalty
from unbraid.functional.penalties import mmd as mmd
