"""Agreement of latents across runs: known answers, and as a score of a study."""

import math

import pytest
import torch
from scipy import stats

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.studies import latent_agreement
from unbraid.studies.latent_agreement import agreement_of_seeds, with_latent_agreement
from unbraid.studies.study_scores import StudyScores

GENERATOR = torch.Generator().manual_seed(5)
TRUE = torch.randn(200, 4, generator=GENERATOR) * torch.tensor([1.0, 0.8, 0.6, 0.4])


def codes(mean, std=0.1):
    return Codes(mean, std * torch.ones_like(mean))


def test_permuted_and_negated_latents_agree_and_keep_their_order():
    found = agreement_of_seeds({0: codes(TRUE), 7: codes(-TRUE[:, [2, 0, 3, 1]])})
    assert list(found) == [0, 7]
    for each in found.values():
        assert each.value == pytest.approx(1)
        assert each.informativeness_order == pytest.approx(1)
        assert each.variance_order == pytest.approx(1)


def test_rotated_latents_agree_less():
    rotation, _ = torch.linalg.qr(torch.randn(4, 4, generator=GENERATOR))
    assert agreement_of_seeds({0: codes(TRUE), 1: codes(TRUE @ rotation)})[0].value < 0.9


def test_information_and_variance_may_sort_differently():
    """The widest latent is the noisiest: by variance it is first, by information last."""
    noise = torch.tensor([2.0, 0.1, 0.1, 0.1])
    one, two = Codes(TRUE, noise.expand(200, 4)), codes(TRUE)
    found = agreement_of_seeds({0: one, 1: two})[0]
    assert found.variance_order == pytest.approx(1)
    # By information: latents 1, 2, 3, 0 in the one, and 0, 1, 2, 3 in the other.
    assert found.informativeness_order == pytest.approx(stats.spearmanr([3, 0, 1, 2], [0, 1, 2, 3]).statistic)


def test_uninformative_latents_are_left_out():
    noise = torch.cat([TRUE, 0.001 * TRUE], dim=1)
    std = torch.cat([torch.full((200, 4), 0.1), torch.ones(200, 4)], dim=1)
    assert agreement_of_seeds({0: codes(TRUE), 1: Codes(noise, std)})[0].value == pytest.approx(1)
    collapsed = Codes(torch.zeros(200, 4), torch.ones(200, 4))
    found = agreement_of_seeds({0: codes(TRUE), 1: collapsed, 2: codes(TRUE)})
    assert found[0].value == pytest.approx(1)
    assert math.isnan(found[1].value)


def test_it_is_the_mean_over_the_other_runs():
    models = {0: codes(TRUE), 1: codes(TRUE), 2: codes(TRUE @ torch.randn(4, 4, generator=GENERATOR))}
    each = [agreement_of_seeds({0: models[0], 1: models[other]})[0].value for other in (1, 2)]
    assert agreement_of_seeds(models)[0].value == pytest.approx(sum(each) / 2)


def test_one_run_is_refused():
    with pytest.raises(CodesError, match="two or more"):
        agreement_of_seeds({0: codes(TRUE)})


class FakeRun:
    def __init__(self, name, mean):
        self.name, self.codes = name, lambda: codes(mean)


def test_it_is_one_metric_more_of_a_study(monkeypatch, tmp_path):
    runs = {"vae": {0: FakeRun("vae-0", TRUE), 1: FakeRun("vae-1", -TRUE)}, "alone": {0: FakeRun("alone-0", TRUE)}}
    monkeypatch.setattr(latent_agreement, "runs_with_codes", lambda *_: runs)
    bare = StudyScores(("vae", "alone"), {"vae": "vae", "alone": "vae"}, ("mig",), {"mig": True}, (), ())
    scores = with_latent_agreement(None, tmp_path, bare)
    assert scores.metrics == ("mig", "latent-agreement")
    assert scores.values("vae", "latent-agreement") == pytest.approx({0: 1.0, 1: 1.0})
    assert scores.values("vae", "latent-agreement", of="variance_order") == pytest.approx({0: 1.0, 1: 1.0})
    assert scores.values("alone", "latent-agreement") == {}
