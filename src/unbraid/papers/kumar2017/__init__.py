"""Kumar et al. 2017: DIP-VAE, in its first version on arXiv."""

from unbraid.papers.item import Paper
from unbraid.papers.kumar2017.appendix_b import APPENDIX_B, APPENDIX_B_CELEBA

PAPER = Paper(
    id="kumar2017",
    authors="Kumar, Sattigeri, Balakrishnan",
    title="Variational Inference of Disentangled Latent Concepts from Unlabeled Observations",
    reference="arXiv:1711.00848v1",
    items=(APPENDIX_B, APPENDIX_B_CELEBA),
)
