"""Agreement of latents across runs: known answers, and as a score of a study."""

import math

import pytest
import torch

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.studies import seed_agreement
from unbraid.studies.seed_agreement import agreement_scores, with_latent_agreement
from unbraid.studies.study_scores import StudyScores

GENERATOR = torch.Generator().manual_seed(5)
TRUE = torch.randn(200, 4, generator=GENERATOR) * torch.tensor([1.0, 0.8, 0.6, 0.4])


def codes(mean, std=0.1):
    return Codes(mean, std * torch.ones_like(mean))


def test_permuted_and_negated_latents_agree():
    found = agreement_scores({0: codes(TRUE), 7: codes(-TRUE[:, [2, 0, 3, 1]])})
    assert list(found) == [0, 7]
    assert list(found.values()) == pytest.approx([1, 1])


def test_rotated_latents_agree_less():
    rotation, _ = torch.linalg.qr(torch.randn(4, 4, generator=GENERATOR))
    assert agreement_scores({0: codes(TRUE), 1: codes(TRUE @ rotation)})[0] < 0.9


def test_uninformative_latents_are_left_out():
    noise = torch.cat([TRUE, 0.001 * TRUE], dim=1)
    std = torch.cat([torch.full((200, 4), 0.1), torch.ones(200, 4)], dim=1)
    assert agreement_scores({0: codes(TRUE), 1: Codes(noise, std)})[0] == pytest.approx(1)
    collapsed = Codes(torch.zeros(200, 4), torch.ones(200, 4))
    found = agreement_scores({0: codes(TRUE), 1: collapsed, 2: codes(TRUE)})
    assert found[0] == pytest.approx(1)
    assert math.isnan(found[1])


def test_it_is_the_mean_over_the_other_runs():
    models = {0: codes(TRUE), 1: codes(TRUE), 2: codes(TRUE @ torch.randn(4, 4, generator=GENERATOR))}
    each = [agreement_scores({0: models[0], 1: models[other]})[0] for other in (1, 2)]
    assert agreement_scores(models)[0] == pytest.approx(sum(each) / 2)


def test_one_run_is_refused():
    with pytest.raises(CodesError, match="two or more"):
        agreement_scores({0: codes(TRUE)})


class FakeRun:
    def __init__(self, name, mean):
        self.name, self.codes = name, lambda: codes(mean)


def test_it_is_one_metric_more_of_a_study(monkeypatch, tmp_path):
    runs = {"vae": {0: FakeRun("vae-0", TRUE), 1: FakeRun("vae-1", -TRUE)}, "alone": {0: FakeRun("alone-0", TRUE)}}
    monkeypatch.setattr(seed_agreement, "runs_with_codes", lambda *_: runs)
    bare = StudyScores(("vae", "alone"), {"vae": "vae", "alone": "vae"}, ("mig",), {"mig": True}, (), ())
    scores = with_latent_agreement(None, tmp_path, bare)
    assert scores.metrics == ("mig", "latent-agreement")
    assert scores.values("vae", "latent-agreement") == pytest.approx({0: 1.0, 1: 1.0})
    assert scores.values("alone", "latent-agreement") == {}
