"""Single-neuron classification and knock-out: known answers, and pairing and bins by hand."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from unbraid import Codes
from unbraid.errors import CodesError, SpecError
from unbraid.metrics import SNC
from unbraid.metrics.predicting.prediction_tasks import prediction_tasks
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.selection import select
from unbraid.metrics.snc import matched_latents, named_by

QUICK = SNC(hidden=8, num_steps=60, batch_size=64, learning_rate=0.05)


def codes_of(noise=0.02, copies=False, num_images=360, seed=0):
    """Two factors on latents 1 and 0; with copies, both again on two more."""
    rng = np.random.default_rng(seed)
    v = np.stack([np.arange(num_images) % 3, np.arange(num_images) // 3 % 2], axis=1)
    mean = v[:, ::-1] + noise * rng.normal(size=v.shape)
    mean = np.concatenate([mean, mean], axis=1) if copies else mean
    return Codes.from_arrays(mean, factors={"a": v[:, 0], "b": v[:, 1]})


def test_one_latent_for_each_factor_names_it_and_nothing_is_left_without_it():
    score = QUICK(codes_of())
    assert score.value == pytest.approx(1, abs=0.05)
    assert score.tables["matched_latent"].tolist() == [1, 0]
    assert score.parts["all_latents"].value > 0.9
    # Without it a net guesses: a third and a half.
    assert score.parts["without"].value == pytest.approx(5 / 12, abs=0.12)
    difference = score.parts["all_latents"].value - score.parts["without"].value
    assert score.parts["knock_out"].value == pytest.approx(difference)


def test_where_a_copy_holds_the_same_nothing_is_knocked_out():
    score = QUICK(codes_of(copies=True))
    assert score.value == pytest.approx(1, abs=0.05)
    assert score.parts["knock_out"].value == pytest.approx(0, abs=0.1)


def test_a_latent_that_names_two_factors_is_given_to_one_of_them():
    """The other has no latent, and is named by its most frequent value."""
    a, b = np.arange(120) // 2 % 2, np.arange(120) % 2
    score = QUICK(Codes.from_arrays((2.0 * a + b)[:, None], factors={"a": a, "b": b}))
    assert sorted(math.isnan(j) for j in score.tables["matched_latent"].tolist()) == [False, True]
    assert score.value < 0.85


def test_pairs_and_bins_are_those_by_hand():
    codes = codes_of(noise=0.7, copies=True)
    tasks = prediction_tasks(Statistics(codes), 10_000, 5_000, 0).values()
    tables, found = [], []
    for task in tasks:
        labels, num_values = task.train_labels.numpy(), len(task.train_labels.unique())
        row, accuracies = [], []
        for j in range(4):
            ranked = np.sort(task.train_codes[:, j].numpy())
            cuts = ranked[[i * len(ranked) // num_values for i in range(1, num_values)]]
            bins, tested = (np.digitize(z[:, j].numpy(), cuts) for z in (task.train_codes, task.test_codes))
            counts = np.array(
                [[((bins == b) & (labels == v)).sum() for v in range(num_values)] for b in range(num_values)]
            )
            row.append(entropy(counts.sum(0)) + entropy(counts.sum(1)) - entropy(counts.flatten()))
            orders = itertools.permutations(range(num_values))
            best = max(orders, key=lambda order, counts=counts: sum(counts[b, v] for b, v in enumerate(order)))
            accuracies.append((np.array(best)[tested] == task.test_labels.numpy()).mean())
        tables.append(row)
        found.append(accuracies)
    pairs = max(itertools.permutations(range(4), 2), key=lambda pair: sum(tables[k][j] for k, j in enumerate(pair)))
    assert tuple(matched_latents(list(tasks))) == pairs
    for k, task in enumerate(tasks):
        for j in range(4):
            assert float(named_by(task, j).mean()) == pytest.approx(found[k][j])


def permuted(task, order):
    codes, labels = (part[order] for part in (task.train_codes, task.train_labels))
    return dataclasses.replace(task, train_codes=codes, train_labels=labels)


@pytest.mark.parametrize("seed", range(3))
def test_neither_the_order_of_rows_nor_a_rising_function_of_a_latent_changes_what_it_names(seed):
    tasks = prediction_tasks(Statistics(codes_of(noise=0.7, copies=True, seed=seed)), 10_000, 5_000, seed)
    for task in tasks.values():
        turned = permuted(task, torch.from_numpy(np.random.default_rng(seed).permutation(len(task.train_labels))))
        bent = dataclasses.replace(task, train_codes=task.train_codes.exp(), test_codes=task.test_codes.exp())
        for other in (turned, bent):
            assert matched_latents([other]) == matched_latents([task])
            assert all(torch.equal(named_by(other, j), named_by(task, j)) for j in range(4))


def test_cuts_through_equal_means_are_told():
    """Ten whole numbers, by chance not equally frequent: a tenth of the rows ends within the first, and so on."""
    v = np.random.default_rng(2).integers(0, 10, 300)
    score = QUICK(Codes.from_arrays(v[:, None] + 0.0, factors={"v": v}))
    assert score.value < 0.9
    assert "equal means (v)" in score.notes[0]
    assert QUICK(codes_of()).notes == ()


def test_it_is_computed_where_it_is_asked_for_by_name():
    assert "snc" not in select("all").metrics


def test_nets_have_units_and_classes_have_rows():
    with pytest.raises(SpecError, match="hidden is 0"):
        SNC(hidden=0)
    with pytest.raises(CodesError, match="SNC: factor 'v'"):
        QUICK(Codes.from_arrays(np.arange(30.0)[:, None], factors={"v": np.arange(30)}))
