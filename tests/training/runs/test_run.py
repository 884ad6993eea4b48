"""A run reads what its folder holds, and notices what was changed."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

import unbraid
from tests.training.runs.finished_runs import SPEC, fail, finish
from tests.training.squares import CONV_SPEC, MLP_SPEC, PACKAGES
from unbraid._internal import files
from unbraid.errors import DataError, RunError, SpecError, UnbraidError
from unbraid.metrics import MIG
from unbraid.objectives import VAE
from unbraid.training.runs import Run
from unbraid.training.runs.run_folder import Failure, RunFolder
from unbraid.training.runs.run_writer import RunWriter


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_run_is_placed_by_what_it_is(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    assert run.folder == tmp_path / f"beta-tcvae-{SPEC.digest}-seed3"
    assert run.name == run.folder.name
    assert not run.folder.exists()
    others = [Run.place(tmp_path, SPEC, 4), Run.place(tmp_path, replace(SPEC, batch_size=9), 3)]
    assert run.folder not in [other.folder for other in others]


def test_a_run_is_new_then_unfinished_then_finished(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    assert run.status == "new"
    RunWriter(run).begin()
    assert run.status == "unfinished"
    finish(run, seed=3)
    assert run.status == "finished"


def test_a_run_says_which_version_made_it(tmp_path, monkeypatch):
    run = Run.place(tmp_path, SPEC, 3)
    assert run.version is None
    RunWriter(run).begin()
    assert run.version == unbraid.__version__
    assert json.loads((run.folder / "spec.json").read_text())["digest"] == SPEC.digest
    monkeypatch.setattr("unbraid.training.runs.run_writer.__version__", "9.9")
    RunWriter(Run.place(tmp_path, SPEC, 4)).begin()
    assert Run.place(tmp_path, SPEC, 4).version == "9.9"


def test_or_it_fails(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    assert run.failure is None
    kept = run.folder / "checkpoints" / "last-good-0000000016.safetensors"
    fail(run, 17, "its loss was not finite (nan)", kept)
    assert run.status == "failed"
    assert json.loads((run.folder / "failed.json").read_text()) == {
        "step": 17,
        "reason": "its loss was not finite (nan)",
        "last_good": "checkpoints/last-good-0000000016.safetensors",
        "fleet": [],
        "sha256": {"spec.json": files.sha256(run.folder / "spec.json")},
    }
    assert run.failure == Failure(17, "its loss was not finite (nan)", kept)
    assert run.steps_done == 16


def test_how_far_it_is_is_told_by_its_newest_checkpoint(tmp_path, finished):
    run = Run.place(tmp_path, SPEC, 4)
    RunWriter(run).begin()
    assert run.steps_done == 0
    (run.folder / "checkpoints").mkdir()
    for step in (7, 12):
        (run.folder / "checkpoints" / f"step-{step:010d}.json").touch()
    assert run.steps_done == 12
    assert finished.steps_done == SPEC.num_steps


@pytest.mark.parametrize(
    "name", ["step-0000000012 (1).json", "step-0000000012.json.bak", "step-twelve.json", "step-.json"]
)
def test_files_that_are_no_checkpoints_do_not_tell_how_far_it_is(tmp_path, name):
    run = Run.place(tmp_path, SPEC, 4)
    RunWriter(run).begin()
    (run.folder / "checkpoints").mkdir()
    for each in ("step-0000000007.json", name):
        (run.folder / "checkpoints" / each).touch()
    assert run.steps_done == 7


@pytest.mark.parametrize(
    "content",
    [
        '{"step": "x"}',
        '{"step": null}',
        '{"step": 1.5}',
        '{"step": true}',
        '{"step": [3]}',
        '{"step": NaN}',
        '{"step": 1, "reason": 7}',
        '{"step": 1, "last_good": ["x"]}',
        "[" * 900 + "]" * 900,
    ],
)
def test_a_failure_that_makes_no_sense_is_refused_by_its_file(tmp_path, content):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    (run.folder / "failed.json").write_text(content)
    for read in (lambda run: run.failure, lambda run: run.steps_done, Run.model):
        with pytest.raises(RunError, match=r"failed\.json .*--force"):
            read(run)


def test_a_run_is_read_back(finished):
    assert Run.open(finished.folder, packages=PACKAGES) == finished


def test_the_versions_that_made_it_are_kept(finished):
    content = json.loads((finished.folder / "spec.json").read_text())
    assert (content["unbraid"], content["torch"]) == (unbraid.__version__, torch.__version__)


def test_a_run_may_be_moved(finished, tmp_path):
    moved = finished.folder.rename(tmp_path / "elsewhere")
    run = Run.open(moved, packages=PACKAGES)
    assert (run.spec, run.seed, run.status) == (SPEC, 3, "finished")
    assert len(run.codes()) == 36


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match="no spec.json"):
        Run.open(tmp_path)


def test_a_format_of_the_future_is_refused_by_its_number(finished):
    path = finished.folder / "spec.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(RunError, match="99"):
        Run.open(finished.folder, packages=PACKAGES)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"format": 1}', "\x00\xff", "[" * 200_000])
def test_a_spec_that_is_none_is_refused(finished, content):
    (finished.folder / "spec.json").write_text(content, encoding="latin-1")
    with pytest.raises(RunError, match="spec.json"):
        Run.open(finished.folder, packages=PACKAGES)


def test_a_spec_that_is_nested_without_end_is_refused(finished):
    path = finished.folder / "spec.json"
    content = json.loads(path.read_text())
    content["spec"]["dataset"] = json.loads('{"a":' * 200 + "1" + "}" * 200)
    path.write_text(json.dumps(content | {"sha256": files.seal(content)}))
    with pytest.raises(UnbraidError, match=r"spec\.json"):
        Run.open(finished.folder, packages=PACKAGES)


@pytest.mark.parametrize("changed", [{"seed": "../../x"}, {"seed": 1.5}, {"seed": None}, {"spec": None}, {"spec": 3}])
def test_nor_is_a_sealed_spec_that_makes_no_sense(finished, changed):
    path = finished.folder / "spec.json"
    content = json.loads(path.read_text()) | changed
    path.write_text(json.dumps(content | {"sha256": files.seal(content)}))
    with pytest.raises(SpecError, match="spec.json"):
        Run.open(finished.folder, packages=PACKAGES)


@pytest.mark.parametrize("name", ["digest", "unbraid"])
def test_nor_does_one_without_its_digest_or_version_have_any(finished, name):
    path = finished.folder / "spec.json"
    content = json.loads(path.read_text())
    del content[name]
    path.write_text(json.dumps(content | {"sha256": files.seal(content)}))
    with pytest.raises(RunError, match=name):
        _ = finished.digest if name == "digest" else finished.version


def test_no_flipped_bit_of_the_spec_goes_unnoticed(finished):
    # A spec with another learning rate would be as readable, and a seed with another digit too.
    path = finished.folder / "spec.json"
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(UnbraidError):
            Run.open(finished.folder, packages=PACKAGES)


def test_the_model_is_the_one_that_was_kept(finished):
    expected = SPEC.model.build(SPEC.dataset.image_shape, seed=7).state_dict()
    kept = finished.model().state_dict()
    assert kept.keys() == expected.keys()
    assert all(torch.equal(kept[name], expected[name]) for name in expected)


def test_the_model_decodes_codes_to_images(finished):
    images = finished.model().decode(torch.zeros(5, 3))
    assert not images.requires_grad
    assert images.shape == (5, 1, 8, 8)
    assert 0 <= float(images.min()) <= float(images.max()) <= 1


def test_the_codes_are_those_of_every_image_with_its_factors(finished):
    codes, images = finished.codes(), SPEC.dataset.load()
    posterior = SPEC.model.build(SPEC.dataset.image_shape, seed=7).encode(images.batch(torch.arange(36)))
    assert torch.equal(codes.mean, posterior.mean)
    assert torch.equal(codes.std, posterior.std)
    assert codes.factor_names == ("row", "column")
    assert torch.equal(codes.factors[1].values, images.values[:, 1])


def test_the_encoder_takes_new_images_as_arrays(finished):
    pixels = SPEC.dataset.load().pixels.numpy()
    encoder, codes = finished.encoder(), finished.codes()
    for images in (pixels, pixels[:, 0], np.moveaxis(pixels, 1, 3), pixels / 255, torch.from_numpy(pixels)):
        assert torch.equal(encoder(images).mean, codes.mean)
        assert torch.equal(encoder(images).std, codes.std)
    assert len(encoder(pixels[:1])) == 1


@pytest.mark.parametrize("shape", [(2, 4, 16), (2, 16, 4), (2, 9, 9), (2, 9, 9, 3)])
def test_images_of_another_size_are_refused(finished, shape):
    with pytest.raises(DataError, match=r"8 x 8\."):
        finished.encoder()(np.zeros(shape, dtype=np.uint8))


def test_nets_that_would_take_them_do_not_get_them(tmp_path):
    run = finish(Run.place(tmp_path, CONV_SPEC, 3), seed=7)
    with pytest.raises(DataError, match="33 x 33"):
        run.encoder()(np.zeros((2, 33, 33), dtype=np.uint8))


def test_a_double_run_gives_a_double_model(tmp_path):
    run = finish(Run.place(tmp_path, MLP_SPEC, 3), seed=7)
    assert next(run.model().parameters()).dtype == torch.float64
    assert run.encoder()(MLP_SPEC.dataset.load().pixels).mean.dtype == torch.float64


@pytest.mark.parametrize(("name", "read"), [("weights.safetensors", Run.model), ("codes.safetensors", Run.codes)])
@pytest.mark.parametrize("place", [0, 100, -1])
def test_a_changed_byte_is_noticed(finished, name, read, place):
    flip(finished.folder / name, place)
    with pytest.raises(RunError, match=name):
        read(finished)


@pytest.mark.parametrize(("name", "read"), [("weights.safetensors", Run.model), ("codes.safetensors", Run.codes)])
def test_so_is_a_missing_file(finished, name, read):
    (finished.folder / name).unlink()
    with pytest.raises(RunError, match=name):
        read(finished)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("weights.safetensors", Run.model),
        ("codes.safetensors", Run.codes),
        ("history.csv", lambda run: run.history),
        ("spec.json", lambda run: Run.open(run.folder)),
        ("scores.json", Run.scores),
        ("finished.json", Run.model),
    ],
)
def test_so_is_a_folder_in_place_of_a_file(finished, name, read):
    (finished.folder / name).unlink(missing_ok=True)
    (finished.folder / name).mkdir()
    with pytest.raises(RunError, match=name):
        read(finished)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"sha256": {}}', '{"sha256": [1]}', '{"sha256": "x"}'])
def test_so_is_a_finished_json_that_vouches_for_nothing(finished, content):
    (finished.folder / "finished.json").write_text(content)
    with pytest.raises(RunError):
        finished.model()


def test_what_an_unfinished_run_does_not_have_is_refused_with_what_to_do(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    for read in (Run.model, Run.codes, Run.encoder, lambda run: run.score([MIG()])):
        with pytest.raises(RunError, match="is unfinished.*--resume"):
            read(run)
    assert run.history.rows == []
    assert run.scores() == []


def test_nor_is_a_failed_run_to_be_resumed(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    fail(run, 17)
    with pytest.raises(RunError, match=re.escape(run.failure.reason)):
        run.model()


def test_a_run_without_checksums_has_none_to_check(tmp_path):
    run = Run.place(tmp_path, SPEC, 3)
    RunWriter(run).begin()
    with pytest.raises(RunError, match="no recorded checksum") as raised:
        RunFolder(run.folder).check(run.folder / "spec.json")
    assert "unfinished.json" not in str(raised.value)


@pytest.mark.parametrize("how", ["finished", "failed"])
def test_the_spec_of_another_seed_is_refused(tmp_path, how):
    run, other = (Run.place(tmp_path, SPEC, seed) for seed in (3, 4))
    if how == "finished":
        finish(run, seed=7)
    else:
        RunWriter(run).begin()
        fail(run, 17)
    RunWriter(other).begin()
    shutil.copy(other.folder / "spec.json", run.folder)
    with pytest.raises(RunError, match=r"spec\.json"):
        Run.open(run.folder, packages=PACKAGES)


def test_a_run_of_another_objective_is_named_after_it(tmp_path):
    assert Run.place(tmp_path, replace(SPEC, objective=VAE()), 0).name.startswith("vae-")


def test_a_traversal_starts_from_images_of_the_data_and_is_ordered_by_a_score(finished):
    model, codes = finished.model(), finished.codes()
    made = finished.traverse([2, 5], latents=[0, 1], num_frames=3, range=(-1, 1), order_by="informativeness")
    (score,) = finished.scores()
    expected = unbraid.traverse(
        model, codes, images=[2, 5], latents=[0, 1], num_frames=3, range=(-1, 1), order_by=score
    )
    assert (made.labels, made.caption) == (expected.labels, "Informativeness")
    assert (made.array() == expected.array()).all()
    assert (finished.traverse(grid=(0, 1)).array() == unbraid.traverse(model, codes, grid=(0, 1)).array()).all()


def test_a_traversal_starts_from_images_of_ones_own(finished):
    images = finished.spec.dataset.load().batch(torch.arange(2))
    made = finished.traverse(images, latents=1)
    # A batch of two is multiplied in another order than that of all images.
    np.testing.assert_allclose(made.array(), finished.traverse([0, 1], latents=1).array(), rtol=1e-5)
    assert made.labels == ("z1, image 0", "z1, image 1")
