"""The benchmark has the rows of the issue, measures fleet and loop, and says which limits are met."""

import inspect
import json

import pytest
import torch

from benchmarks import fleet_speed
from benchmarks.evidence import SMALL_SPRITES
from benchmarks.fleet_speed import Loop, Measured, Row, every_row, main
from unbraid import MLP, VAE, Autoencoder, RunSpec, models

pytestmark = pytest.mark.slow

ROW = Row("VAE, small", RunSpec(SMALL_SPRITES, Autoencoder(MLP((8,), (8,))), VAE(), batch_size=16), 2, 0.5, 0.25)


def test_the_nets_of_the_library_have_rows():
    nets = {cls for _, cls in inspect.getmembers(models, inspect.isclass) if issubclass(cls, models.Architecture)}
    of_nets = [row for row in every_row(small=True) if row.name.startswith("net ")]
    measured = {type(row.spec.model.encoder) for row in of_nets}
    assert len(measured) >= 12
    assert measured <= nets
    assert all(row.required is None for row in of_nets)


def test_small_rows_are_measured_at_the_precisions_that_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(fleet_speed, "every_row", lambda *, small: [ROW])
    with torch.random.fork_rng():  # the textbook draws from it
        main(["--small", "--precisions", "float32", "tf32", "--out", str(tmp_path / "speed")])
    measured = json.loads((tmp_path / "speed.json").read_text())["measured"]
    assert [each["precision"] for each in measured] == ["float32", "tf32"]
    assert all(each["fleet_ms"] > 0 < each["loop_ms"] for each in measured)
    # Two layers each of 1,024 by 8 numbers, 8 by 20 and 10 by 8: forward, and twice backward but for the images.
    inputs, rest = 2 * 16 * 1024 * 8, 2 * 16 * (8 * 20 + 10 * 8 + 8 * 1024)
    assert measured[0]["gigaflops"] == pytest.approx((2 * inputs + 3 * rest) / 1e9)


def test_rows_are_chosen_by_name_and_size(monkeypatch, capsys):
    monkeypatch.setattr(fleet_speed, "measure_loop", lambda *_: Loop(1.0, 1.0))
    monkeypatch.setattr(
        fleet_speed, "measure", lambda row, precision, *_: Measured(row.title, precision, 1.0, 1.0, 1.0, 0.0, 0.0)
    )
    main(["--small", "--rows", "FactorVAE", "VAE", "--members", "2"])
    names = [row.split(",")[0].strip("| ") for row in capsys.readouterr().out.splitlines() if "models |" in row]
    assert names == ["FactorVAE", "VAE"]


def test_small_rows_are_of_the_same_kinds():
    assert [row.name for row in every_row(small=True)] == [row.name for row in every_row()]
