"""Training on biased samples and on subsets: the batches, the estimators and the codes all see p(n)."""

import math
from dataclasses import replace

import pytest
import torch

from tests.training.squares import MLP_SPEC, PACKAGES, Squares, result
from unbraid.datasets.subsets import ChosenValues, HeldOutCombinations, RandomSplit
from unbraid.datasets.weights import ChenDesign
from unbraid.errors import SpecError
from unbraid.metrics import MIG
from unbraid.models import encode
from unbraid.objectives import BetaTCVAE
from unbraid.training import TrainingOptions, train
from unbraid.training.fleet import Fleet
from unbraid.training.runs import Run
from unbraid.training.state import Member

DESIGN = ChenDesign("D", ("row", "column"))
SPEC = replace(MLP_SPEC, num_steps=12, sampling=DESIGN, objective=BetaTCVAE(estimator="stratified_pairs"))


def inputs_at(fleet, step):
    """What the members see at this step."""
    fleet.restore([replace(fleet.state(index), step=step) for index in range(len(fleet.members))])
    return fleet._steps._loss_inputs(fleet._steps.step_inputs(fleet._static_inputs()))


def seen_rows(spec, num_steps):
    """The factors of the images in each batch, from the white square in them."""
    fleet = Fleet([Member(spec, 0)], spec.training_data.load())
    rows = []
    for step in range(num_steps):
        x = inputs_at(fleet, step).x["first"][0, :, 0]
        rows.append(torch.stack([x.amax(dim=2).argmax(dim=1), x.amax(dim=1).argmax(dim=1)], dim=1))
    return torch.cat(rows)


def test_batches_are_drawn_as_the_table_says():
    seen = seen_rows(replace(SPEC, batch_size=36), 300)
    counts = torch.zeros(6, 6, dtype=torch.float64).index_put_(
        tuple(seen.T), torch.ones(len(seen), dtype=torch.float64), accumulate=True
    )
    expected = DESIGN.table((6, 6)) * len(seen)
    # Chi squared with 35 degrees of freedom is below 73 but for one time in ten thousand.
    assert float(((counts - expected).square() / expected).sum()) < 73


def test_the_estimators_are_told_how_likely_the_images_of_the_batch_are():
    fleet, images = Fleet([Member(SPEC, 0), Member(SPEC, 1)], SPEC.training_data.load()), SPEC.training_data.load()
    weights = inputs_at(fleet, 0).weights["first"]
    assert weights.shape == (2, 8)
    assert set(weights.flatten().tolist()) <= set(images.weights.tolist())


def test_a_run_keeps_the_weights_with_its_codes_and_its_scores_honor_them(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path)
    codes = Run.open(run.folder, packages=PACKAGES).codes()
    torch.testing.assert_close(codes.weights.reshape(6, 6), DESIGN.table((6, 6)), rtol=1e-12, atol=0)
    score = run.score([MIG()]).scores[0]
    assert score.value == MIG()(codes).value != MIG()(replace(codes, weights=None)).value


def test_a_run_on_a_subset_has_the_codes_of_the_subset_and_the_rest_can_be_encoded(tmp_path):
    subset = HeldOutCombinations(("row", "column"), ((0, 0), (5, 5)))
    [run] = train([replace(SPEC, sampling=None, subset=subset)], [0], folder=tmp_path)
    codes = run.codes()
    assert len(codes) == 34
    assert [labels.values.tolist()[0] for labels in codes.factors] == [0, 1]
    held_out = encode(run.model(), replace(run.spec.training_data, subset=replace(subset, part="test")).open())
    assert [labels.values.tolist() for labels in held_out.factors] == [[0, 5], [0, 5]]


def test_a_subset_is_what_its_images_alone_would_be():
    """Training on a subset is training on a dataset that has no other images."""
    rows, images = torch.arange(36)[torch.arange(36) % 6 < 4], Squares().load()
    spec = replace(MLP_SPEC, subset=ChosenValues("column", (0, 1, 2, 3)))
    of_subset = Fleet([Member(spec, 0)], spec.training_data.load())
    alone = Fleet(
        [Member(MLP_SPEC, 0)],
        replace(images, pixels=images.pixels[rows], factors=tuple(labels[rows] for labels in images.factors)),
    )
    for _ in range(5):
        of_subset.advance()
        alone.advance()
    assert torch.equal(of_subset.weights, alone.weights)


def test_a_run_with_sampling_and_subset_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    spec = replace(SPEC, subset=RandomSplit(0.8), batch_size=6)
    [whole] = train([spec], [0], folder=tmp_path / "whole")

    def stop(event):
        if event.about == "training" and event.done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train([spec], [0], folder=tmp_path / "stopped", options=TrainingOptions(checkpoint_every=3), watch=stop)
    [resumed] = train([spec], [0], folder=tmp_path / "stopped", resume=True)
    assert result(whole) == result(resumed)


def test_specs_that_sample_differently_train_in_fleets_of_their_own(tmp_path):
    specs = [replace(SPEC, sampling=ChenDesign(design, ("row", "column")), num_steps=2) for design in "AD"]
    runs = train(specs, [0], folder=tmp_path)
    entropies = [float(-torch.xlogy(run.codes().weights, run.codes().weights).sum()) for run in runs]
    assert entropies[0] == pytest.approx(math.log(36), abs=1e-12)
    assert entropies[1] < entropies[0]


def test_a_batch_larger_than_the_subset_leaves_no_run_behind(tmp_path):
    with pytest.raises(SpecError, match="at most 6"):
        train([replace(MLP_SPEC, subset=ChosenValues("row", (0,)))], [0], folder=tmp_path)
    assert not list(tmp_path.iterdir())
