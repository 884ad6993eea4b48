"""`unbraid encode`."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from unbraid.codes import Codes
from unbraid.datasets import FromArrays
from unbraid.models import encode
from unbraid.models.distributions import GaussianLatents, GroupedLatents
from unbraid.training.runs import Run
from unbraid.training.runs.run_writer import RunWriter


@pytest.fixture
def run(trained):
    return Run.open(min(trained.iterdir()))


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (5, 8, 8), dtype=np.uint8)


def test_images_in_an_npz_are_encoded_as_the_library_does(unbraid, run, images, tmp_path):
    np.savez(tmp_path / "images.npz", images=images)
    outcome = unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.npz", "--device", "cpu")
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith(f"5 codes of 2 latents are in {tmp_path / 'codes.npz'}.\n")
    expected = run.encoder()(images)
    with np.load(tmp_path / "codes.npz", allow_pickle=False) as codes:
        assert sorted(codes) == ["mean", "prior_covariance", "prior_family", "prior_mean", "std"]
        np.testing.assert_allclose(codes["mean"], expected.mean.numpy(), rtol=1e-5)
        np.testing.assert_allclose(codes["std"], expected.std.numpy(), rtol=1e-5)


def test_pictures_give_the_same_codes_and_keep_their_names(unbraid, run, images, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "readme.txt").touch()
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{number}.png")
    assert unbraid("encode", run.folder, folder, "--out", tmp_path / "codes.npz").code == 0
    with np.load(tmp_path / "codes.npz", allow_pickle=False) as codes:
        assert codes["files"].tolist() == [str(folder / f"{number}.png") for number in range(5)]
        np.testing.assert_allclose(codes["mean"], run.encoder()(images).mean.numpy(), rtol=1e-5)


def test_a_csv_has_a_row_an_image(unbraid, run, images, tmp_path):
    Image.fromarray(images[0]).save(tmp_path / "a.png")
    Image.fromarray(images[1]).save(tmp_path / "b.PNG")
    assert (
        unbraid("encode", run.folder, tmp_path / "b.PNG", tmp_path / "a.png", "--out", tmp_path / "codes.csv").code == 0
    )
    header, *rows = csv.reader((tmp_path / "codes.csv").read_text().splitlines())
    assert header == ["file", "mean_0", "mean_1", "std_0", "std_1"]
    assert [row[0] for row in rows] == [str(tmp_path / "b.PNG"), str(tmp_path / "a.png")]
    expected = run.encoder()(images[[1, 0]])
    np.testing.assert_allclose(np.array([row[1:3] for row in rows], dtype=float), expected.mean.numpy(), rtol=1e-5)


def test_factors_are_passed_on_so_that_the_codes_can_be_scored(unbraid, run, images, tmp_path):
    np.savez(tmp_path / "images.npz", images=images, factors=np.array([[0], [1], [0], [1], [0]]), factor_names=["hue"])
    assert unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.npz").code == 0
    outcome = unbraid("score", tmp_path / "codes.npz")
    assert outcome.code == 0, outcome.err
    assert "hue" in outcome.out
    assert unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.csv").code == 0
    assert (tmp_path / "codes.csv").read_text().splitlines()[0] == "mean_0,mean_1,std_0,std_1,factor:hue"
    outcome = unbraid("score", tmp_path / "codes.csv", "--metric", "mig")
    assert (outcome.code, "hue" in outcome.out) == (0, True), outcome.err


@pytest.mark.parametrize("name", ["codes.npz", "codes.safetensors", "codes.csv"])
def test_weights_and_the_order_of_values_are_kept(unbraid, run, images, tmp_path, name):
    np.savez(
        tmp_path / "images.npz",
        images=images,
        factors=np.array([[0, 2], [1, 1], [0, 0], [1, 2], [0, 1]]),
        factor_names=["shape", "size"],
        factor_ordered=[False, True],
        weights=np.array([4.0, 3.0, 2.0, 1.0, 0.0]),
    )
    assert unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / name).code == 0
    codes, expected = Codes.load(tmp_path / name), encode(run.model(), FromArrays(str(tmp_path / "images.npz")).load())
    assert codes.factors == expected.factors
    assert [labels.ordered for labels in codes.factors] == [False, True]
    assert codes.weights.float().tolist() == expected.weights.tolist()


def test_the_groups_of_a_run_are_kept_and_a_table_says_that_it_has_no_place_for_them(unbraid, run, images, tmp_path):
    latents = GroupedLatents((GaussianLatents(2), GaussianLatents(1)))
    spec = replace(run.spec, model=replace(run.spec.model, latents=latents))
    run = Run.place(tmp_path, spec, 0)
    model, writer = spec.model.build(spec.dataset.image_shape, seed=0), RunWriter(run)
    writer.begin()
    writer.keep(model, encode(model, spec.dataset.load()), seconds=1.0)
    writer.conclude()
    np.savez(tmp_path / "images.npz", images=images)
    assert unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.npz").code == 0
    assert Codes.load(tmp_path / "codes.npz").groups == run.codes().groups == ((0, 1), (2,))
    outcome = unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.csv")
    assert (outcome.code, "groups" in outcome.out) == (0, True), outcome.err
    assert Codes.load(tmp_path / "codes.csv").groups == ()


def test_an_existing_file_is_replaced_only_by_force(unbraid, run, images, tmp_path):
    np.savez(tmp_path / "images.npz", images=images)
    (tmp_path / "codes.csv").write_text("mine")
    outcome = unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.csv")
    assert (outcome.code, (tmp_path / "codes.csv").read_text()) == (2, "mine")
    assert "--force" in outcome.err
    assert unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.csv", "--force").code == 0
    assert (tmp_path / "codes.csv").read_text().startswith("mean_0")


def test_the_images_themselves_are_never_replaced(unbraid, run, images, tmp_path):
    np.savez(tmp_path / "images.npz", images=images)
    before = (tmp_path / "images.npz").read_bytes()
    outcome = unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "images.npz", "--force")
    assert (outcome.code, (tmp_path / "images.npz").read_bytes()) == (2, before)
    assert "images" in outcome.err


def test_color_is_turned_gray_for_a_run_on_gray_images(unbraid, run, tmp_path):
    color = np.zeros((1, 8, 8, 3), dtype=np.uint8)
    color[..., 1] = 200
    np.savez(tmp_path / "images.npz", images=color)
    assert unbraid("encode", run.folder, tmp_path / "images.npz", "--out", tmp_path / "codes.npz").code == 0
    gray = np.full((1, 8, 8), round(0.587 * 200), dtype=np.uint8)
    with np.load(tmp_path / "codes.npz", allow_pickle=False) as codes:
        np.testing.assert_allclose(codes["mean"], run.encoder()(gray).mean.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("what", "options", "complaint"),
    [
        (["gone.png"], [], "gone.png"),
        (["gone.npz"], [], "gone.npz"),
        (["large.npz"], [], "large.npz is 9 x 8 pixels"),
        (["large.png"], [], "large.png is 9 x 8 pixels"),
        (["text.png"], [], "text.png"),
        (["notes.txt"], [], "notes.txt"),
        (["empty"], [], "empty"),
        (["large.npz", "large.png"], [], "large.npz"),
        (["large.npz"], ["--out", "codes.mat"], ".npz, .safetensors, .csv"),
        (["large.npz"], ["--device", "gpu"], "'auto', 'cpu', 'cuda'"),
    ],
)
def test_a_mistake_is_told_in_a_line(unbraid, run, tmp_path, monkeypatch, what, options, complaint):
    monkeypatch.chdir(tmp_path)
    np.savez("large.npz", images=np.full((1, 9, 8), 200, dtype=np.uint8))
    Image.fromarray(np.zeros((9, 8), dtype=np.uint8)).save("large.png")
    for name in ("text.png", "notes.txt"):
        (tmp_path / name).write_text("hello")
    (tmp_path / "empty").mkdir()
    outcome = unbraid("encode", run.folder, *what, *options)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "codes.npz").exists()


def test_a_folder_that_is_no_run_is_refused(unbraid, tmp_path):
    outcome = unbraid("encode", tmp_path, tmp_path / "images.npz")
    assert outcome.code == 2
    assert "run" in outcome.err
