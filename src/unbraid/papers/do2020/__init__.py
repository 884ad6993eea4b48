"""Do & Tran 2020: metrics of informativeness, separability and interpretability."""

from unbraid.papers.do2020.estimators import FIGURE17, FIGURE18, FIGURE24, FIGURE25
from unbraid.papers.do2020.face_models import FIGURE10, FIGURE10_FACES, FIGURE12, FIGURE12_FACES
from unbraid.papers.do2020.face_scores import (
    FIGURE9,
    FIGURE9_FACES,
    FIGURE13,
    TABLE6,
    TABLE6_FACES,
    TABLE7,
    TABLE7_FACES,
)
from unbraid.papers.do2020.facts import TABLE2, TABLE2_CELEBA, TABLE3, TABLE4
from unbraid.papers.do2020.fashion import TABLE6_FASHION, TABLE7_RESCALED
from unbraid.papers.do2020.latent_pairs import (
    FIGURE11,
    FIGURE11_FACES,
    FIGURE15,
    FIGURE20,
    FIGURE20_SPRITES,
    TABLE5,
    TABLE5_FACES,
)
from unbraid.papers.do2020.num_latents import FIGURE19
from unbraid.papers.do2020.repeated_runs import (
    FIGURE22,
    FIGURE22_FACES,
    FIGURE22_SPRITES,
    FIGURE26,
    FIGURE26_FACES,
    FIGURE27,
    FIGURE27_FACES,
    FIGURE28,
    FIGURE28_FACES,
)
from unbraid.papers.do2020.sprites_shown import FIGURE16, FIGURE23C
from unbraid.papers.do2020.sweep import FIGURE2, FIGURE3, FIGURE4, FIGURE5, FIGURE6, FIGURE7, FIGURE8
from unbraid.papers.do2020.table1 import TABLE1
from unbraid.papers.do2020.three_models import FIGURE14, FIGURE23, TABLE8, TABLE9
from unbraid.papers.item import Paper

PAPER = Paper(
    id="do2020",
    authors="Do, Tran",
    title="Theory and Evaluation Metrics for Learning Disentangled Representations",
    reference="ICLR 2020, arXiv:1908.09961v4",
    without_items="Figures 1 and 21 are drawings: there is nothing to measure.",
    items=(
        TABLE1,
        FIGURE2,
        FIGURE3,
        FIGURE4,
        FIGURE5,
        FIGURE6,
        FIGURE7,
        FIGURE8,
        FIGURE9,
        FIGURE9_FACES,
        FIGURE10,
        FIGURE10_FACES,
        TABLE5,
        TABLE5_FACES,
        FIGURE11,
        FIGURE11_FACES,
        TABLE6,
        TABLE6_FACES,
        TABLE6_FASHION,
        TABLE7,
        TABLE7_FACES,
        TABLE7_RESCALED,
        FIGURE12,
        FIGURE12_FACES,
        FIGURE13,
        TABLE2,
        TABLE2_CELEBA,
        TABLE3,
        TABLE4,
        FIGURE14,
        FIGURE15,
        TABLE8,
        TABLE9,
        FIGURE16,
        FIGURE17,
        FIGURE18,
        FIGURE19,
        FIGURE20,
        FIGURE20_SPRITES,
        FIGURE22,
        FIGURE22_FACES,
        FIGURE22_SPRITES,
        FIGURE23,
        FIGURE23C,
        FIGURE24,
        FIGURE25,
        FIGURE26,
        FIGURE26_FACES,
        FIGURE27,
        FIGURE27_FACES,
        FIGURE28,
        FIGURE28_FACES,
    ),
)
