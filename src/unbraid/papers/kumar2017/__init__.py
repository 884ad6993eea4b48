"""Kumar et al. 2017: DIP-VAE, in its first version on arXiv."""

from unbraid.papers.item import Paper
from unbraid.papers.kumar2017.appendix_b import APPENDIX_B, APPENDIX_B_CELEBA
from unbraid.papers.kumar2017.attributes import (
    FIGURE2,
    FIGURES3_8,
    FIGURES3_8_FACES,
    TABLE2,
    TABLE2_DIGITS,
    TABLE2_FACES,
    TABLE4,
    TABLE4_FACES,
)
from unbraid.papers.kumar2017.celeba import FIGURE1_CELEBA, FIGURE1_STAND_IN, TABLE1_CELEBA, TABLE1_STAND_IN
from unbraid.papers.kumar2017.chairs import TABLE6, TABLE6_STAND_IN, TEXT_CHAIRS, TEXT_CHAIRS_STAND_IN
from unbraid.papers.kumar2017.controls import TABLE1_CONTROLS
from unbraid.papers.kumar2017.table1 import FIGURE1, TABLE1
from unbraid.papers.kumar2017.table3 import FIGURES9_12, TABLE3
from unbraid.papers.kumar2017.table5 import TABLE5, TABLE5_STAND_IN

PAPER = Paper(
    id="kumar2017",
    authors="Kumar, Sattigeri, Balakrishnan",
    title="Variational Inference of Disentangled Latent Concepts from Unlabeled Observations",
    reference="arXiv:1711.00848v1",
    items=(
        TABLE1,
        TABLE1_CONTROLS,
        TABLE1_CELEBA,
        TABLE1_STAND_IN,
        FIGURE1,
        FIGURE1_CELEBA,
        FIGURE1_STAND_IN,
        TABLE2,
        TABLE2_FACES,
        TABLE2_DIGITS,
        TABLE3,
        TABLE4,
        TABLE4_FACES,
        FIGURE2,
        TABLE5,
        TABLE5_STAND_IN,
        TEXT_CHAIRS,
        TEXT_CHAIRS_STAND_IN,
        TABLE6,
        TABLE6_STAND_IN,
        FIGURES3_8,
        FIGURES3_8_FACES,
        FIGURES9_12,
        APPENDIX_B,
        APPENDIX_B_CELEBA,
    ),
)
