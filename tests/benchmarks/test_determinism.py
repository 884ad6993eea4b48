"""The benchmark compares one member with itself, in other company."""

import json

import pytest

from benchmarks.determinism import Ways, main, spec_of

pytestmark = pytest.mark.slow


def test_the_member_is_the_same_one_in_every_way():
    spec = spec_of("beta-TCVAE", "float64", 2, small=True)
    ways = Ways(spec, spec.training_data.load())
    compared = ways.compared(2)
    assert set(compared) == {"the same fleet again", "another order", "split halfway", "alone"}
    for four, otherwise in compared.values():
        assert float((four.weights - otherwise.weights).abs().max()) < 1e-12
    assert float((four.weights - ways.in_fleet(range(4), 2, of=1).weights).abs().max()) > 1e-3


@pytest.mark.slow
def test_small_fleets_are_compared(tmp_path):
    main(["--small", "--precisions", "float32", "--steps", "2", "--out", str(tmp_path / "same")])
    found = json.loads((tmp_path / "same.json").read_text())["differences"]
    assert [each["num_steps"] for each in found] == [2] * 4
    assert found[0]["compared"] == "the same fleet again"
    assert found[0]["is_identical"]
    assert all(each["weights"] < 1e-4 < each["from_start"] for each in found)
