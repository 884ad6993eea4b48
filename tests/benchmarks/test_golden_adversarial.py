"""Critics, covariances, discrepancies and generators match the values of an independent computation."""

import numpy as np
import pytest
import torch

from benchmarks.golden_adversarial import LOSSES
from tests.benchmarks.test_golden import EXPECTED, FOLDER, compare, tolerance

pytestmark = pytest.mark.skipif(
    not EXPECTED, reason="no golden values: set UNBRAID_GOLDEN to the folder that holds expected.json"
)

REQUIRED = {
    *(
        "factorvae",
        "factorvae/permuted",
        "aae",
        "infovae_alpha0_lambda10",
        "infogan_bound",
        "dip/cov_mu",
        "dip/I_od5_d50",
        "dip/II_od5_d5",
    ),
    *(f"dip/running_{kind}_4x10" for kind in ("ema_of_cov_rho0.9", "ema_of_moments_rho0.9", "cumulative")),
    *("mmd2/biased_2h2=d", "mmd2/unbiased_2h2=d", "mmd2/zhao_2h2=d^2"),
}


def test_they_match_the_golden_values():
    with np.load(FOLDER / EXPECTED["losses"]["inputs"], allow_pickle=False) as file:
        arrays = {name: torch.from_numpy(np.asarray(file[name])) for name in file.files}
    found = {key: value for family in LOSSES for key, value in family(arrays).items()}
    assert found.keys() == REQUIRED
    for key, value in found.items():
        plain = {part: inner.tolist() for part, inner in value.items()} if isinstance(value, dict) else value.tolist()
        compare(key, plain, EXPECTED["losses"]["golden"][key], tolerance(key))
