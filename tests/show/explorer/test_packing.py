"""Tensors in the page."""

import base64
import zlib

import numpy as np
import torch

from unbraid.show.explorer.packing import Packer


def unpacked(packer: Packer, name: str) -> tuple[bytes, dict]:
    packed = packer.packed()
    said = packed["index"][name]
    content = zlib.decompress(base64.b64decode(packed["blob"]))
    return content[said["start"] : said["start"] + said["size"]], said


def test_rows_of_int8_are_scaled_each_by_its_largest_number():
    packer = Packer()
    packer.add("first", torch.ones(3), "float32")
    packer.add("matrix", torch.tensor([[1.0, -0.5], [100.0, 25.0], [0.0, 0.0]]), "int8")
    content, said = unpacked(packer, "matrix")
    assert said["rows"] == 3
    assert np.allclose(np.frombuffer(content[:12], "<f4"), [1 / 127, 100 / 127, 0])
    assert np.frombuffer(content[12:], np.int8).tolist() == [127, -64, 127, 32, 0, 0]


def test_numbers_too_large_for_half_precision_stay_single():
    packer = Packer()
    packer.add("large", torch.tensor([[1e6, 1.0]]), "half")
    packer.add("small", torch.tensor([[1.5, 1.0]]), "half")
    assert unpacked(packer, "large")[1]["kind"] == "float32"
    assert np.frombuffer(unpacked(packer, "small")[0], "<f2").tolist() == [1.5, 1]


def test_intensities_are_clipped_and_kept_in_sixteen_bits():
    packer = Packer()
    packer.add("image", torch.tensor([-1.0, 0.5, 2.0]), "unit16")
    assert np.frombuffer(unpacked(packer, "image")[0], "<u2").tolist() == [0, 32768, 65535]
