"""A run in TensorBoard: read back with TensorBoard's own reader."""

import sys

import pytest

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.training.runs.finished_runs import SPEC, finish
from unbraid.errors import RunError, SpecError
from unbraid.integrations import write_tensorboard
from unbraid.training.runs import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = finish(Run.place(tmp_path_factory.mktemp("runs"), SPEC, 0), seed=0)
    run.score("sap", progress=False)
    return run


@pytest.fixture(scope="module")
def written(run, tmp_path_factory):
    return write_tensorboard(run, tmp_path_factory.mktemp("logs"), num_images=10)


def test_the_projector_has_codes_factors_and_images(run, written):
    assert written.name == run.name
    [place] = {path.parent for path in written.rglob("tensors.tsv")}
    codes = [line.split("\t") for line in (place / "tensors.tsv").read_text().splitlines()]
    assert (len(codes), len(codes[0])) == (10, run.codes().num_latents)
    assert float(codes[-1][0]) == pytest.approx(run.codes().mean[-1, 0].item(), rel=1e-5)
    header, *rows = (place / "metadata.tsv").read_text().splitlines()
    assert header.split("\t") == list(run.codes().factor_names)
    assert len(rows) == 10
    assert (place / "sprite.png").read_bytes().startswith(b"\x89PNG")
    assert "sprite" in (written / "projector_config.pbtxt").read_text()


def test_figures_scores_and_losses_are_read_by_tensorboard(run, written):
    events = EventAccumulator(str(written))
    events.Reload()
    assert {"traversal", "latents_latents", "latents_factors"} == set(events.Tags()["images"])
    assert set(events.Tags()["scalars"]) == {"loss", "scores/sap"}
    [loss] = events.Scalars("loss")
    assert (loss.step, loss.value) == (1, 9.5)
    assert events.Scalars("scores/sap")[0].value == pytest.approx(run.scores()[0].value, rel=1e-6)


def test_losses_that_a_listener_wrote_are_not_written_twice(run, tmp_path):
    events = EventAccumulator(str(write_tensorboard(run, tmp_path, losses=False)))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {"scores/sap"}


def test_mistakes_are_told(run, written, monkeypatch, tmp_path):
    with pytest.raises(RunError, match="Expected a folder"):
        write_tensorboard(run, written.parent)
    with pytest.raises(SpecError, match="num_images.* 0"):
        write_tensorboard(run, tmp_path, num_images=0)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(SpecError, match=r"tensorboard.*unbraid\[tensorboard\]"):
        write_tensorboard(run, tmp_path)
