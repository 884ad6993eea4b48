"""Distributions against the golden values."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.golden_distributions import LOSSES

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("UNBRAID_GOLDEN", ROOT.parent / "shared" / "golden"))
EXPECTED = json.loads((FOLDER / "expected.json").read_text()) if (FOLDER / "expected.json").is_file() else {}

pytestmark = pytest.mark.skipif(
    not EXPECTED, reason="no golden values: set UNBRAID_GOLDEN to the folder that holds expected.json"
)


@pytest.mark.parametrize("family", LOSSES, ids=lambda family: family.__name__)
def test_they_match(family):
    with np.load(FOLDER / EXPECTED["losses"]["inputs"], allow_pickle=False) as file:
        found = family({name: torch.from_numpy(np.asarray(file[name])) for name in file.files})
    assert found
    for key, value in found.items():
        expected = EXPECTED["losses"]["golden"][key]
        pairs = [(value[name], expected[name]) for name in value] if isinstance(value, dict) else [(value, expected)]
        for own, other in pairs:
            torch.testing.assert_close(own, torch.tensor(other, dtype=torch.float64), rtol=1e-6, atol=1e-8)
