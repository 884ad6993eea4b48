"""Codes on a GPU are diagnosed there, with the same findings."""

import pytest
import torch

from benchmarks.dsprites_codes import dsprites_codes
from unbraid.diagnose import diagnose_codes


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_finding_is_the_same():
    def diagnosed(device):
        codes = dsprites_codes(3000, device=device)
        weights = torch.linspace(0, 9, 640, device=device).cos().reshape(10, 64)
        return diagnose_codes(codes, lambda z: (z.float() @ weights).tanh())

    there, here = diagnosed("cuda"), diagnosed("cpu")
    assert [(each.check, each.state) for each in there.findings] == [(each.check, each.state) for each in here.findings]
