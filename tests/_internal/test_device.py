"""One function says where to compute."""

import pytest
import torch

from unbraid._internal.device import automatic_device, resolve_device
from unbraid.errors import SpecError


def test_auto_takes_a_gpu_if_there_is_one(monkeypatch):
    monkeypatch.setattr(
        "unbraid._internal.device.automatic_device", automatic_device
    )  # which the tests hold to the CPU
    for is_available, expected in ((False, "cpu"), (True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda found=is_available: found)
        assert resolve_device("auto") == torch.device(expected)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert resolve_device("cuda:0") == torch.device("cuda:0")
    with pytest.raises(SpecError, match="1 GPUs.*'auto'"):
        resolve_device("cuda:1")


@pytest.mark.parametrize("name", ["gpu", "tpu", "cuda:", "cuda:99999999999", "CPU", ""])
def test_an_unknown_device_is_refused(name):
    with pytest.raises(SpecError, match="'auto', 'cpu'"):
        resolve_device(name)
