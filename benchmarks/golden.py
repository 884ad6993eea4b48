"""Every golden value that the library knows, for one file of inputs: `python -m benchmarks.golden FILE.npz`.

A file with labels `y` holds codes, for the metrics; one without holds a batch, for the losses. Each function computes
one family of keys through the public API; most live in tests/golden, beside the values of an independent computation.
Printed as JSON, with null where a value is undefined. Beside the arrays that every case has, a file of codes may hold
`rho`, the correlation of two latents in every posterior (key `exact2d_corr0.6` for 0.6), and `y_raw`, measurements of
the factors (key `sap/continuous_raw`). Attribute vectors and top attributes are of files whose factors all have two
values.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.golden import (
    adversarial,
    attributes,
    classifiers,
    correlations,
    decomposition,
    distributions,
    information,
    sampled,
)
from tests.golden.values import Arrays, Values
from unbraid.errors import CodesError
from unbraid.models.distributions import BernoulliLikelihood, DiagonalGaussian, StandardNormalPrior


def golden(arrays: Arrays) -> Values:
    """All known values for these inputs, by key. A metric that refuses the codes says so on the standard error and has
    no key.
    """
    found: Values = {}
    for family in METRICS if "y" in arrays else LOSSES:
        try:
            found |= family(arrays)
        except CodesError as refusal:
            print(f"{family.__name__}: {refusal}", file=sys.stderr)
    return found


def divergences_and_likelihoods(arrays: Arrays) -> Values:
    x, logits = (arrays[name][:, None, None, :] for name in ("x", "logits"))
    posterior = DiagonalGaussian(arrays["mu"], 2 * arrays["sigma"].log())
    return {
        "kl_gauss_std": StandardNormalPrior().kl_from(posterior, arrays["z"]).sum(dim=1),
        "bernoulli_nll": -BernoulliLikelihood().log_prob(x, logits),
    }


METRICS: tuple[Callable[[Arrays], Values], ...] = (
    *information.METRICS,
    *sampled.METRICS,
    *classifiers.METRICS,
    *correlations.METRICS,
    *attributes.METRICS,
)
LOSSES: tuple[Callable[[Arrays], Values], ...] = (
    divergences_and_likelihoods,
    *distributions.LOSSES,
    *decomposition.LOSSES,
    *adversarial.LOSSES,
)


def _as_json(value: Any) -> Any:
    match value:
        case Tensor():
            return _as_json(value.tolist())
        case dict():
            return {key: _as_json(part) for key, part in value.items()}
        case list():
            return [_as_json(part) for part in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Print every golden value that the library knows for one file of inputs, as JSON."
    )
    parser.add_argument("file", type=Path, help="an .npz with mu, sigma and y (codes), or with a batch of losses")
    with np.load(parser.parse_args(arguments).file, allow_pickle=False) as file:
        arrays = {name: torch.from_numpy(np.asarray(file[name])) for name in file.files}
    print(json.dumps(_as_json(golden(arrays)), indent=1, allow_nan=False))


if __name__ == "__main__":
    main()
