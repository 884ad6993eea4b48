"""The split encoder: an anonymous submission to ICLR 2020."""

from unbraid.papers.item import Paper
from unbraid.papers.split2020.calibration import CALIBRATION
from unbraid.papers.split2020.cars import (
    FIGURE6,
    FIGURE6_STAND_IN,
    FIGURE7,
    FIGURE7_STAND_IN,
    FIGURE8,
    FIGURE8_STAND_IN,
    FIGURE10,
    FIGURE10_STAND_IN,
)
from unbraid.papers.split2020.dsprites import FIGURE3, FIGURE4, FIGURE5, FIGURE9, FIGURE11
from unbraid.papers.split2020.figure1 import FIGURE1
from unbraid.papers.split2020.figure2 import FIGURE2
from unbraid.papers.split2020.lemmas import LEMMAS

PAPER = Paper(
    id="split2020",
    authors="Anonymous",
    title="An Information Theoretic Perspective on Disentangled Representation Learning",
    reference="submitted to ICLR 2020, OpenReview rJlhYa4FPB",
    items=(
        LEMMAS,
        FIGURE1,
        CALIBRATION,
        FIGURE2,
        FIGURE3,
        FIGURE4,
        FIGURE5,
        FIGURE6,
        FIGURE6_STAND_IN,
        FIGURE7,
        FIGURE7_STAND_IN,
        FIGURE8,
        FIGURE8_STAND_IN,
        FIGURE9,
        FIGURE10,
        FIGURE10_STAND_IN,
        FIGURE11,
    ),
)
