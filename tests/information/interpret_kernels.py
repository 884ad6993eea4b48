"""The kernels of `gaussian_mixture` against the formula in float64, without a GPU: Triton runs them in Python.

    TRITON_INTERPRET=1 python -m tests.information.interpret_kernels

A process of its own, because Triton looks at the variable once, when it is imported.
"""

from unittest import mock

from tests.information.gaussian_mixtures import CASES, check_kernels, check_that_nothing_moves_nothing
from unbraid.information import gaussian_mixture, gaussian_mixture_kernels

if __name__ == "__main__":
    with mock.patch.object(gaussian_mixture, "_kernels_for", return_value=gaussian_mixture_kernels):
        for case in CASES:
            print(case)
            check_kernels(case, "cpu")
        check_that_nothing_moves_nothing("cpu")
