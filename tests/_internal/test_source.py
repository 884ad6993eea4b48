"""Classes of the user's own are known by their source: by what it does, not by how it is written."""

import importlib
import sys
import textwrap
from dataclasses import dataclass, field

import pytest

from tests._internal.user_modules import fresh, imported, objective_text, write
from unbraid import Autoencoder, BetaVAE, DSprites, RunSpec
from unbraid._internal import source
from unbraid._internal.source import check_current
from unbraid.config.digest import digest, user_source
from unbraid.errors import SpecError
from unbraid.models.distributions import GaussianLatents
from unbraid.objectives.objective import Objective


def digest_in(folder, files) -> str:
    """The digest of `mine.Own()` in a new process."""
    write(folder, files)
    with fresh(folder):
        return digest(imported().Own())


PLAIN = {"mine": objective_text()}
CONSTANT = "SCALE = 10.0"
FUNCTION = """
def scaled_by(factor):
    def scaled(number):
        return factor * number
    return scaled

SCALED = scaled_by({})
"""
BASE = """
from dataclasses import dataclass
from unbraid.objectives.objective import Objective

@dataclass(frozen=True)
class Base(Objective):
    def factor(self):
        return {}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PLAIN, {"mine": objective_text(loss="10 * self.weight * distortion")}),
        (
            {"mine": objective_text(CONSTANT, loss="SCALE * distortion")},
            {"mine": objective_text("SCALE = 20.0", loss="SCALE * distortion")},
        ),
        (
            {"mine": objective_text(FUNCTION.format(2), loss="SCALED(distortion)")},
            {"mine": objective_text(FUNCTION.format(3), loss="SCALED(distortion)")},
        ),
        *(
            (
                {"mine": objective_text(statement, loss="helper.scaled(distortion)"), **package, name: before},
                {"mine": objective_text(statement, loss="helper.scaled(distortion)"), **package, name: after},
            )
            for before, after in [("def scaled(x): return x", "def scaled(x): return 2 * x")]
            for statement, name, package in [
                ("import helper", "helper", {}),
                ("from parts import helper", "parts.helper", {"parts.__init__": ""}),
                ("import parts.helper as helper", "parts.helper", {"parts.__init__": ""}),
                ("import parts.deep.helper as helper", "parts.deep.helper", {}),
                (
                    "import between as helper",
                    "further",
                    {"between": "def scaled(x):\n    from further import scaled\n    return scaled(x)"},
                ),
            ]
        ),
        [
            {"mine": objective_text("from bases import Base", "Base", "self.factor() * distortion"), "bases": text}
            for text in (BASE.format(1), BASE.format(2))
        ],
        [
            {"mine": objective_text("import parts"), "parts.__init__": text, "parts.scale": "S = 1"}
            for text in ("from .scale import S", "from .scale import S\nS = 2")
        ],
        [
            {"mine": objective_text("import parts"), "parts.__init__": "from .scale import S", "parts.scale": text}
            for text in ("S = 1", "S = 2")
        ],
    ],
    ids=[
        *("formula", "constant", "closure", "helper", "of a package", "import as", "namespace", "lazy import"),
        *("base class", "a package", "relative import"),
    ],
)
def test_what_changes_what_is_computed_changes_the_digest(tmp_path, before, after):
    first = digest_in(tmp_path, before)
    assert digest_in(tmp_path, before) == first
    assert digest_in(tmp_path, after) != first


def test_comments_docstrings_and_layout_do_not(tmp_path):
    first = digest_in(tmp_path, PLAIN)
    longer = '"""Returns it."""\n\n        distortion = (\n            -step.log_likelihood.mean()  # nats\n        )'
    text = objective_text("# why").replace("distortion = -step.log_likelihood.mean()", longer)
    text = '"""What it is."""\n' + text
    assert digest_in(tmp_path, {"mine": text}) == first


def test_nor_does_a_module_that_it_does_not_import(tmp_path):
    first = digest_in(tmp_path, {**PLAIN, "other": "A = 1"})
    assert digest_in(tmp_path, {**PLAIN, "other": "A = 2"}) == first


def test_configs_of_unbraid_have_no_source():
    assert not user_source(BetaVAE(4.0))


def test_an_installed_package_counts_by_its_version(tmp_path, monkeypatch):
    write(tmp_path / "site-packages", {"theirs.__init__": "A = 1"})
    described = tmp_path / "site-packages" / "theirs-1.0.dist-info" / "METADATA"
    described.parent.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    files, found = {"mine": objective_text("import theirs, numpy, torch\nimport sklearn")}, []
    for version, text in [("1.0", "A = 1"), ("1.0+cpu", "A = 2"), ("1.1", "A = 2")]:
        described.write_text(f"Metadata-Version: 2.1\nName: theirs\nVersion: {version}\n")
        write(tmp_path / "site-packages", {"theirs.__init__": text})
        source._version.cache_clear()
        write(tmp_path, files)
        with fresh(tmp_path):
            found.append(user_source(imported().Own()).identity["packages"])
    assert found == [{"theirs": "1.0"}, {"theirs": "1.0"}, {"theirs": "1.1"}]
    source._version.cache_clear()


def test_an_edit_after_the_import_is_refused_until_it_is_reloaded(tmp_path):
    write(tmp_path, {"mine": objective_text("import helper"), "helper": "A = 1"})
    with fresh(tmp_path):
        mine = imported()
        config, before = mine.Own(), digest(mine.Own())
        check_current(user_source(config))
        write(tmp_path, {"helper": "A = 1  # only said"})
        check_current(user_source(config))
        write(tmp_path, {"helper": "A = 2"})
        # What is in memory is what would be trained, and what it is called.
        assert digest(config) == before
        with pytest.raises(SpecError, match=r"helper\.py"):
            check_current(user_source(config))
        importlib.reload(sys.modules["helper"])
        check_current(user_source(config))
        assert digest(config) != before


PATCHED = objective_text(
    "SCALE = 1.0\n\ndef scaled(x):\n    return SCALE * x\n\nlist_of = [n for n in range(3)]", loss="scaled(distortion)"
)


def test_edits_count_after_a_reload(tmp_path):
    write(tmp_path, {"mine": PATCHED})
    with fresh(tmp_path):
        config, before = imported().Own(), digest(imported().Own())
        for edited in (
            PATCHED.replace("range(3)", "range(4)"),
            PATCHED.replace("weight: float = 1.0", "weight: float = 2.0"),
        ):
            write(tmp_path, {"mine": edited})
            assert digest(config) == before
        write(tmp_path, {"mine": "def broken("})
        assert digest(config) == before  # while it is being edited


def test_what_was_made_of_a_class_that_was_defined_again_is_refused(tmp_path):
    write(tmp_path, PLAIN)
    with fresh(tmp_path):
        config = imported().Own()
        importlib.reload(sys.modules["mine"])
        with pytest.raises(SpecError, match="^Own "):
            digest(config)


def test_a_class_inside_a_function_is_refused():
    def scaled_by(factor):
        @dataclass(frozen=True)
        class Scaled(Objective):
            def __call__(self, step):
                return factor

        return Scaled()

    with pytest.raises(SpecError, match=r"<locals>\.Scaled"):
        digest(scaled_by(3))


class Undecorated(Objective):
    def __init__(self, beta):
        object.__setattr__(self, "beta", beta)

    def __call__(self, step):
        return self.beta


@dataclass(frozen=True)
class Hidden(Objective):
    weight: float = 1.0

    def __init__(self, weight, scale):
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "scale", scale)

    def __call__(self, step):
        return self.scale


@dataclass(frozen=True)
class Computed(Objective):
    weight: float = field(default=1.0, init=False)

    def __call__(self, step):
        return self.weight


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: Undecorated(50.0),
            r"Undecorated.*@dataclass\(frozen=True\)",
        ),
        (
            lambda: Hidden(1.0, 50.0),
            "Hidden.*__init__",
        ),
        (Computed, r"Computed\.__init__.* weight"),
    ],
)
def test_settings_that_are_not_fields_are_refused_with_the_class_and_the_fix(make, complaint):
    with pytest.raises(SpecError, match=complaint):
        digest(make())
    with pytest.raises(SpecError, match=complaint):
        RunSpec(DSprites(), objective=make())


KINDS = {
    "net": """
        from unbraid.models import Architecture

        @dataclass(frozen=True)
        class Own(Architecture):
            def make_encoder(self, image_shape, latents): return {}
            def make_decoder(self, num_inputs, image_shape): return None
    """,
    "schedule": """
        from unbraid.config.schedule import Schedule

        @dataclass(frozen=True)
        class Own(Schedule):
            def at(self, progress): return {} * progress
            def extremes(self): return 0.0, 1.0
            def affine(self, scale, shift): return self
    """,
    "prior": """
        from unbraid.models.distributions import PriorConfig

        @dataclass(frozen=True)
        class Own(PriorConfig):
            def make(self, size): return {}
    """,
    "dataset": """
        from unbraid.datasets import FactorDataset

        @dataclass(frozen=True)
        class Own(FactorDataset):
            factors = ()
            num_images = 64
            image_shape = (1, 8, 8)
            def open(self, *, verify=False): return {}
    """,
    "metric": """
        from unbraid.metrics import Metric

        @dataclass(frozen=True)
        class Own(Metric):
            accepts = frozenset()
            def measure(self, statistics): return {}
    """,
}
HOLDERS = {
    "net": Autoencoder,
    "schedule": BetaVAE,
    "prior": lambda own: Autoencoder(latents=GaussianLatents(3, own)),
    "dataset": RunSpec,
    "metric": lambda own: own,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_config_counts_by_its_source_wherever_it_is_held(tmp_path, kind):
    found = []
    for number in (1, 1, 2):
        text = textwrap.dedent("from dataclasses import dataclass\n") + textwrap.dedent(KINDS[kind].format(number))
        write(tmp_path, {"mine": text})
        with fresh(tmp_path):
            found.append(digest(HOLDERS[kind](imported().Own())))
    assert found[0] == found[1] != found[2]
