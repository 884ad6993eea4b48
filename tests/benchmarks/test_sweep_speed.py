"""The benchmark trains the fleets of a sweep alone and at once, and compares how much is done in a second."""

import io
import json

import pytest

from benchmarks.sweep_speed import SHARED, Turn, examples, fleet_here, seconds_of_sweep, speed


def test_a_fleet_trains_when_it_is_told_to_and_says_what_it_did(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("0.001\n0.001\n"))
    fleet_here(["beta-VAE 1", "beta-VAE 4"], "cpu", "smoke")
    made, *turns = map(json.loads, capsys.readouterr().out.splitlines())
    assert made["num_models"] == 2
    assert len(turns) == 2
    assert all(Turn(**turn).milliseconds > 0 for turn in turns)


def test_fleets_that_do_not_hinder_each_other_are_as_much_faster_as_there_are_fleets():
    by_themselves = {"a": 2.0, "b": 3.0}
    assert speed(by_themselves, by_themselves) == 2.0
    assert speed({"a": 4.0, "b": 6.0}, by_themselves) == pytest.approx(1.0)


def test_every_setting_of_the_sweep_is_counted_once():
    steps = dict.fromkeys(examples("quick").values(), 1.0) | dict.fromkeys(SHARED, 5.0)
    single, shared = seconds_of_sweep(steps, 1000, "quick")
    assert single == sum(len(labels) for labels in SHARED.values())
    assert shared == 15.0
