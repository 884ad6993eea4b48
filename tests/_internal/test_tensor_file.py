"""Tensors are written as the library reads them."""

import hashlib

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from unbraid._internal.tensor_file import write_tensors

TENSORS = {
    "weights.0": torch.tensor([[1.5, -0.0], [float("inf"), 1e-45]]),
    "a number": torch.tensor(0.1, dtype=torch.float64),
    "nothing": torch.empty(0, 3),
    "nothing of numpy": torch.as_tensor(np.asarray(())),
    "β": torch.tensor([True, False, True]),
    "count": torch.tensor([2**40, -1]),
    "small": torch.arange(5, dtype=torch.uint8),
    "half": torch.tensor([0.5, 3.0], dtype=torch.bfloat16),
}


def test_the_library_reads_every_tensor_back_with_its_shape_and_type(tmp_path):
    write_tensors(tmp_path / "a.safetensors", TENSORS, {"unbraid": "1"})
    found = load_file(tmp_path / "a.safetensors")
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert (found[name].shape, found[name].dtype) == (tensor.shape, tensor.dtype)
        assert torch.equal(found[name], tensor)


def test_metadata_are_read_back(tmp_path):
    write_tensors(tmp_path / "a.safetensors", TENSORS, {"b": '"γ"', "a": "1"})
    with safe_open(tmp_path / "a.safetensors", framework="pt") as stream:
        assert stream.metadata() == {"b": '"γ"', "a": "1"}


@pytest.mark.parametrize(
    "tensor", [torch.arange(12.0).reshape(3, 4).T, torch.arange(10.0)[::3], torch.ones(2, 1).expand(2, 3)]
)
def test_a_tensor_may_lie_in_memory_as_it_likes(tmp_path, tensor):
    write_tensors(tmp_path / "a.safetensors", {"x": tensor, "the same memory": tensor}, {})
    found = load_file(tmp_path / "a.safetensors")
    assert torch.equal(found["x"], tensor)
    assert torch.equal(found["the same memory"], tensor)


def test_the_checksum_is_that_of_the_file(tmp_path):
    checksum = write_tensors(tmp_path / "a.safetensors", TENSORS, {"a": "b"})
    assert checksum.hexdigest() == hashlib.sha256((tmp_path / "a.safetensors").read_bytes()).hexdigest()


def test_equal_tensors_and_metadata_have_equal_bytes(tmp_path):
    write_tensors(tmp_path / "a.safetensors", TENSORS, {"a": "1", "b": "2"})
    write_tensors(tmp_path / "b.safetensors", dict(reversed(TENSORS.items())), {"b": "2", "a": "1"})
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_no_tensors_are_a_file_too(tmp_path):
    write_tensors(tmp_path / "a.safetensors", {}, {})
    assert load_file(tmp_path / "a.safetensors") == {}
