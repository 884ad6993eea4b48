"""Encoders of any framework, in ONNX files."""

import math

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from tests.told import warned
from tests.training.squares import Squares
from unbraid.datasets import FromArrays
from unbraid.errors import CodesError, DataError, RunError, SpecError
from unbraid.integrations.onnx_encoder import OnnxEncoder

WEIGHT = np.random.default_rng(0).standard_normal((256, 2)).astype(np.float32)
FLOAT = TensorProto.FLOAT


def encoder_file(path, shape, outputs=("mean", "log_var"), kind=FLOAT, inputs=("pixels",), facts=None):
    """Writes a linear encoder: each output is the flattened image times a matrix. `shape` is what it takes."""
    nodes = [
        helper.make_node("Cast", [inputs[0]], ["float"], to=FLOAT),
        helper.make_node("Flatten", ["float"], ["flat"]),
        *(helper.make_node("MatMul", ["flat", "weight"], [name]) for name in outputs),
    ]
    graph = helper.make_graph(
        nodes,
        "made by hand",
        [helper.make_tensor_value_info(name, kind, shape) for name in inputs],
        [helper.make_tensor_value_info(name, FLOAT, [shape[0], 2]) for name in outputs],
        [numpy_helper.from_array(WEIGHT[: math.prod(shape[1:]) if None not in shape else 64], "weight")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(model, facts or {})
    onnx.save(model, path)
    return path


@pytest.fixture
def images():
    return Squares().open()


def expected(images):
    return images.batch(slice(None)).flatten(1) @ torch.from_numpy(WEIGHT[:64])


@pytest.mark.parametrize(
    "shape",
    [["n", 1, 8, 8], ["n", 8, 8, 1], ["n", 8, 8], ["n", 64], [None, None, None, None], [5, 1, 8, 8], [1, 64]],
    ids=str,
)
def test_images_are_laid_out_as_the_model_takes_them(shape, images, tmp_path):
    encoder = OnnxEncoder.open(encoder_file(tmp_path / "e.onnx", shape))
    codes = encoder.encode(images)
    torch.testing.assert_close(codes.mean, expected(images), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(codes.std, (0.5 * expected(images)).exp(), rtol=1e-5, atol=1e-5)
    assert codes.factors == images.factors


def test_colors_come_last_where_the_model_wants_them_last(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (6, 4, 8, 3), dtype=np.uint8)  # 96 numbers an image
    images = FromArrays.from_arrays(pixels, factors=np.arange(6)[:, None]).open()
    encoder = OnnxEncoder.open(encoder_file(tmp_path / "e.onnx", ["n", 4, 8, 3], outputs=["mean"]))
    expected = (pixels / np.float32(255)).reshape(6, -1) @ WEIGHT[:96]
    np.testing.assert_allclose(encoder.encode(images).mean, expected, rtol=1e-4, atol=1e-5)


def test_bytes_are_given_to_a_model_that_takes_bytes(images, tmp_path):
    encoder = OnnxEncoder.open(encoder_file(tmp_path / "e.onnx", ["n", 1, 8, 8], ["mean"], TensorProto.UINT8))
    torch.testing.assert_close(encoder.encode(images).mean, 255 * expected(images), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("outputs", "given", "found"),
    [
        (("z_mean", "z_log_var", "z"), None, {"mean": "z_mean", "log_var": "z_log_var"}),
        (("mu", "sigma"), None, {"mean": "mu", "std": "sigma"}),
        (("dense",), None, {"mean": "dense"}),
        (("a", "b"), {"mean": "b", "log_var": "a"}, {"mean": "b", "log_var": "a"}),
        (("samples",), None, {"samples": "samples"}),
        (("mean", "probabilities_0"), None, {"mean": "mean", "probabilities_0": "probabilities_0"}),
    ],
)
def test_outputs_are_known_by_their_names_or_as_they_are_named(outputs, given, found, tmp_path):
    path = encoder_file(tmp_path / "e.onnx", ["n", 64], outputs=outputs)
    assert OnnxEncoder.open(path, given).outputs == found


@pytest.mark.parametrize(
    ("outputs", "given", "says"),
    [
        (("a", "b"), None, "got a, b.*--outputs mean=a"),
        (("a", "b"), {"mean": "c"}, "'c'.* a, b"),
        (("a",), {"average": "a"}, "got 'average'"),
        (("std",), {"std": "std"}, "got std"),
    ],
)
def test_outputs_that_are_not_known_are_refused_with_what_to_say(outputs, given, says, tmp_path):
    with pytest.raises(SpecError, match=says):
        OnnxEncoder.open(encoder_file(tmp_path / "e.onnx", ["n", 64], outputs=outputs), given)


def test_what_is_no_encoder_of_these_images_is_refused(images, tmp_path):
    with pytest.raises(DataError, match="1 x 16"):
        OnnxEncoder.open(encoder_file(tmp_path / "e.onnx", ["n", 1, 16, 16])).encode(images)
    with pytest.raises(SpecError, match=r"tensor\(int64\)"):
        OnnxEncoder.open(encoder_file(tmp_path / "i.onnx", ["n", 64], kind=TensorProto.INT64)).encode(images)
    with pytest.raises(SpecError, match="inputs pixels, noise"):
        OnnxEncoder.open(encoder_file(tmp_path / "n.onnx", ["n", 64], inputs=["pixels", "noise"]))
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(RunError, match="text.onnx"):
        OnnxEncoder.open(tmp_path / "text.onnx")
    with pytest.raises(DataError, match="cannot be read"):
        OnnxEncoder.open(tmp_path / "missing.onnx")


def model_file(path, nodes, outputs, shape=("n", 64)):
    """Writes a model of these nodes, from `pixels` to the output `mean` of this shape."""
    graph = helper.make_graph(
        nodes,
        "made by hand",
        [helper.make_tensor_value_info("pixels", FLOAT, shape)],
        [helper.make_tensor_value_info("mean", FLOAT, outputs)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_a_scalar_output_is_refused(images, tmp_path):
    total = helper.make_node("ReduceSum", ["pixels"], ["mean"], keepdims=0)
    with pytest.raises(CodesError, match="36 images"):
        OnnxEncoder.open(model_file(tmp_path / "e.onnx", [total], [])).encode(images)


def test_a_batch_that_no_memory_holds_is_refused_before_it_is_made(images, tmp_path):
    with pytest.raises(DataError, match="2,147,483,648"):
        OnnxEncoder.open(encoder_file(tmp_path / "e.onnx", [2**31, 64])).encode(images)


def test_a_model_that_does_not_end_is_stopped(images, tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.integrations.onnx_encoder._MAX_SECONDS", 0.3)
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["goes_on"], ["goes_on_out"]),
            helper.make_node("Identity", ["carried"], ["carried_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", FLOAT, ["n", 64]),
        ],
        [
            helper.make_tensor_value_info("goes_on_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried_out", FLOAT, ["n", 64]),
        ],
    )
    endless = [
        helper.make_node("Constant", [], ["true"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("Loop", ["", "true", "pixels"], ["mean"], body=body),
    ]
    with pytest.raises(CodesError, match="within"):
        OnnxEncoder.open(model_file(tmp_path / "e.onnx", endless, ["n", 64])).encode(images)


def test_the_std_of_latents_that_are_not_gaussian_is_left_out_and_that_is_said(images, tmp_path):
    path = encoder_file(tmp_path / "e.onnx", ["n", 64], outputs=["mean", "std"], facts={"unbraid.gaussian": "False"})
    with warned("Gaussian.*Only means"):
        codes = OnnxEncoder.open(path).encode(images)
    assert codes.std is None
    assert math.isfinite(float(codes.mean.sum()))
