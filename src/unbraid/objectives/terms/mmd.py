"""The maximum mean discrepancy of two sets of codes."""

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
    """Returns mean k(a, a') + mean k(b, b') - 2 mean k(a, b).

    Gretton et al., JMLR 13 (2012), eq. 5 ("biased") and eq. 3 ("unbiased").

    "biased" includes pairs of a code with itself. It is never negative, and 0 for two equal sets. "unbiased" excludes
    those pairs. Its mean is 0 if both sets are from one distribution, so it is often negative. The result has no unit.
    """
    within = _mean(similarity(a, a, kernel, bandwidth), statistic) + _mean(
        similarity(b, b, kernel, bandwidth), statistic
    )
    return within - 2 * similarity(a, b, kernel, bandwidth).mean()


def similarity(
    a: Float[Tensor, "sample column"], b: Float[Tensor, "other_sample column"], kernel: Kernel, bandwidth: Bandwidth
) -> Float[Tensor, "sample other_sample"]:
    """Returns the kernel k(a, b) of every pair.

    The kernel is exp(-|a - b|^2 / s) for "rbf", c / (c + |a - b|^2) with c = 2 d for "imq", where d is the number of
    columns.

    s is 2 h^2: d for the bandwidth "dimension", under which two draws from a standard normal have |a - b|^2 = 2 s on
    average; d^2 for "zhao", as in the code of Zhao et al., arXiv:1706.02262v3.
    """
    # Differences, not |a|^2 + |b|^2 - 2 ab, which cancels, and whose root of a rounding error has no gradient.
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
        raise SpecError("The statistic 'unbiased' compares different codes, and there is only one. Use 2 or more.")
    return (similarities.sum() - similarities.diagonal().sum()) / (size * (size - 1))
