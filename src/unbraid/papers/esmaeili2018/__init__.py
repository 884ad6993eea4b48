"""Esmaeili et al. 2018: the HFVAE, groups of latents and discrete ones."""

from unbraid.papers.esmaeili2018.architectures import TABLE3, TABLE4, TABLE5
from unbraid.papers.esmaeili2018.combinations import LABELS_COMBINATIONS, TABLE2_COMBINATIONS
from unbraid.papers.esmaeili2018.digits import FIGURE5, FIGURE6, FIGURE11, LABELS
from unbraid.papers.esmaeili2018.faces import FIGURE8, FIGURE8_STAND_IN
from unbraid.papers.esmaeili2018.figure3 import FIGURE3
from unbraid.papers.esmaeili2018.figure6_curve import FIGURE6_CURVE
from unbraid.papers.esmaeili2018.figure7 import FIGURE7
from unbraid.papers.esmaeili2018.figure9 import FIGURE9A, FIGURE9B
from unbraid.papers.esmaeili2018.table1 import TABLE1
from unbraid.papers.esmaeili2018.table2 import TABLE2
from unbraid.papers.item import Paper

PAPER = Paper(
    id="esmaeili2018",
    authors="Esmaeili, Wu, Jain, Narayanaswamy, Paige, van de Meent",
    title="Hierarchical Disentangled Representations",
    reference="arXiv:1804.02086v1",
    without_items="Figures 1, 2 and 4 are drawings and formulas, and the text that was read has no figure 10.",
    items=(
        TABLE1,
        FIGURE3,
        FIGURE5,
        FIGURE6,
        FIGURE6_CURVE,
        TABLE2,
        TABLE2_COMBINATIONS,
        LABELS,
        LABELS_COMBINATIONS,
        FIGURE7,
        FIGURE8,
        FIGURE8_STAND_IN,
        FIGURE9A,
        FIGURE9B,
        FIGURE11,
        TABLE3,
        TABLE4,
        TABLE5,
    ),
)
