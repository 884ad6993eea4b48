"""Chen et al. 2018: beta-TCVAE and the mutual information gap."""

from unbraid.papers.chen2018.ablations import ABLATIONS
from unbraid.papers.chen2018.boxes import FIGURE3A, FIGURE3B, FIGURE3B_STAND_IN
from unbraid.papers.chen2018.joint_designs import (
    FIGURE5A,
    FIGURE5B,
    FIGURE5B_STAND_IN,
    FIGURE5B_UNIFORM,
    FIGURE5B_UNIFORM_STAND_IN,
)
from unbraid.papers.chen2018.precision import PRECISION
from unbraid.papers.chen2018.purity import FIGURE1_PURITY
from unbraid.papers.chen2018.sweep import (
    FIGURE2A,
    FIGURE2B,
    FIGURE2B_STAND_IN,
    FIGURE4A,
    FIGURE4B,
    FIGURE4B_STAND_IN,
)
from unbraid.papers.chen2018.table1 import TABLE1
from unbraid.papers.chen2018.table2 import TABLE2
from unbraid.papers.chen2018.traversals import FIGURE1, FIGURE1_STAND_IN, FIGURE6, FIGURE6_STAND_IN
from unbraid.papers.item import Paper

PAPER = Paper(
    id="chen2018",
    authors="Chen, Li, Grosse, Duvenaud",
    title="Isolating Sources of Disentanglement in Variational Autoencoders",
    reference="NeurIPS 2018, arXiv:1802.04942v5",
    items=(
        FIGURE1,
        FIGURE1_STAND_IN,
        FIGURE1_PURITY,
        TABLE1,
        TABLE2,
        FIGURE2A,
        FIGURE2B,
        FIGURE2B_STAND_IN,
        ABLATIONS,
        FIGURE3A,
        FIGURE3B,
        FIGURE3B_STAND_IN,
        FIGURE4A,
        FIGURE4B,
        FIGURE4B_STAND_IN,
        FIGURE5A,
        FIGURE5B,
        FIGURE5B_STAND_IN,
        FIGURE5B_UNIFORM,
        FIGURE5B_UNIFORM_STAND_IN,
        FIGURE6,
        FIGURE6_STAND_IN,
        PRECISION,
    ),
)
