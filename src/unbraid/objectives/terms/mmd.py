"""Maximum mean discrepancy between two sets of codes."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from unbraid.errors import SpecError

Kernel = Literal["rbf", "imq"]
Bandwidth = Literal["dimension", "zhao"]
Statistic = Literal["biased", "unbiased"]


def squared_mmd(
    a: Float[Tensor, "sample column"],
    b: Float[Tensor, "other_sample column"],
    kernel: Kernel = "rbf",
    bandwidth: Bandwidth = "dimension",
    statistic: Statistic = "biased",
) -> Float[Tensor, ""]:
    """Returns the squared MMD, mean k(a, a') + mean k(b, b') - 2 mean k(a, b).

    Gretton et al., JMLR 13 (2012), eq. 5 ("biased") and eq. 3 ("unbiased"). The biased estimate includes the pairs of a
    code with itself, is never negative, and is 0 for equal sets. The unbiased estimate excludes these pairs. Its
    expectation is 0 if both sets have the same distribution, so single estimates are often negative.
    """
    within = _mean(similarity(a, a, kernel, bandwidth), statistic) + _mean(
        similarity(b, b, kernel, bandwidth), statistic
    )
    return within - 2 * similarity(a, b, kernel, bandwidth).mean()


def similarity(
    a: Float[Tensor, "sample column"], b: Float[Tensor, "other_sample column"], kernel: Kernel, bandwidth: Bandwidth
) -> Float[Tensor, "sample other_sample"]:
    """Returns the kernel k(a, b) of every pair.

    The kernel "rbf" is exp(-|a - b|^2 / s), and "imq" is c / (c + |a - b|^2) with c = 2 d for d columns. With the
    bandwidth "dimension", s is d, half the expected |a - b|^2 of two standard normal draws. With "zhao", s is d^2, as
    in the code of Zhao et al., arXiv:1706.02262v3.
    """
    # Differences, because |a|^2 + |b|^2 - 2 ab loses precision by cancellation.
    squared_distance = (a[:, None, :] - b[None, :, :]).square().sum(dim=2)
    dimension = a.shape[1]
    match kernel:
        case "rbf":
            return (-squared_distance / (dimension if bandwidth == "dimension" else dimension**2)).exp()
        case "imq":
            return 2 * dimension / (2 * dimension + squared_distance)


def _mean(similarities: Float[Tensor, "sample sample"], statistic: Statistic) -> Float[Tensor, ""]:
    if statistic == "biased":
        return similarities.mean()
    size = len(similarities)
    if size < 2:
        raise SpecError("statistic is 'unbiased' for 1 code; expected 2 or more. Pass more codes, or use 'biased'.")
    return (similarities.sum() - similarities.diagonal().sum()) / (size * (size - 1))
