"""Small scales: what is derived from the paper's own size, and what stays as the claim needs it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from reproductions.__main__ import main, places
from reproductions.catalogue import items, paper
from reproductions.evidence import find, find_all, keep
from reproductions.item import Code, Data
from reproductions.pages import page_of
from reproductions.rows import claims_of, controls_of
from reproductions.running import tune_item
from reproductions.scales import Reduction, experiment_of, metrics_of
from unbraid import MLP, VAE, Autoencoder, BetaVAE, Conv, DSprites, RunSpec
from unbraid.datasets import MNIST
from unbraid.datasets.subsets import RowRange
from unbraid.objectives import FactorVAE, Objective
from unbraid.studies import StudyOptions
from unbraid.training import Critic
from unbraid.training.optimizers import Adagrad, Adam

LAPTOP = [(item, key) for item in items().values() for key in item.on if "laptop" in item.on[key].scales]
SMALLER = Reduction(
    {
        DSprites: {"resolution": 32, "shapes": ("heart",), "num_scales": 4, "num_orientations": 1},
        MNIST: {"split": "test"},
    },
    {FactorVAE: 20, Objective: 10},
    spec={"batch_size": 32, "precision": "float32"},
    learning_rate=0.01,
    max_fitted=50,
)


def test_a_small_scale_replaces_fields_of_the_dataset_and_never_enlarges_one():
    spec = RunSpec(DSprites(num_scales=2), Autoencoder(Conv()), BetaVAE(4.0), num_steps=1000, precision="bf16")
    made = SMALLER.of(spec)
    assert made.dataset == DSprites(resolution=32, shapes=("heart",), num_scales=2, num_orientations=1)
    assert made.model.encoder == Conv((16, 16, 32, 32), hidden=64)
    assert made.objective == BetaVAE(4.0)
    assert (made.num_steps, made.batch_size, made.precision) == (10, 32, "float32")


def test_widths_of_all_nets_shrink_by_one_share_and_have_a_limit():
    critic = Critic(hidden=(1000, 100), optimizer=Adam(1e-4))
    made = SMALLER.of(RunSpec(DSprites(), Autoencoder(MLP((1200, 60), (1200,))), FactorVAE(10.0), critic, num_steps=5))
    assert made.model.encoder == MLP((256, 30), (256,))
    assert made.critic == Critic(hidden=(256, 50), channels=(16, 16, 32, 32), optimizer=Adam(1e-4))
    assert made.num_steps == 20


def test_the_learning_rate_is_that_of_adam_alone():
    spec = RunSpec(DSprites(), Autoencoder(Conv()), VAE(), num_steps=5, optimizer=Adam(1e-4, betas=(0.5, 0.9)))
    assert SMALLER.of(spec).optimizer == Adam(0.01, betas=(0.5, 0.9))
    assert SMALLER.of(replace(spec, optimizer=Adagrad(0.1))).optimizer == Adagrad(0.1)


def test_a_range_of_images_keeps_its_share_of_them():
    spec = RunSpec(MNIST(), Autoencoder(MLP((8,), (8,))), num_steps=5, subset=RowRange(0, 54_000))
    assert SMALLER.of(spec).subset == RowRange(0, 9_000)


def test_metrics_fit_predictors_on_fewer_points():
    assert SMALLER.metric("zdiff:svm") == "zdiff:svm:num_train=50:num_test=50"
    assert SMALLER.metric("mig") == "mig"


@pytest.mark.parametrize(("item", "key"), LAPTOP, ids=[f"{item.id}-{key}" for item, key in LAPTOP])
def test_claims_can_be_decided_on_a_laptop_and_are_not_about_printed_numbers(item, key):
    experiment, claims = experiment_of(item, key, "laptop"), claims_of(item, key, "laptop")
    counts = {label: len(seeds) for label, seeds in experiment.seeds.items()}
    central = [claim for claim in claims if claim.central]
    assert central
    for claim in central:
        assert claim.smallest_p(counts) <= 0.05 / len(claims), claim.sentence
    printed = [row["text"] for row in item.claims if row.get("printed") or row.get("scale") == "paper"]
    assert not [claim for claim in (*claims, *controls_of(item, key, "laptop")) if claim.sentence in printed]
    tuned = experiment.tuned.candidates if experiment.tuned else ()
    assert not {seed for each in tuned for seed in each.seeds} & {
        seed for each in experiment.settings for seed in each.seeds
    }
    assert experiment.study["keep"] == "all"
    assert experiment.study["metrics"] == metrics_of(item, key, "laptop")
    assert all(each.spec.precision == "float32" for each in (*experiment.settings, *tuned))


def test_metrics_are_those_that_tables_claims_and_figure_name():
    item = items()["kumar2017/table1"]
    assert metrics_of(item, "dsprites", "quick") == (
        "zdiff:svm",
        "mig",
        "reconstruction-error",
        "reconstruction-error:absolute",
        "reconstruction-error:cross_entropy",
    )
    assert metrics_of(items()["do2020/figure5"], "dsprites", "quick") == ("rmig:sampled", "jemmig:sampled")


def test_tables_by_scale_and_letters_of_rows():
    item = items()["chen2018/figure2a"]
    claims = {scale: claims_of(item, "dsprites", scale) for scale in ("laptop", "quick", "paper")}
    assert [len(each) for each in claims.values()] == [9, 9, 15]
    assert [claim.central for claim in claims["laptop"]] == [False, True, True, True] * 2 + [False]
    split = items()["split2020/figure4"]
    assert len(controls_of(split, "dsprites", "quick")) == 2
    assert not any(claim.central for claim in controls_of(split, "dsprites", "quick"))


def test_settings_are_tuned_on_seeds_that_are_not_tested(tmp_path):
    images = DSprites(resolution=32, shapes=("heart",), num_scales=1, num_orientations=1, num_positions=4)
    spec = RunSpec(images, Autoencoder(MLP((8,), (8,))), num_steps=9, batch_size=4)
    item = replace(
        items()["esmaeili2018/figure8"],
        on={"hearts": Data("hearts", {"laptop": 1.0}, models=["VAE"], seeds=2)},
        code=Code(lambda data, scale, label: spec),
        module=SimpleNamespace(LAPTOP=Reduction({}, {Objective: 2})),
        claims=(),
        scores=("mig",),
    )
    options = StudyOptions(device="cpu", num_scorers=0, progress=False)
    scores = tune_item(item, "hearts", 2, tmp_path, options)
    assert [run.seed for run in scores.runs] == [1000, 1001]
    assert len(scores.of_seeds("VAE", "mig")) == 2


def test_a_page_shows_every_scale_side_by_side(tmp_path):
    item = items()["esmaeili2018/figure9a"]
    quick = find(item, "mnist", "quick")
    keep(item, "mnist", "quick", quick.scores, tmp_path, seconds=1.0)
    keep(item, "mnist", "laptop", quick.scores, tmp_path, seconds=1.0)
    found = find_all(item, "mnist", tmp_path)
    assert [each.scale for each in found] == ["quick", "laptop"]
    known = {(each.id, key): found if each.id == item.id else [] for each in items().values() for key in each.on}
    text = page_of(paper("esmaeili2018"), known)
    assert "| quick | **Verdict: not reproduced**" in text
    assert "| laptop | **Verdict: not reproduced**" in text
    assert "`mnist:test:shape_factors=true`" in text
    assert text.count("python -m reproductions run esmaeili2018/figure9a --data mnist --scale laptop") == 2


@pytest.mark.parametrize(
    ("name", "data", "scale", "expected"),
    [
        ("kumar2017/table2", None, "laptop", [("faces", "laptop"), ("digits", "laptop")]),
        ("kumar2017/table2", "digits", "laptop", [("digits", "laptop")]),
        ("kumar2017/table2", None, "quick", [("celeba", "quick")]),
        ("do2020/figure13", None, "laptop", []),
        ("chen2018/table1", None, None, [("codes", "paper")]),
    ],
)
def test_a_laptop_runs_all_datasets_that_it_can(name, data, scale, expected):
    assert [(key, at) for _, key, at in places(items()[name], data, scale)] == expected


def test_items_without_the_scale_are_refused(capsys):
    assert main(["run", "do2020/figure13", "--scale", "laptop"]) == 1
    assert "'laptop'" in capsys.readouterr().err
