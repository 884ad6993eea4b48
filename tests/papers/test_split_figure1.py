"""The split encoder's figure 1: which layers latents share."""

from pathlib import Path

import torch

from tests.models.nets import conv, linear
from unbraid.distributions import GaussianLatents
from unbraid.papers.judgement import judge
from unbraid.papers.split2020.figure1 import FIGURE1
from unbraid.papers.split2020.nets import encoders
from unbraid.studies.execute import StudyOptions


def test_layers_and_weights_are_counted_by_gradients(tmp_path: Path) -> None:
    work = FIGURE1.at("smoke")
    work.run(tmp_path, StudyOptions(progress=False))
    scores = work.scores(tmp_path)
    judged = judge(FIGURE1, "smoke", scores)
    assert judged.verdict == "reproduced", judged.decisions
    branch = conv(4, 4) + linear(4 * 4 * 4, 8) + linear(8, 2)
    assert scores.values("split", "weights_of_one_latent") == {0: 10 * branch}
    assert scores.values("baseline", "weights_of_one_latent") == {0: linear(8, 20)}
    # Of the last kernels, at the edge of a map, a few taps reach one latent alone.
    assert scores.values("sharing", "weights_of_one_latent")[0] < 0.2 * scores.values("sharing", "weights")[0]
    assert scores.values("sharing", "gradient_between_latents")[0] > 0


def test_the_controls_are_as_large_as_the_baseline() -> None:
    with torch.device("meta"):
        sizes = {
            name: sum(w.numel() for w in net.make_encoder((1, 64, 64), GaussianLatents(10)).parameters())
            for name, net in encoders("paper").items()
        }
    for name in ("split of equal size", "sharing of equal size"):
        assert abs(sizes[name] / sizes["baseline"] - 1) < 0.02
    assert sizes["split"] > 8 * sizes["baseline"]
