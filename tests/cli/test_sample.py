"""`unbraid sample`."""

import numpy as np
import pytest
from PIL import Image

from tests.training.short_runs import SPEC, stopped
from unbraid.training.runs import Run


@pytest.fixture
def run(trained):
    return Run.open(min(trained.iterdir()))


def test_an_npz_holds_the_bytes_of_the_samples(unbraid, run, tmp_path):
    out = tmp_path / "samples.npz"
    outcome = unbraid("sample", run.folder, "--num-images", 5, "--seed", 3, "--out", out, "--device", "cpu")
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith(f"5 images are in {out}.\n")
    expected = (run.model().sample(5, seed=3) * 255).round().byte().numpy()
    with np.load(out, allow_pickle=False) as found:
        assert np.array_equal(found["images"], expected)
    assert unbraid("encode", run.folder, out, "--out", tmp_path / "codes.npz").code == 0


def test_a_png_shows_them_side_by_side(unbraid, run, tmp_path):
    assert unbraid("sample", run.folder, "--num-images", 10, "--out", tmp_path / "samples.png").code == 0
    with Image.open(tmp_path / "samples.png") as picture:
        # Three rows of four, each 64 pixels with two between them.
        assert picture.size == (4 * 66 - 2, 3 * 66 - 2)


def test_a_run_in_training_draws_with_its_newest_checkpoint_and_says_so(unbraid, tmp_path):
    (stopped_run,) = stopped([SPEC], [0], tmp_path / "runs", 4)
    sampling = ("sample", stopped_run.folder, "--out", tmp_path / "samples.png", "--packages", "tests")
    outcome = unbraid(*sampling, "--num-images", 2)
    assert outcome.code == 0, outcome.err
    assert f"{stopped_run.name} is unfinished" in outcome.err
    assert "step 4" in outcome.err


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--out", "samples.jpg"], "ends in .png, .npz"),
        (["--out", "there.png"], "there.png, which exists"),
        (["--num-images", "1025"], "1024"),
        (["--num-images", "0"], "--num-images"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, run, tmp_path, monkeypatch, flags, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.png").touch()
    outcome = unbraid("sample", run.folder, *flags)
    assert outcome.code == 2
    assert complaint in outcome.err
