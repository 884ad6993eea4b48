"""Codes on a GPU are scored there, with the same numbers."""

import pytest
import torch

from benchmarks.dsprites_codes import dsprites_codes
from unbraid.metrics.evaluate import evaluate


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_score_is_the_same_to_1e_5():
    # 3000 images with 10,000 draws are enough for the float32 terms of the sampled estimators, which differ most.
    there, here = (evaluate(dsprites_codes(3000, device=device), progress=False) for device in ("cuda", "cpu"))
    assert there.names == here.names
    for name, ours, theirs in zip(here.names, here.values(), there.values(), strict=True):
        assert theirs.value == pytest.approx(ours.value, abs=1e-5, rel=1e-5, nan_ok=True), name
        for part, value in ours.parts.items():
            assert theirs.parts[part].value == pytest.approx(value.value, abs=1e-5, rel=1e-5, nan_ok=True), (
                f"{name} {part}"
            )
