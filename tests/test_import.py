"""Importing the library is quiet and light; each check runs in a Python of its own."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

CORE = {"einops", "jaxtyping", "numpy", "scikit-learn", "scipy", "torch"}
IMPORTED_AS = {"pillow": "PIL", "scikit-learn": "sklearn"}

IN_A_PYTHON_WITHOUT_THE_EDGES = """
import sys
asked_for = []
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            asked_for.append(name)
            raise ModuleNotFoundError(f"No module named {{name!r}} (blocked by the test)", name=name)
sys.meta_path.insert(0, Refuse())
import unbraid
unbraid.Codes, unbraid.evaluate, unbraid.MIG, unbraid.VAE, unbraid.Conv, unbraid.DSprites
assert unbraid.metrics.MIG is unbraid.MIG, "modules are found without being imported by name"
assert not hasattr(unbraid, "nonsense")
assert not hasattr(unbraid, "foo.bar")
assert not asked_for, asked_for
import unbraid.codes, unbraid.datasets, unbraid.information, unbraid.metrics
"""


def names_beyond_the_core() -> set[str]:
    """The packages that the project depends on and its core must do without, as one imports them."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {requirement.partition(">")[0] for requirement in declared}
    assert names >= CORE
    return {IMPORTED_AS.get(name, name) for name in names - CORE}


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def test_the_core_says_nothing_and_does_without_what_the_edges_need():
    done = run(IN_A_PYTHON_WITHOUT_THE_EDGES.format(blocked=names_beyond_the_core()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_torch_is_loaded_when_a_name_is_first_used():
    """So that the command line can say first how its threads wait."""
    done = run("import sys, unbraid, unbraid.cli; assert 'torch' not in sys.modules; assert 'MIG' in dir(unbraid)")
    assert done.returncode == 0, done.stderr
