"""Exports of a run."""

import pytest

from tests.integrations.quick_exports import quick_exports
from tests.training.runs.finished_runs import SPEC, finish
from unbraid._internal import files
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import RunError
from unbraid.integrations.onnx_encoder import OnnxEncoder
from unbraid.training.runs import Run


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A finished run, and the two files that it was exported to."""
    folder = tmp_path_factory.mktemp("run")
    run = finish(Run.place(folder / "runs", SPEC, 3), seed=7)
    with quick_exports():
        written = run.export_onnx(folder / "exported")
    return run, written


def test_the_checksums_of_the_written_files_are_returned(exported):
    _, written = exported
    for each in written:
        assert files.sha256(each.path) == each.sha256
    assert written[0].opset == 18
    assert written[0].largest_difference <= 1e-5


def test_the_exported_encoder_gives_the_codes_of_the_run(exported):
    run, (encoder, _) = exported
    images: FactorImages = run.spec.dataset.open()
    codes, ours = OnnxEncoder.open(encoder.path).encode(images), run.codes()
    assert float((codes.mean - ours.mean).abs().max()) <= 1e-5 * float(ours.mean.abs().max())
    assert float((codes.std - ours.std).abs().max()) <= 1e-5 * float(ours.std.max())
    assert codes.factors == ours.factors


def test_an_unfinished_run_has_nothing_to_export(tmp_path):
    run = Run.place(tmp_path, SPEC, 0)
    with pytest.raises(RunError, match="weights.safetensors"):
        run.export_onnx(tmp_path / "exported")
