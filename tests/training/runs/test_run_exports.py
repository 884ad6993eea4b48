"""What a run exports, and what it keeps of that."""

import pytest

from tests.integrations.quick_exports import quick_exports
from tests.told import warned
from tests.training.runs.finished_runs import SPEC, finish
from unbraid._internal import files
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import RunError
from unbraid.integrations.onnx_encoder import OnnxEncoder
from unbraid.training.runs import Run
from unbraid.training.runs.kept_exports import record_exports


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A finished run, and the two files that it was exported to."""
    folder = tmp_path_factory.mktemp("run")
    run = finish(Run.place(folder / "runs", SPEC, 3), seed=7)
    with quick_exports():
        written = run.export_onnx(folder / "exported")
    return run, written


def test_the_run_keeps_the_digests_of_what_it_exported(exported):
    run, written = exported
    assert {each.path.name: each.sha256 for each in written} == {
        name: record["sha256"] for name, record in run.exports.items()
    }
    for each in written:
        assert files.sha256(each.path) == each.sha256
    record = run.exports["encoder.onnx"]
    assert record["opset"] == 18
    assert record["largest_difference"] <= 1e-5
    assert str(run.folder.parent) not in (run.folder / "exports.json").read_text()


def test_the_exported_encoder_gives_the_codes_of_the_run(exported):
    run, (encoder, _) = exported
    images: FactorImages = run.spec.dataset.open()
    codes, ours = OnnxEncoder.open(encoder.path).encode(images), run.codes()
    assert float((codes.mean - ours.mean).abs().max()) <= 1e-5 * float(ours.mean.abs().max())
    assert float((codes.std - ours.std).abs().max()) <= 1e-5 * float(ours.std.max())
    assert codes.factors == ours.factors


def test_a_record_that_was_changed_is_refused_with_what_to_do(finished):
    (finished.folder / "exports.json").write_text("{}")
    with pytest.raises(RunError, match=r"exports.json cannot be read .*Remove it, and export the run again"):
        _ = finished.exports


def test_an_unfinished_run_has_nothing_to_export(tmp_path):
    run = Run.place(tmp_path, SPEC, 0)
    assert run.exports == {}
    with pytest.raises(RunError, match=r"is new, so it has no weights.safetensors"):
        run.export_onnx(tmp_path / "exported")


def test_digests_of_a_run_that_may_not_be_written_are_not_kept_and_that_is_said(exported, monkeypatch):
    run, written = exported
    before = run.exports

    def refuse(path, record):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(files, "write_sealed", refuse)
    with warned("The checksums of .* could not be kept"):
        assert record_exports(run.folder, written) == written
    assert run.exports == before
