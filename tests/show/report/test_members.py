import math
import shutil
from dataclasses import replace

import numpy as np
import pytest

from tests.told import warned
from tests.training.runs.finished_runs import fail
from unbraid.datasets import FromArrays
from unbraid.metrics import MIG
from unbraid.metrics.estimators import Quantized
from unbraid.models.distributions import ConcreteLatents, DeterministicLatents, GaussianLatents, GroupedLatents
from unbraid.models.trained.elbo import hard_elbo
from unbraid.objectives import AAE, BetaVAE
from unbraid.show.report import write_report
from unbraid.show.report.members import read_members, why_left_out
from unbraid.training import Critic, train
from unbraid.training.runs import History, Run


def parts(*, distortion, rate):
    return History(
        ("step", "distortion", "rate"),
        [(float(step), float(d), r) for step, (d, r) in enumerate(zip(distortion, rate, strict=True))],
    )


def test_the_elbo_is_that_at_the_end_of_training(member):
    assert member(history=parts(distortion=range(20), rate=[1.0] * 20)).elbo == -19.5


def test_without_a_distortion_and_a_rate_the_elbo_is_not_known(member):
    assert math.isnan(member().elbo)


def test_the_elbo_of_a_model_with_discrete_latents_is_that_of_hard_categories(spec, tmp_path):
    latents = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))
    (run,) = train([replace(spec(), model=replace(spec().model, latents=latents))], [0], folder=tmp_path)
    (read,) = read_members([run])
    expected = hard_elbo(run.model(), run.spec.training_data.open())
    assert (read.elbo, read.distortion, read.rate) == (expected.value, expected.distortion, expected.rate)
    assert read.distortion != run.history.at_the_end("distortion")
    page = write_report([run], tmp_path / "report.html").read_text()
    assert f"from {len(run.spec.training_data.open())} images: only so it is a bound" in page


def test_a_run_without_a_score_is_scored_and_keeps_it(trained, tmp_path):
    run = copied(trained[0], tmp_path)
    (run.folder / "scores.json").unlink(missing_ok=True)
    (read,) = read_members([run])
    assert read.mig.value == pytest.approx(mig_of(run))
    assert [score.value for score in run.scores()] == [read.mig.value]


def test_scores_that_every_run_has_are_used_as_they_are(trained, tmp_path):
    runs = [copied(run, tmp_path / str(index)) for index, run in enumerate(trained[:2])]
    with warned("constant in these"):
        for run in runs:
            (run.folder / "scores.json").unlink(missing_ok=True)
            run.score([MIG(Quantized(num_bins=20))])
    assert [read.mig.settings["estimator"] for read in read_members(runs)] == ["quantized", "quantized"]


def test_every_kept_score_is_known_by_the_name_that_one_types(trained, tmp_path):
    run = copied(trained[0], tmp_path)
    (run.folder / "scores.json").unlink(missing_ok=True)
    with warned("constant in these"):
        run.score("sap,mig:quantized:num_bins=20,mig")
    (read,) = read_members([run])
    assert list(read.values) == [
        *("mig", "sap", "mig:quantized:num_bins=20", "training-elbo", "training-distortion", "training-rate")
    ]
    assert read.values["mig"] == read.mig.value
    assert read.values["sap"] == run.named_scores()["sap"].value


def test_scores_of_different_settings_are_never_compared(trained, tmp_path):
    runs = [copied(run, tmp_path / str(index)) for index, run in enumerate(trained[:2])]
    (runs[0].folder / "scores.json").unlink(missing_ok=True)
    with warned("constant in these"):
        runs[0].score([MIG(Quantized(num_bins=20))])
    assert [read.mig.settings["estimator"] for read in read_members(runs)] == ["exact", "exact"]


def test_where_a_run_has_no_densities_all_are_compared_through_bins_and_so_again_the_next_time(trained, spec, tmp_path):
    without = replace(spec(AAE()), model=replace(spec().model, latents=DeterministicLatents(3)), critic=Critic((8,)))
    runs = [copied(trained[0], tmp_path), *train([without], [0], folder=tmp_path)]
    (runs[0].folder / "scores.json").unlink(missing_ok=True)
    first, again = read_members(runs), read_members(runs)
    assert [read.mig.settings["estimator"] for read in first] == ["quantized", "quantized"]
    assert [read.mig.value for read in again] == [read.mig.value for read in first]


def test_continuous_factors_have_no_mig(spec, tmp_path):
    generator = np.random.default_rng(0)
    images, angles = generator.integers(0, 256, (12, 8, 8), dtype=np.uint8), generator.random((12, 1))
    (run,) = train([spec(BetaVAE(), FromArrays.from_arrays(images, angles))], [0], folder=tmp_path)
    assert read_members([run])[0].mig is None


def test_what_is_said_of_a_run_that_is_not_finished(trained, spec, tmp_path):
    run = copied(trained[0], tmp_path)
    (run.folder / "finished.json").unlink()
    (run.folder / "checkpoints").mkdir()
    (run.folder / "checkpoints" / "step-0000000001.json").touch()
    assert why_left_out(run) == "is not finished (step 1 of 2)"
    fail(run, step=1)
    assert why_left_out(run) == "failed: its loss or gradient was not finite, at step 1 of 2"
    assert why_left_out(Run.place(tmp_path, spec(), seed=99)) == "was never started"


def copied(run, parent):
    return Run.open(shutil.copytree(run.folder, parent / run.name))


def mig_of(run):
    with warned("constant in these codes"):
        return MIG()(run.codes()).value
