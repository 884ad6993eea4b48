"""Do & Tran 2020: metrics of informativeness, separability and interpretability."""

from unbraid.papers.do2020.facts import TABLE2, TABLE2_CELEBA, TABLE3, TABLE4
from unbraid.papers.do2020.table1 import TABLE1
from unbraid.papers.item import Paper

PAPER = Paper(
    id="do2020",
    authors="Do, Tran",
    title="Theory and Evaluation Metrics for Learning Disentangled Representations",
    reference="ICLR 2020, arXiv:1908.09961",
    items=(TABLE1, TABLE2, TABLE2_CELEBA, TABLE3, TABLE4),
)
