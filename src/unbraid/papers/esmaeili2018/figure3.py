"""Figure 3: what leaving out a term does."""

from collections.abc import Callable
from typing import Any

from unbraid import figures
from unbraid.data import MNIST
from unbraid.distributions import GaussianLatents
from unbraid.metrics import ELBODecomposition, InformativeLatents
from unbraid.objectives import DecomposedELBO
from unbraid.papers.esmaeili2018.digits import NEEDS_MNIST, mnist_spec
from unbraid.papers.item import Choice, Item, Scale
from unbraid.papers.panels import side_by_side
from unbraid.papers.work import StudyWork
from unbraid.studies.claims import Higher, HigherSum
from unbraid.studies.figures import run_table
from unbraid.studies.study import Setting, Study
from unbraid.studies.study_scores import StudyScores

_VAE, _NO_INFORMATION, _NO_PRIOR = "all terms", "without mutual information", "without KL of q(z) and p(z)"
_CORRELATION = "elbo-decomposition"  # its value is the total correlation
_INFORMATION, _KL_OF_EACH, _RATE = (
    f"{_CORRELATION}:{part}" for part in ("mutual_information", "dimension_wise_kl", "kl")
)
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
                        _INFORMATION,
                        _NO_INFORMATION,
                        _VAE,
                    ),
                    HigherSum(
                        "Without the KL of q(z) and p(z), which is the total correlation and the KL of each latent, "
                        "this KL is higher.",
                        (_CORRELATION, _KL_OF_EACH),
                        _NO_PRIOR,
                        _VAE,
                    ),
                ),
            )
        )

    return work


def _draw(scores: StudyScores) -> Any:
    panels = {"I(x; z)": _INFORMATION, "sum of KL(q(z_j) || p(z_j))": _KL_OF_EACH}
    places = side_by_side(list(panels))
    for axes, metric in zip(places, panels.values(), strict=True):
        figures.strip_plot(run_table(scores, [metric]), metric, label="nats", axes=axes)
    return tuple(places)


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
    columns=(_INFORMATION, _CORRELATION, _KL_OF_EACH, _RATE),
    notes=(
        "The column `elbo-decomposition` is the total correlation of q(z); with the KL of each latent it makes up the "
        "KL of q(z) and p(z), and with the mutual information too the part `kl`, the KL of q(z|x) and p(z). That "
        "posteriors shrink is read from the mutual information: their widths were not kept. The terms that compare "
        "p(x) with the data need log p(x), which the paper calls intractable."
    ),
)
