"""Flags are the fields of dataclasses."""

import json
import re

import pytest

from unbraid.cli import flags as flags_module
from unbraid.cli.build import build, build_kind
from unbraid.cli.flag_tables import fields_of, flag_tables
from unbraid.cli.flags import flags_of, known_fields
from unbraid.config.schedule import Cosine, Linear
from unbraid.datasets import DSprites
from unbraid.errors import SpecError
from unbraid.metrics import MIG, Metric
from unbraid.metrics.estimators import Exact, Quantized
from unbraid.models import MLP, Autoencoder, Conv
from unbraid.models.distributions import ConcreteLatents, FlowPrior, GaussianLatents, GroupedLatents, LearnedCategories
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE
from unbraid.training import Critic
from unbraid.training.optimizers import Adagrad, Adam
from unbraid.training.runs import RunSpec

FLAGS = flags_of(fields_of(RunSpec))


def specs(**given: str | list[str]) -> list[RunSpec]:
    """Built as if typed: `objective__beta="4"` is `--objective.beta 4`."""
    typed = {path.replace("__", "."): [value] if isinstance(value, str) else value for path, value in given.items()}
    return build(RunSpec, typed)


def test_without_flags_below_it_a_config_is_its_default():
    assert specs(dataset="dsprites") == [RunSpec(DSprites())]


def test_every_field_can_be_reached():
    built = specs(
        dataset="dsprites",
        dataset__resolution="32",
        dataset__shapes="heart,square",
        model__encoder="conv",
        model__encoder__channels="8,8",
        model__latents__size="6",
        objective="beta-tcvae",
        objective__beta="4",
        objective__analytic_kl="true",
        num_steps="5",
        optimizer__learning_rate="1e-4",
        optimizer__betas="0.5,0.99",
        max_gradient_norm="1",
        precision="float64",
    )
    assert built == [
        RunSpec(
            DSprites(resolution=32, shapes=("heart", "square")),
            Autoencoder(Conv(channels=(8, 8)), latents=GaussianLatents(6)),
            BetaTCVAE(beta=4.0, analytic_kl=True),
            num_steps=5,
            optimizer=Adam(1e-4, betas=(0.5, 0.99)),
            max_gradient_norm=1.0,
            precision="float64",
        )
    ]


def test_a_field_of_a_config_that_was_not_named_changes_the_default_one():
    assert specs(dataset="dsprites", objective__beta="2")[0].objective == BetaTCVAE(beta=2.0)
    assert specs(dataset="dsprites", model__encoder__hidden="9,9")[0].model == Autoencoder(MLP(hidden=(9, 9)))


def test_settings_may_follow_a_name_after_colons():
    built = specs(dataset="dsprites", objective=["beta-vae:beta=4", "beta-vae:beta=linear:0:4", "beta-tcvae:beta=6"])
    assert [spec.objective for spec in built] == [BetaVAE(4.0), BetaVAE(Linear(0.0, 4.0)), BetaTCVAE(beta=6.0)]
    with pytest.raises(SpecError, match="beta-vae:beta=4, beta-vae:4"):
        specs(dataset="dsprites", objective=["beta-vae:beta=4", "beta-vae:4"])
    with pytest.raises(SpecError, match="--objective beta-vae:5"):
        specs(dataset="dsprites", objective="beta-vae:5", objective__beta="6")


def test_a_repeated_name_and_several_values_give_every_combination():
    built = specs(
        dataset="dsprites", objective=["vae", "beta-vae"], objective__beta="1,4", optimizer__learning_rate="0.1,0.2"
    )
    assert [(spec.objective, spec.optimizer.learning_rate) for spec in built] == [
        (objective, rate) for objective in (VAE(), BetaVAE(1.0), BetaVAE(4.0)) for rate in (0.1, 0.2)
    ]


def test_every_number_takes_a_list_to_sweep():
    """A whole number and a word too; where the value is a list itself, the flag is repeated."""
    built = specs(dataset="dsprites", num_steps="1,4", batch_size="8,16", model__latents__size="2,3")
    assert [(spec.num_steps, spec.batch_size, spec.model.latents.size) for spec in built] == [
        (steps, batch, size) for size in (2, 3) for steps in (1, 4) for batch in (8, 16)
    ]
    built = specs(dataset="dsprites", dataset__resolution="32,64", objective__estimator="mws,mss")
    assert [(spec.dataset.resolution, spec.objective.estimator) for spec in built] == [
        (32, "mws"),
        (32, "mss"),
        (64, "mws"),
        (64, "mss"),
    ]
    built = specs(dataset="dsprites", model__encoder__hidden=["8,8", "9"])
    assert [spec.model.encoder.hidden for spec in built] == [(8, 8), (9,)]


def test_a_name_may_be_typed_with_underscores_and_capitals():
    assert specs(dataset="DSprites", objective="beta_tcvae") == specs(dataset="dsprites", objective="beta-tcvae")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "--dataset.* attribute-faces, "),
        ({"dataset": "dsprite"}, "--dataset is 'dsprite'. Did you mean 'dsprites'?"),
        ({"dataset": "from-arrays"}, "--dataset.path.* --dataset from-arrays"),
        ({"dataset__resolution": "32"}, "--dataset.resolution .* --dataset. Valid: attribute-faces, "),
        ({"dataset": "dsprites", "model__decoder__hidden": "3"}, "--model.decoder.hidden .* --model.decoder. Valid: "),
        ({"dataset": "dsprites", "objective": "beta-vea"}, "--objective is 'beta-vea'. Did you mean 'beta-vae'?"),
        ({"dataset": "dsprites", "objective": ["vae", "VAE"]}, "--objective .* vae, vae"),
        ({"dataset": "dsprites", "objective": "vae", "objective__estimator": "mss"}, "--objective.estimator .* vae"),
        ({"dataset": "dsprites", "objective__beta": ["1", "4"]}, "--objective.beta .* 1, 4.* 1,4"),
        ({"dataset": "dsprites", "num_steps": ["1", "4"]}, "--num-steps .* 1, 4.* 1,4"),
        ({"dataset": "from-folder", "dataset__path": ["a", "b"]}, "--dataset.path .* a, b"),
        (
            {"dataset": "dsprites", "model__encoder__hidden": ["8,8", "9", "8,8"]},
            "--model.encoder.hidden .* '8,8 9 8,8'",
        ),
        ({"dataset": "dsprites", "objective__beta": "4,4.0"}, "--objective.beta .* '4,4.0'"),
        ({"dataset": "dsprites", "objective__beta": "-1"}, "BetaTCVAE.* -1.0"),
        ({"dataset": "dsprites", "num_steps": "0"}, "num_steps.* 0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_way_out(given, complaint):
    with pytest.raises(SpecError, match=complaint):
        specs(**given)


def test_a_flag_applies_to_those_that_have_the_field():
    built = specs(dataset="dsprites", objective=["vae", "beta-tcvae"], objective__beta="4")
    assert [spec.objective for spec in built] == [VAE(), BetaTCVAE(beta=4.0)]


def test_a_flag_says_its_default_and_who_has_another():
    assert re.match(r"beta-svae, beta-vae: .* Default 4. ", FLAGS["objective.beta"].help)
    assert FLAGS["optimizer.learning_rate"].help.endswith("Default 0.001.")
    assert FLAGS["dataset.path"].help.endswith("Required.")
    assert "efault" not in FLAGS["dataset.sha256"].help
    assert FLAGS["num_steps"].help.endswith("Default 10000.")
    assert "beta-tcvae (default), beta-vae, " in FLAGS["objective"].help
    assert "conv, disentanglement-lib-conv, do-tran-celeba, " in FLAGS["model.decoder"].help


@pytest.mark.parametrize("table", ["train", "score", "model_scores"])
def test_every_field_says_what_it_means(table):
    """By the text below it in its class."""
    silent = [
        f"{path} of {name}"
        for path, flag in flags_of(known_fields(table)).items()
        for name, field in flag.holders
        if not field["meaning"].endswith(".") and "." in path
    ]
    assert not silent


def test_what_several_families_share_is_named_once():
    assert [name for name, _ in FLAGS["model.latents.prior.num_steps"].holders] == ["flow-prior"]
    assert FLAGS["model.latents.prior"].help.count("flow-prior") == 1
    with pytest.raises(SpecError, match="--model.latents.prior"):
        specs(dataset="dsprites", model__latents__prior="laplace-prior", model__latents__prior__num_steps="4")


def test_the_kept_flags_are_those_of_the_classes(tmp_path, monkeypatch):
    monkeypatch.setattr(flags_module, "TABLES", tmp_path / "flags.json")
    read = known_fields.__wrapped__  # without the cache
    made = {table: read(table) for table in ("train", "score", "model_scores")}
    assert json.loads((tmp_path / "flags.json").read_text()) == made == flag_tables()
    assert {table: read(table) for table in made} == made


def test_a_flag_says_what_to_type():
    assert FLAGS["objective"].metavar == "NAME"
    assert FLAGS["model.encoder.hidden"].metavar == "INTEGER|INTEGER,..."
    # Some datasets take any size, others one of three.
    assert FLAGS["dataset.resolution"].metavar == "INTEGER"
    assert FLAGS["dataset.models"].metavar == "all|809"


def test_a_metric_is_built_as_a_spec_is():
    assert build_kind(Metric, "metric", {}, MIG()) == [MIG()]
    typed = {"metric": ["mig"], "metric.estimator": ["quantized"], "metric.estimator.num_bins": ["50"]}
    assert build_kind(Metric, "metric", typed, MIG()) == [MIG(Quantized(num_bins=50))]
    assert build_kind(Metric, "metric", {"metric.estimator.quadrature": ["direct"]}, MIG()) == [MIG(Exact("direct"))]


@pytest.mark.parametrize("path", ["nonsense", "dataset.nonsense", "model.encoder.hiden", "model.nonsense"])
def test_a_path_of_no_field_is_refused(path):
    with pytest.raises(SpecError, match=path):
        build(RunSpec, {"dataset": ["dsprites"], path: ["1"]})


@pytest.mark.parametrize("named", [{}, {"critic__optimizer": "adam"}])
def test_the_default_of_a_field_keeps_its_numbers_when_it_is_named(named):
    [spec] = specs(dataset="dsprites", objective="factor-vae", critic__optimizer__learning_rate="1e-3", **named)
    assert spec.critic.optimizer == Adam(1e-3, betas=(0.5, 0.9))
    assert FLAGS["critic.optimizer.betas"].help.endswith("Default 0.5,0.9.")
    [spec] = specs(dataset="dsprites", objective="factor-vae", critic__optimizer="adagrad")
    assert spec.critic == Critic(optimizer=Adagrad())


def test_a_number_may_follow_a_schedule():
    built = specs(
        dataset="dsprites",
        objective="beta-vae",
        objective__beta="linear:0:4:0:0.1,1",
        optimizer__learning_rate="cosine:0.001:0",
    )
    assert [spec.objective for spec in built] == [BetaVAE(Linear(0.0, 4.0, 0.0, 0.1)), BetaVAE(1.0)]
    assert built[0].optimizer.learning_rate == Cosine(0.001, 0.0)


def test_families_and_priors_of_latents_are_chosen_by_name():
    latents = specs(
        dataset="dsprites",
        model__latents="concrete",
        model__latents__temperature="linear:1:0.5",
        model__latents__prior="learned-categories",
    )
    assert latents[0].model.latents == ConcreteLatents(temperature=Linear(1.0, 0.5), prior=LearnedCategories())
    latents = specs(dataset="dsprites", model__latents__prior="flow-prior", model__latents__prior__num_steps="4")
    assert latents[0].model.latents == GaussianLatents(prior=FlowPrior(4))
    latents = specs(dataset="dsprites", model__latents="grouped", model__latents__parts="gaussian:6,concrete:3")
    assert latents[0].model.latents == GroupedLatents((GaussianLatents(6), ConcreteLatents(3)))


def test_a_field_of_a_config_that_the_chosen_one_does_not_hold_is_refused():
    with pytest.raises(SpecError, match="prior.num-steps"):
        specs(dataset="dsprites", model__latents="bernoulli", model__latents__prior__num_steps="4")


def test_a_prior_of_the_wrong_kind_is_refused():
    with pytest.raises(SpecError, match="--model.latents.prior is 'flow-prior'."):
        specs(dataset="dsprites", model__latents="concrete", model__latents__prior="flow-prior")


def test_a_prior_is_one_of_those_of_its_family():
    def named(**given):
        return flags_of(fields_of(RunSpec), {path.replace("__", "."): [text] for path, text in given.items()})

    assert "learned-categories" not in named()["model.latents.prior"].configs
    assert "flow-prior" not in named(model__latents="concrete")["model.latents.prior"].configs
    assert "model.latents.prior.num_steps" not in named()
    assert "model.latents.prior.num_steps" in named(model__latents__prior="flow-prior")
    assert "model.decoder.hidden" not in named()
    assert "model.decoder.hidden" in named(model__decoder="conv")
