"""The split encoder: an anonymous submission to ICLR 2020."""

from unbraid.papers.item import Paper
from unbraid.papers.split2020.figure1 import FIGURE1

PAPER = Paper(
    id="split2020",
    authors="Anonymous",
    title="An Information Theoretic Perspective on Disentangled Representation Learning",
    reference="submitted to ICLR 2020, OpenReview rJlhYa4FPB",
    items=(FIGURE1,),
)
