"""Exports in half of the time."""

import contextlib
import functools
from collections.abc import Iterator

import jaxtyping
import pytest
from torch.onnx._internal.exporter._registration import ONNXRegistry


@functools.cache
def _registry(opset_version: int) -> ONNXRegistry:
    return _from_torchlib(opset_version=opset_version)


_from_torchlib = ONNXRegistry.from_torchlib


@contextlib.contextmanager
def quick_exports() -> Iterator[None]:
    """Within the block, what torch knows of ONNX is put together once, which takes half of the time of an export; and
    shapes are not checked of tensors without numbers.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(_registry))
        jaxtyping.config.update("jaxtyping_disable", True)
        yield
        jaxtyping.config.update("jaxtyping_disable", False)
