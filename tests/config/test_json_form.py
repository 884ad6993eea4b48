"""Configs survive JSON, and reading one runs no code that was not asked for."""

import dataclasses
import json
import sys
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.config import from_json, to_json
from unbraid.config.annotations import public_path
from unbraid.config.schedule import Cosine, Cyclic, Linear
from unbraid.datasets import DSprites, FactorDataset
from unbraid.errors import SpecError
from unbraid.metrics import MIG
from unbraid.metrics.estimators import Quantized
from unbraid.models import MLP, Architecture, Autoencoder, Conv
from unbraid.models.distributions import (
    BernoulliLatents,
    ConcreteLatents,
    FlowPrior,
    GaussianLatents,
    GaussianLikelihood,
    GroupedLatents,
    LaplaceLatents,
    Latents,
    LearnedCategories,
)
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, Objective


@dataclass(frozen=True)
class Everything:
    """A field of each kind that a config may have."""

    weight: float = 1.0
    limit: float | None = None
    count: int = 3
    widths: tuple[int, ...] = (1, 2)
    scales: tuple[float, ...] = (1.0,)
    name: str = "x"
    flag: bool = False
    mode: Literal["a", "b", 1] = "a"
    objective: Objective = dataclasses.field(default_factory=VAE)
    decoder: Architecture | None = None


HERE = Everything.__module__.partition(".")[0]


def through_json(config, expected=None):
    text = json.dumps(to_json(config), allow_nan=False)
    return from_json(json.loads(text), expected or type(config), packages=("unbraid", HERE))


# Written


def test_a_config_is_its_type_and_its_fields():
    assert to_json(BetaTCVAE()) == {
        "type": "unbraid.objectives.BetaTCVAE",
        "alpha": 1.0,
        "beta": 6.0,
        "gamma": 1.0,
        "estimator": "mws",
        "analytic_kl": False,
    }


def test_a_config_in_a_config_is_an_object_in_an_object():
    content = to_json(Autoencoder(encoder=MLP(hidden=(5, 6)), latents=GaussianLatents(3)))
    assert content["encoder"] == {"type": "unbraid.models.MLP", "hidden": [5, 6], "decoder_hidden": [1200, 1200, 1200]}
    prior = {"type": "unbraid.models.distributions.StandardNormalPrior"}
    assert content["latents"] == {"type": "unbraid.models.distributions.GaussianLatents", "size": 3, "prior": prior}
    assert content["decoder"] is None


@pytest.mark.parametrize("name", ["weight", "limit", "scales"])
@pytest.mark.parametrize("kind", [int, np.int64, np.float32, np.float64])
def test_a_number_in_a_float_field_is_written_as_a_float(name, kind):
    as_float, as_other = ((value,) if name == "scales" else value for value in (4.0, kind(4)))
    written = [json.dumps(to_json(Everything(**{name: value}))) for value in (as_float, as_other)]
    assert written[0] == written[1]


def test_numpys_integers_are_whole_numbers():
    assert json.dumps(to_json(Everything(count=np.int64(7)))) == json.dumps(to_json(Everything(count=7)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"count": 1.5}, "Everything: count is 1.5; expected an integer"),
        ({"count": True}, "Everything.*True"),
        ({"mode": "c"}, "Everything.*'c'.*1"),
        ({"widths": (1, "2")}, "Everything.*'2'"),
        ({"objective": MIG()}, r"Everything.*MIG\(.*Objective"),
        ({"weight": "4"}, "Everything.*'4'"),
        ({"name": b"x"}, "Everything.*b'x'"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(changes, said):
    with pytest.raises(SpecError, match=said):
        to_json(Everything(**changes))


def test_a_schedule_and_a_list_of_configs_are_objects_too():
    assert to_json(BetaVAE(Linear(0.0, 4.0)))["beta"] == {
        "type": "unbraid.config.schedule.Linear",
        "start": 0.0,
        "end": 4.0,
        "begin": 0.0,
        "finish": 1.0,
    }
    parts = to_json(GroupedLatents((GaussianLatents(3), ConcreteLatents(5))))["parts"]
    assert [part["type"] for part in parts] == [
        "unbraid.models.distributions.GaussianLatents",
        "unbraid.models.distributions.ConcreteLatents",
    ]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            {"type": "unbraid.models.distributions.GaussianLatents", "size": "x"},
            r"spec\.parts\[1\]\.size.*'x'",
        ),
        ({"type": "unbraid.objectives.VAE"}, r"spec\.parts\[1\].*'unbraid\.objectives\.VAE'.*Latents"),
        ("gaussian", "spec.parts.*'gaussian'.*Latents"),
    ],
)
def test_a_wrong_entry_of_a_list_is_refused_by_its_place(part, said):
    good = {"type": "unbraid.models.distributions.GaussianLatents"}
    with pytest.raises(SpecError, match=said):
        from_json({"type": "unbraid.models.distributions.GroupedLatents", "parts": [good, part]}, Latents)


def test_a_wrong_config_in_place_of_a_number_is_refused():
    with pytest.raises(SpecError, match=r"spec\.beta: 'unbraid\.objectives\.VAE'"):
        from_json({"type": "unbraid.objectives.BetaVAE", "beta": {"type": "unbraid.objectives.VAE"}}, Objective)


@pytest.mark.parametrize("thing", [4, "text", BetaVAE, None])
def test_what_is_no_config_is_not_written(thing):
    with pytest.raises(SpecError, match="^Expected a config"):
        to_json(thing)


# And read back


@pytest.mark.parametrize(
    "config",
    [
        Everything(),
        Everything(0.1, 0.2, 4, (), (1.5, -2.0), "β", True, "b", BetaVAE(3.0), Conv(channels=(4, 5))),
        Autoencoder(encoder=Conv(), decoder=MLP(hidden=(3,)), likelihood=GaussianLikelihood(0.5)),
        DSprites(shapes=("heart",), num_scales=2),
        BetaVAE(Linear(0.0, 4.0, finish=0.1)),
        Autoencoder(
            latents=GroupedLatents(
                (GaussianLatents(3, FlowPrior(4)), ConcreteLatents(5, Cosine(1.0, 0.5), prior=LearnedCategories()))
            )
        ),
        GroupedLatents((GroupedLatents((LaplaceLatents(2),)), BernoulliLatents(2, Cyclic(0.5, 1.0)))),
        MIG(Quantized(num_bins=50, low=-3.0)),
    ],
    ids=lambda config: type(config).__name__,
)
def test_what_is_read_back_is_what_was_written(config):
    assert through_json(config) == config


@given(
    weights=st.lists(st.floats(0, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    estimator=st.sampled_from(["mws", "stratified_pairs"]),
)
def test_floats_keep_every_bit(weights, estimator):
    alpha, beta, gamma = weights
    config = BetaTCVAE(alpha=alpha, beta=beta, gamma=gamma, estimator=estimator)
    assert through_json(config, Objective) == config


def test_configs_that_are_written_alike_are_one_object_and_those_that_are_not_are_two():
    from unbraid.training.runs import RunSpec

    specs = [RunSpec(DSprites(), objective=BetaVAE(beta)) for beta in (1.0, 4.0)]
    first, second = from_json([to_json(spec) for spec in specs], tuple[RunSpec, ...])
    assert [first, second] == specs
    assert first.model is second.model
    assert first.objective is not second.objective


def test_what_is_left_out_has_its_default():
    assert from_json({"type": "unbraid.objectives.BetaVAE"}, Objective) == BetaVAE()


def test_the_private_path_of_a_class_will_do():
    assert from_json({"type": "unbraid.objectives.vae.VAE"}, Objective) == VAE()


def test_an_int_is_read_as_a_float_where_a_float_is_wanted():
    found = from_json({"type": "unbraid.objectives.BetaVAE", "beta": 4}, Objective)
    assert found == BetaVAE(4.0)
    assert type(found.beta) is float


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"weight": "4"}, r"spec\.weight.*'4'"),
        ({"weight": None}, r"spec\.weight.*None"),
        ({"weight": True}, r"spec\.weight.*True"),
        ({"limit": "no"}, r"spec\.limit.*'no'.*None"),
        ({"count": 1.0}, r"spec\.count is 1\.0; expected an integer"),
        ({"count": True}, r"spec\.count.*True"),
        ({"widths": 3}, r"spec\.widths.*3"),
        ({"widths": [1, 2.5]}, r"spec\.widths is 2\.5; expected an integer"),
        ({"flag": 1}, r"spec\.flag.*1"),
        ({"mode": "c"}, r"spec\.mode.*'c'.*1"),
        ({"mode": True}, r"spec\.mode.*True.*1"),
        ({"name": 3}, r"spec\.name is 3; expected a string"),
        ({"name": "a\0b"}, r"spec\.name.*'a\\x00b'.*NUL"),
        ({"name": "\ud800"}, r"spec\.name.*NUL"),
        ({"count": 2**63}, r"spec\.count is beyond 64 bits"),
        ({"widths": [1, -(10**30)]}, r"spec\.widths is beyond 64 bits"),
        ({"weight": 10**400}, r"spec\.weight is beyond 64 bits"),
        ({"objective": "vae"}, r"spec\.objective.*'vae'.*Objective"),
        ({"objective": None}, r"spec\.objective.*None.*Objective"),
        ({"decoder": []}, r"spec\.decoder.*\[\].*Architecture.*None"),
        (
            {"count": {"type": "unbraid.objectives.VAE"}},
            r"spec\.count.*'unbraid\.objectives\.VAE'",
        ),
        ({"widths": {"type": "unbraid.objectives.VAE"}}, r"spec\.widths.*'unbraid\.objectives\.VAE'"),
        ({"objective": {"type": "unbraid.objectives.BetaVAE", "beta": "x"}}, r"spec\.objective\.beta is 'x'"),
        ({"objective": {"type": "unbraid.objectives.BetaVAE", "beta": -1}}, "BetaVAE: beta is -1.0"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_its_place(content, said):
    with pytest.raises(SpecError, match=said):
        from_json({"type": public_path(Everything)} | content, Everything, packages=("unbraid", HERE))


def test_an_unknown_field_is_refused_with_the_nearest():
    with pytest.raises(SpecError, match="spec: BetaTCVAE"):
        from_json({"type": "unbraid.objectives.BetaTCVAE", "betta": 1}, Objective)


def test_a_missing_field_is_refused_by_name():
    with pytest.raises(SpecError, match="spec: FromArrays"):
        from_json({"type": "unbraid.datasets.FromArrays"}, FactorDataset)


# Which classes are read


@pytest.mark.parametrize(
    "path", [None, 3, "", "VAE", "unbraid.", ".VAE", "unbraid..VAE", "unbraid.objectives.VAE()", "os; import", "a b.c"]
)
def test_what_is_no_import_path_is_refused(path):
    with pytest.raises(SpecError, match="import path"):
        from_json({"type": path}, Objective)


def test_a_class_from_elsewhere_is_refused_without_being_imported(monkeypatch, tmp_path):
    (tmp_path / "untouched.py").write_text(
        "from pathlib import Path\n\nPath(__file__).with_name('trace').touch()\n\n\nclass VAE: ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SpecError, match="'untouched.VAE'"):
        from_json({"type": "untouched.VAE"}, Objective)
    assert "untouched" not in sys.modules
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("path", ["unbraided.VAE", "un.VAE", "os.path.join", "builtins.eval"])
def test_a_name_that_looks_like_ours_is_not_ours(path):
    with pytest.raises(SpecError, match="not"):
        from_json({"type": path}, Objective)


def test_a_class_of_ones_own_is_read_when_its_package_is_named(monkeypatch, tmp_path):
    (tmp_path / "of_my_own.py").write_text(
        "from dataclasses import dataclass\nfrom unbraid.objectives import Objective\n\n\n"
        "@dataclass(frozen=True)\nclass Mine(Objective):\n    weight: float = 1.0\n\n    def __call__(self, step): "
        "...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        found = from_json({"type": "of_my_own.Mine", "weight": 2}, Objective, packages=("unbraid", "of_my_own"))
        assert found.weight == 2.0
        assert to_json(found) == {"type": "of_my_own.Mine", "weight": 2.0}
    finally:
        sys.modules.pop("of_my_own", None)


@pytest.mark.parametrize(
    "path",
    [
        "unbraid.datasets.DSprites",  # of another kind
        "unbraid.objectives.Objective",  # abstract
        "unbraid.objectives.Loss",  # a dataclass, but no objective
        "unbraid.config.to_json",  # a function
        "unbraid._internal.files.os",  # a module
        "unbraid.objectives.objective.ABC",  # no dataclass
    ],
)
def test_what_is_not_a_config_of_the_expected_kind_is_refused(path):
    with pytest.raises(SpecError, match=f"spec: '{path}' is not an Objective"):
        from_json({"type": path}, Objective)


@pytest.mark.parametrize(
    "path", ["unbraid.nowhere.VAE", "unbraid.objectives.VAE.general_form", "unbraid._internal.files.os.system"]
)
def test_a_path_that_leads_nowhere_is_refused(path):
    with pytest.raises(SpecError, match=f"'{path}' cannot be imported"):
        from_json({"type": path}, Objective)


def test_a_misspelt_type_is_refused_with_the_nearest():
    with pytest.raises(SpecError, match="BetaTCVAE, BetaVAE, .*DecomposedELBO"):
        from_json({"type": "unbraid.objectives.BetaTCVEA"}, Objective)
