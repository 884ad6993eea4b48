"""Mistakes that people make in Python, and the sentence that each gets."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import unbraid
from tests.training.squares import MLP_SPEC
from unbraid import (
    MIG,
    MLP,
    Autoencoder,
    BetaVAE,
    Codes,
    Conv,
    DSprites,
    FromArrays,
    Run,
    RunSpec,
    Scoring,
    evaluate,
    grid,
    runs_in,
    train,
    write_report,
)
from unbraid.config.schedule import Linear
from unbraid.datasets import from_torch
from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import UnbraidError
from unbraid.metrics import DCI
from unbraid.metrics.estimators import Quantized
from unbraid.models.distributions import GaussianLatents
from unbraid.training import TrainingOptions
from unbraid.training.optimizers import Adam

SPEC = replace(MLP_SPEC, num_steps=2)
IMAGES = np.full((5, 8, 8), 200, dtype=np.uint8)
MEAN = np.arange(12.0).reshape(6, 2)
LABELS = np.arange(6) % 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    [run] = train(SPEC, folder=tmp_path_factory.mktemp("runs"))
    return run


# What is written, and what is said of it. Each is given a finished run and an empty folder.
MISTAKES = {
    # ---- train
    "a number of seeds": (
        lambda run, at: train(SPEC, seeds=3, folder=at),
        r"seeds is 3; expected a list.*seeds=range\(3\)",
    ),
    "seeds as one types them": (
        lambda run, at: train(SPEC, "0-3", folder=at),
        "seeds.*'0-3'",
    ),
    "a seed below 0": (lambda run, at: train(SPEC, [-1], folder=at), "-1.*0"),
    "half a seed": (lambda run, at: train(SPEC, [0.5], folder=at), r"A seed is 0.5; expected an integer"),
    "an objective in place of a spec": (
        lambda run, at: train([BetaVAE()], folder=at),
        "BetaVAE.*RunSpec",
    ),
    "an objective alone": (
        lambda run, at: train(BetaVAE(), folder=at),
        "specs.*BetaVAE.*RunSpec",
    ),
    "a spec as a dict": (lambda run, at: train({"objective": "vae"}, folder=at), r"specs is \{.*RunSpec"),
    "a class of spec": (
        lambda run, at: train([RunSpec], folder=at),
        "RunSpec.*RunSpec",
    ),
    "the same twice": (lambda run, at: train([SPEC, SPEC], folder=at), r"twice"),
    "no such device": (
        lambda run, at: train(SPEC, folder=at, device="gpu"),
        "device.*'gpu'.*'auto'.*'cpu'.*'cuda'",
    ),
    "checkpoints never": (
        lambda run, at: train(SPEC, folder=at, options=TrainingOptions(checkpoint_every=0)),
        r"checkpoint_every is 0; expected 1",
    ),
    "checkpoints as text": (
        lambda run, at: train(SPEC, folder=at, options=TrainingOptions(checkpoint_every="9")),
        r"checkpoint_every.*'9'",
    ),
    "held-out images of all": (
        lambda run, at: train(SPEC, folder=at, options=TrainingOptions(held_out_every=1)),
        r"held_out_every.*subset",
    ),
    "no folder": (lambda run, at: train(SPEC, folder=None), "None"),
    "a file as folder": (
        lambda run, at: train(SPEC, folder=run.folder / "spec.json"),
        "spec.json",
    ),
    "resume and force": (
        lambda run, at: train(SPEC, folder=at, resume=True, options=TrainingOptions(force=True)),
        r"resume.*force",
    ),
    "watch=True": (
        lambda run, at: train(SPEC, folder=at, watch=True),
        "watch.*True.*watch=print",
    ),
    # ---- specs and configs
    "a dataset by its name": (
        lambda run, at: RunSpec("dsprites"),
        r"FactorDataset.*DSprites\(...\)",
    ),
    "the class of a dataset": (
        lambda run, at: RunSpec(DSprites),
        r"DSprites.*DSprites\(\)",
    ),
    "images as a dataset": (
        lambda run, at: RunSpec(IMAGES),
        r"ndarray.*\(5,.*8.*8\);.*FactorDataset",
    ),
    "a net as a model": (lambda run, at: RunSpec(DSprites(), MLP()), r"model is MLP\(.*expected an Autoencoder"),
    "a module as a model": (
        lambda run, at: RunSpec(DSprites(), torch.nn.ReLU()),
        r"model is ReLU.*expected an Autoencoder",
    ),
    "an objective by its name": (
        lambda run, at: RunSpec(DSprites(), objective="vae"),
        r"objective.*'vae'.*Objective.*VAE\(...\)",
    ),
    "no steps": (lambda run, at: RunSpec(DSprites(), num_steps=0), r"num_steps is 0; expected 1 or more"),
    "steps as a float": (
        lambda run, at: RunSpec(DSprites(), num_steps=1e3),
        r"num_steps is 1000.0; expected an integer",
    ),
    "a batch of one": (lambda run, at: RunSpec(DSprites(), batch_size=1), r"batch_size is 1; expected 2"),
    "a field that there is not": (
        lambda run, at: RunSpec(DSprites(), learning_rate=1e-3),
        r"no field 'learning_rate'.*optimizer",
    ),
    "a number as optimizer": (
        lambda run, at: RunSpec(DSprites(), optimizer=1e-3),
        "optimizer.*0.001.*Optimizer.*Adam",
    ),
    "no such precision": (
        lambda run, at: RunSpec(DSprites(), precision="half"),
        "precision.*'half'.*float32",
    ),
    "beta as text": (lambda run, at: BetaVAE(beta="4"), "beta.*'4'.*Schedule"),
    "several betas": (lambda run, at: BetaVAE(beta=[1, 4]), r"beta is \[1, 4\]; expected a number"),
    "beta that is no number": (lambda run, at: BetaVAE(beta=float("nan")), "beta.*nan"),
    "a misspelt field": (lambda run, at: BetaVAE(betta=4.0), "BetaVAE.*'betta'.*'beta'"),
    "too many values": (lambda run, at: Adam(1e-3, 0.9, 0.999, 1e-8, 5, 6, 7), r"Adam .*7"),
    "a negative learning rate": (lambda run, at: Adam(-1.0), r"learning_rate is -1.0;"),
    "a schedule that ends before it begins": (lambda run, at: Linear(0, 1, begin=0.9, finish=0.1), r"Linear"),
    "latents as a number": (
        lambda run, at: Autoencoder(MLP(), latents=10),
        "Latents.*GaussianLatents",
    ),
    "no latents": (lambda run, at: GaussianLatents(0), r"size is 0; expected 1 to"),
    "one layer as a number": (lambda run, at: MLP(hidden=64), r"hidden is 64; expected a list"),
    "channels as words": (lambda run, at: Conv(channels=("a",)), "channels.*'a'"),
    "one shape as text": (lambda run, at: DSprites(shapes="heart"), "shapes.*'heart'"),
    "a misspelt shape": (lambda run, at: DSprites(shapes=("hart",)), r"Did you mean 'heart'"),
    "a fraction above 1": (lambda run, at: RandomSplit(1.5), r"1.5"),
    # ---- data
    "a file that is not there": (lambda run, at: FromArrays(at / "no.npz").load(), ".*no.npz"),
    "arrays where a path belongs": (
        lambda run, at: FromArrays(IMAGES),
        "path.*ndarray",
    ),
    "a path where arrays belong": (
        lambda run, at: FromArrays.from_arrays("images.npz"),
        r"images .*FromArrays\(path\)",
    ),
    "images of several sizes": (
        lambda run, at: FromArrays.from_arrays([IMAGES[0], IMAGES[0, :4]]),
        "images",
    ),
    "labels of other images": (
        lambda run, at: FromArrays.from_arrays(IMAGES, np.arange(4)),
        r"factor_0.* has shape \(4,\) for 5 images",
    ),
    "floats up to 255": (
        lambda run, at: FromArrays.from_arrays(IMAGES.astype(float)),
        r"floats from 200 to 200; expected 0 to 1",
    ),
    "the class of a torch dataset": (
        lambda run, at: from_torch(torch.utils.data.TensorDataset),
        "TensorDataset.*torch.utils.data.Dataset",
    ),
    "a device of the data": (lambda run, at: SPEC.dataset.load("gpu"), r"device is 'gpu'; expected 'auto'"),
    # ---- runs
    "a run that is not there": (lambda run, at: Run.open(at / "nowhere"), r"no folder .*nowhere"),
    "a folder of runs": (
        lambda run, at: Run.open(run.folder.parent),
        "spec.json.*`unbraid.*runs`",
    ),
    "a file of a run": (lambda run, at: Run.open(run.folder / "spec.json"), r"spec\.json is a file"),
    "nothing to open": (lambda run, at: Run.open(None), "None"),
    "codes of a run that was never begun": (
        lambda run, at: Run.place(at, SPEC, 5).codes(),
        r"no codes",
    ),
    "images of another size": (
        lambda run, at: run.encoder()(np.ones((2, 9, 9))),
        r"is 9 x 9 pixels.*trained on 8 x 8. Resize",
    ),
    "a misspelt column": (lambda run, at: run.history["losss"], "'losss'.*'loss'"),
    "a misspelt metric": (lambda run, at: run.score("migg"), "'migg'.*'mig'"),
    "the class of a metric": (lambda run, at: run.score([MIG]), r"MIG\(\)"),
    "another sampling by its name": (
        lambda run, at: run.score("mig", Scoring(sampling="uniform:scale")),
        r"sampling.*'uniform:scale'.*UniformJoint\(...\)",
    ),
    "a number as folder": (lambda run, at: runs_in(3), "3"),
    "no folder of runs": (lambda run, at: list(runs_in(at / "nowhere")), r"no folder .*nowhere"),
    "a misspelt field of a grid": (
        lambda run, at: grid(SPEC, {"objective.betta": [1.0]}),
        "'betta'.*'beta'",
    ),
    "one value of a grid": (
        lambda run, at: grid(SPEC, {"objective.beta": 4.0}),
        r"\[4.0\]",
    ),
    "a report of a folder": (
        lambda run, at: write_report("runs", at / "r.html"),
        "runs.*'runs'",
    ),
    "a report of one run": (lambda run, at: write_report(run, at / "r.html"), r"list of Run|list of runs"),
    "a report of nothing": (
        lambda run, at: write_report([], at / "r.html"),
        r"one finished run",
    ),
    # ---- codes and scores
    "factors beside codes": (lambda run, at: evaluate(run.codes(), factors=[0, 1]), r"list"),
    "a run in place of codes": (
        lambda run, at: evaluate(run),
        "unbraid.Codes.*run.score",
    ),
    "a path in place of codes": (lambda run, at: evaluate("codes.npz"), r"str.*Codes.load\(path\)"),
    "a score of the model from codes": (lambda run, at: evaluate(run.codes(), metrics="elbo"), r"^elbo"),
    "a seed as text": (lambda run, at: evaluate(run.codes(), metrics="mig", seed="0"), "seed.*'0'"),
    "an estimator by its name": (lambda run, at: MIG("quantized"), "estimator.*'quantized'.*Estimator"),
    "the class of an estimator": (
        lambda run, at: MIG(Quantized),
        "estimator.*Quantized",
    ),
    "no such predictor": (lambda run, at: DCI("tree"), "predictor.*'tree'"),
    "codes in a row": (
        lambda run, at: Codes.from_arrays(MEAN[:, 0]),
        r"mean has shape \(6,\).*\(images, latents\)",
    ),
    "negative std": (lambda run, at: Codes.from_arrays(MEAN, -np.ones((6, 2))), r"std"),
    "labels of fewer images": (lambda run, at: Codes.from_arrays(MEAN, factors=LABELS[:4]), r"4"),
    "no codes": (lambda run, at: Codes.from_arrays(), r"mean"),
    "codes of another library": (
        lambda run, at: Codes.load(at / "codes.pt"),
        r"codes\.pt",
    ),
    "codes to another format": (lambda run, at: run.codes().save(at / "codes.pt"), r"codes\.pt"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.usefixtures("_as_users_run_it")
def test_a_mistake_gets_a_sentence(mistake, run, tmp_path):
    make, said = MISTAKES[mistake]
    with pytest.raises(UnbraidError) as told:
        make(run, tmp_path)
    assert re.search(said, str(told.value), re.DOTALL), str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(("name", "meant"), [("BetaVea", "BetaVAE"), ("metric", "metrics"), ("Trian", "train")])
def test_a_misspelt_name_of_the_package_is_an_attribute_error_that_names_the_nearest(name, meant):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. Did you mean '{meant}'"):
        getattr(unbraid, name)


def test_dir_lists_all_public_names_and_nothing_else():
    listed = dir(unbraid)
    assert set(unbraid.__all__) <= set(listed)
    assert {"metrics", "objectives", "models", "config", "training"} <= set(listed)
    assert not {name for name in listed if name.startswith("_")} - {"__version__"}
    assert not {"importlib", "pkgutil", "Any", "TYPE_CHECKING"} & set(listed)
    assert all(hasattr(unbraid, name) for name in listed if name != "cli")


def test_one_spec_needs_no_list_and_no_seed(run):
    assert train(SPEC, folder=run.folder.parent) == (run,)


def test_an_encoder_takes_gray_and_color_as_encode_does(run):
    images = SPEC.dataset.load()
    color = images.pixels.expand(-1, 3, -1, -1)
    assert torch.equal(run.encoder()(color.contiguous()).mean, run.encoder()(images.pixels).mean)
