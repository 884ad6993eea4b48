"""`unbraid export`, and `unbraid score --encoder`."""

import shutil

import pytest

from tests.integrations.quick_exports import quick_exports
from tests.words import words
from unbraid.codes import Codes
from unbraid.training.runs import Run

pytestmark = pytest.mark.usefixtures("_few_metrics")

DATASET = words(
    "--dataset dsprites --dataset.resolution 8 --dataset.shapes heart,square --dataset.num-scales 2 "
    "--dataset.num-orientations 1 --dataset.num-positions 4"
)


@pytest.fixture(scope="module")
def exported(_trained_once, tmp_path_factory):
    """The encoder of a run, written by the command line."""
    from unbraid.cli import main

    folder, original = tmp_path_factory.mktemp("exported"), min(_trained_once.iterdir())
    # A copy, which these tests may score: others count the scores of the original.
    run = shutil.copytree(original, tmp_path_factory.mktemp("runs") / original.name)
    with quick_exports(), pytest.raises(SystemExit) as left:
        main(["export", str(run), "--out", str(folder)])
    assert left.value.code == 0
    return run, folder


def test_a_run_is_exported_once_and_says_what_it_wrote(unbraid, exported):
    run, folder = exported
    assert sorted(path.name for path in folder.iterdir()) == ["decoder.onnx", "encoder.onnx"]
    again = unbraid("export", run, "--out", folder)
    assert again.code == 2
    assert "exists. Name another" in again.err


def test_an_encoder_is_scored_in_one_command_as_its_run_is(unbraid, exported, tmp_path):
    run, folder = exported
    outcome = unbraid(
        "score", "--encoder", folder / "encoder.onnx", *DATASET, "--metrics", "mig", "--save", tmp_path / "scores.json"
    )
    assert outcome.code == 0, outcome.err
    assert "Encoding 64" in outcome.out
    (ours,) = Run.open(run).score("mig", progress=False).scores
    from unbraid import Scorecard

    (theirs,) = Scorecard.load(tmp_path / "scores.json").scores
    assert theirs.value == pytest.approx(ours.value, abs=1e-6)


def test_a_fraction_of_the_images_is_encoded_alone(unbraid, exported):
    _, folder = exported
    outcome = unbraid("score", "--encoder", folder / "encoder.onnx", *DATASET, *words("--fraction 0.5 --metrics mig"))
    assert outcome.code == 0, outcome.err
    assert "Encoding 32" in outcome.out
    assert "random (50" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "nothing to score"),
        ("--encoder e.onnx", "--dataset dsprites"),
        ("codes.npz --dataset dsprites", "--encoder"),
        ("--encoder e.onnx --dataset dsprites --outputs mean", "--outputs is 'mean'"),
        ("--encoder e.onnx --dataset dsprites", "e.onnx"),
        ("--encoder e.pt2 --dataset dsprites", "e.pt2"),
    ],
)
def test_what_does_not_go_together_is_refused_before_any_work(unbraid, arguments, says):
    outcome = unbraid("score", *words(arguments))
    assert outcome.code == 2
    assert says in " ".join(outcome.err.split())


def test_files_of_codes_and_encoders_are_scored_side_by_side(unbraid, exported, arrays, tmp_path):
    _, folder = exported
    Codes.from_arrays(**arrays).save(tmp_path / "codes.npz")
    outcome = unbraid(
        "score", tmp_path / "codes.npz", "--encoder", folder / "encoder.onnx", *DATASET, "--metrics", "mig"
    )
    assert outcome.code == 0, outcome.err
    assert "encoder.onnx" in outcome.out
    assert "codes.npz" in outcome.out
