"""`unbraid train` with --sampling and --subset."""

import pytest

from tests.words import words
from unbraid.cli.build import build
from unbraid.datasets.subsets import ChosenValues, HeldOutCombinations, RandomSplit, RowRange, Threshold
from unbraid.datasets.weights import ChenDesign, Correlated, JointTable, Product
from unbraid.errors import SpecError
from unbraid.training.runs import Run, RunSpec


def specs(**given: str) -> list[RunSpec]:
    """Built as if typed: `subset__part="test"` is `--subset.part test`."""
    return build(RunSpec, {path.replace("__", "."): [value] for path, value in given.items()})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"sampling": "correlated", "sampling__factors": "position_x,position_y", "sampling__strength": "0.2"},
            Correlated(("position_x", "position_y"), 0.2),
        ),
        (
            {"sampling": "chen-design", "sampling__design": "C", "sampling__factors": "position_x,scale"},
            ChenDesign("C", ("position_x", "scale")),
        ),
        (
            {"sampling": "joint-table", "sampling__factors": "shape", "sampling__probabilities": "1,2,1"},
            JointTable(("shape",), (1.0, 2.0, 1.0)),
        ),
        (
            {
                "sampling": "product",
                "sampling__joints": "correlated:shape,scale:0.1;chen-design:D:position_x,position_y",
            },
            Product((Correlated(("shape", "scale"), 0.1), ChenDesign("D", ("position_x", "position_y")))),
        ),
    ],
)
def test_a_joint_is_named_and_its_fields_follow(given, expected):
    [spec] = specs(dataset="dsprites", **given)
    assert spec.sampling == expected
    assert spec.subset is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"subset": "random-split", "subset__fraction": "0.8", "subset__seed": "3"}, RandomSplit(0.8, 3)),
        ({"subset": "row-range", "subset__stop": "1000", "subset__part": "test"}, RowRange(0, 1000, "test")),
        (
            {"subset": "chosen-values", "subset__factor": "shape", "subset__values": "0,2"},
            ChosenValues("shape", (0, 2)),
        ),
        (
            {"subset": "chosen-values", "subset__factor": "shape", "subset__fraction": "0.8"},
            ChosenValues("shape", fraction=0.8),
        ),
        (
            {"subset": "threshold", "subset__factor": "scale", "subset__side": "above", "subset__value": "3"},
            Threshold("scale", "above", 3.0),
        ),
        (
            {"subset": "held-out-combinations", "subset__factors": "shape,scale", "subset__combinations": "0,1;2,3"},
            HeldOutCombinations(("shape", "scale"), ((0, 1), (2, 3))),
        ),
        (
            {"subset": "held-out-combinations", "subset__factors": "shape,position_x", "subset__boxes": "2,2,16,31"},
            HeldOutCombinations(("shape", "position_x"), boxes=((2, 2, 16, 31),)),
        ),
    ],
)
def test_a_subset_is_named_and_its_fields_follow(given, expected):
    [spec] = specs(dataset="dsprites", **given)
    assert spec.subset == expected


def test_a_strength_takes_several_values():
    found = specs(
        dataset="dsprites", sampling="correlated", sampling__factors="shape,scale", sampling__strength="0.2,0.4,0.7"
    )
    assert [spec.sampling.strength for spec in found] == [0.2, 0.4, 0.7]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampling": "corelated"}, r"--sampling is 'corelated'\. Did you mean 'correlated'"),
        ({"sampling": "correlated", "sampling__strength": "0.2"}, "--sampling.factors .*--sampling correlated"),
        ({"sampling__strength": "0.2"}, r"--sampling.strength .* --sampling\."),
        ({"subset__fraction": "0.2"}, r"--subset.fraction .* --subset\."),
        ({"subset": "random-split", "subset__stop": "5"}, "--subset.stop .*--subset is random-split.* row-range"),
        ({"sampling": "uniform", "sampling__factors": "hue"}, "no factor 'hue'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_way_out(given, message):
    with pytest.raises(SpecError, match=message):
        specs(dataset="dsprites", **given)


def test_a_model_is_trained_on_biased_samples_of_a_subset(unbraid, tiny, tmp_path):
    outcome = unbraid(
        "train",
        *tiny,
        *words("--sampling uniform --sampling.factors scale --subset random-split --subset.fraction 0.75 --out"),
        tmp_path,
    )
    assert outcome.code == 0, outcome.err
    [run] = [Run.open(path) for path in tmp_path.iterdir() if (path / "spec.json").exists()]
    codes = run.codes()
    assert len(codes) == round(0.75 * run.spec.dataset.num_images)
    assert codes.weights is not None
    assert "(fraction 0.75)" in " ".join(outcome.out.split())


def test_help_lists_the_fields_of_both(unbraid):
    outcome = unbraid("train", "--sampling", "uniform", "--subset", "held-out-combinations", "--help")
    assert "Fields of --sampling" in outcome.out
    assert "--subset" in outcome.out
    assert "--subset.combinations" in outcome.out
