"""Figure 3: what leaving out a term does."""

from collections.abc import Callable
from typing import Any

from unbraid.data import MNIST
from unbraid.distributions import GaussianLatents
from unbraid.metrics import ELBODecomposition, InformativeLatents
from unbraid.objectives import DecomposedELBO
from unbraid.papers.esmaeili2018.digits import NEEDS_MNIST, mnist_spec
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.work import StudyWork
from unbraid.studies.claims import Higher
from unbraid.studies.figures import draw
from unbraid.studies.study import Setting, Study
from unbraid.studies.study_scores import StudyScores

_VAE, _NO_INFORMATION, _NO_PRIOR = "all terms", "without mutual information", "without KL of q(z) and p(z)"
_DECOMPOSITION = "elbo-decomposition"
_OBJECTIVES = {
    _VAE: DecomposedELBO(estimator="eq13"),
    _NO_INFORMATION: DecomposedELBO(mutual_information=0.0, estimator="eq13"),
    _NO_PRIOR: DecomposedELBO(total_correlation=0.0, dimension_wise_kl=0.0, estimator="eq13"),
}


def _work(scale: Scale) -> Callable[[], StudyWork]:
    def work() -> StudyWork:
        seeds = tuple(range(1 if scale == "smoke" else 8))
        settings = tuple(
            Setting(label, mnist_spec(objective, scale, latents=GaussianLatents(2), dataset=MNIST()), seeds, label)
            for label, objective in _OBJECTIVES.items()
        )
        return StudyWork(
            Study(
                name=f"esmaeili2018-figure3-{scale}",
                question="What does leaving out a term of the decomposition do?",
                settings=settings,
                metrics=(ELBODecomposition(), InformativeLatents()),
                keep="scores",
                claims=(
                    Higher(
                        "Without the term of mutual information codes hold more of the image.",
                        f"{_DECOMPOSITION}:mutual_information",
                        _NO_INFORMATION,
                        _VAE,
                    ),
                    Higher(
                        "Without the KL of q(z) and p(z), latent by latent they differ more.",
                        f"{_DECOMPOSITION}:dimension_wise_kl",
                        _NO_PRIOR,
                        _VAE,
                    ),
                ),
            )
        )

    return work


def _draw(scores: StudyScores) -> Any:
    return draw(scores, "strip", [_DECOMPOSITION])


FIGURE3 = Item(
    id="esmaeili2018/figure3",
    title="What leaving out a term of the decomposition does",
    claim=(
        "Without the mutual information posteriors shrink to points; without the KL of q(z) and p(z), codes leave the "
        "prior."
    ),
    work={scale: _work(scale) for scale in ("smoke", "quick", "paper")},
    data="MNIST",
    seconds={"quick": 110, "paper": 220},
    choices=(
        Choice("everything", "a drawing", "MNIST, the nets of table 3 with two Gaussian latents"),
        Choice("terms 1 and 3", "without them images map to the prior, or p(x) leaves the data", "not run"),
    ),
    needs=NEEDS_MNIST,
    draw=_draw,
    notes="The terms that compare p(x) with the data need log p(x), which the paper calls intractable.",
)
