"""Do & Tran 2020: metrics of informativeness, separability and interpretability."""

from unbraid.papers.do2020.estimators import (
    FIGURE14,
    FIGURE17,
    FIGURE18,
    FIGURE19,
    FIGURE23,
    FIGURE24,
    FIGURE25,
    TABLE8,
    TABLE9,
)
from unbraid.papers.do2020.faces import (
    FIGURE9,
    FIGURE9_FACES,
    FIGURE13,
    FIGURE15,
    FIGURE20,
    FIGURE20_SPRITES,
    TABLE5,
    TABLE5_FACES,
    TABLE6,
    TABLE6_FACES,
    TABLE7,
    TABLE7_FACES,
)
from unbraid.papers.do2020.facts import TABLE2, TABLE2_CELEBA, TABLE3, TABLE4
from unbraid.papers.do2020.sweep import FIGURE2, FIGURE3, FIGURE4, FIGURE5, FIGURE6, FIGURE7, FIGURE8
from unbraid.papers.do2020.table1 import TABLE1
from unbraid.papers.item import Paper

PAPER = Paper(
    id="do2020",
    authors="Do, Tran",
    title="Theory and Evaluation Metrics for Learning Disentangled Representations",
    reference="ICLR 2020, arXiv:1908.09961v4",
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
        TABLE5,
        TABLE5_FACES,
        TABLE6,
        TABLE6_FACES,
        TABLE7,
        TABLE7_FACES,
        FIGURE13,
        TABLE2,
        TABLE2_CELEBA,
        TABLE3,
        TABLE4,
        FIGURE14,
        FIGURE15,
        TABLE8,
        TABLE9,
        FIGURE17,
        FIGURE18,
        FIGURE19,
        FIGURE20,
        FIGURE20_SPRITES,
        FIGURE23,
        FIGURE24,
        FIGURE25,
    ),
)
