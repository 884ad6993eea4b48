"""The table of presets: what a code tells is what it is called, and it runs."""

import json
import math

import pytest
import torch

from benchmarks.presets import entropy_of_cells, main, mean_image_distortion, told
from tests.training.squares import Squares


def test_codes_far_apart_tell_the_image_and_codes_alike_tell_nothing():
    apart, std = 100 * torch.arange(12.0)[:, None].expand(-1, 2), torch.ones(12, 2)
    assert told(apart, std, 0) == pytest.approx(math.log(12))
    assert told(torch.full((12, 2), 5.0), std, 0) == pytest.approx(0)


def test_what_a_code_tells_is_the_information_of_a_gaussian_channel():
    # Means of variance 3, noise of variance 1: log(4) / 2 nats. The error of a mean of 1000 draws is 0.03.
    means = 3**0.5 * torch.special.ndtri((torch.arange(4000.0) + 0.5) / 4000)[:, None]
    assert told(means, torch.ones_like(means), 0) == pytest.approx(math.log(4) / 2, abs=0.1)


def test_cells_are_told_apart_by_their_width():
    assert entropy_of_cells(torch.tensor([[0.0], [0.01], [0.1], [1.0]])) == pytest.approx(1.5 * math.log(2))


def test_the_mean_image_is_worth_the_entropy_of_its_pixels():
    images = Squares().load()
    share = images.batch(torch.arange(36)).double().mean(dim=0)
    entropy = torch.distributions.Bernoulli(share).entropy().sum()
    assert mean_image_distortion(images) == pytest.approx(entropy.item())


@pytest.mark.slow
def test_it_runs(capsys, tmp_path):
    main(["--small", "--only", "aae-d", "infogan", "--device", "cpu", "--out", str(tmp_path / "found")])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in rows] == ["aae-deterministic-sprites", "infogan-sprites"]
    found = json.loads((tmp_path / "found.json").read_text())["presets"]
    assert all(each["distortion"] > 0 and len(of) == 2 for of in found.values() for each in of)
