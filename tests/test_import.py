"""Importing the library is quiet and light; each check runs in a Python of its own."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

CORE = {"einops", "jaxtyping", "numpy", "scikit-learn", "scipy", "torch"}
IMPORTED_AS = {"pillow": "PIL", "scikit-learn": "sklearn"}

BLOCK = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}} (blocked by the test)", name=name)
sys.meta_path.insert(0, Refuse())
"""


def names_beyond_the_core() -> set[str]:
    """The packages that the project depends on and its core must do without, as one imports them."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {requirement.partition(">")[0] for requirement in declared}
    assert names >= CORE
    return {IMPORTED_AS.get(name, name) for name in names - CORE}


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def test_importing_says_nothing_and_loads_none_of_what_the_edges_need():
    use = (
        "import sys, unbraid; unbraid.Codes, unbraid.evaluate, unbraid.MIG, unbraid.VAE, unbraid.Conv, unbraid.DSprites"
    )
    done = run(f"{use}; assert not (found := sys.modules.keys() & {names_beyond_the_core()!r}), found")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_torch_is_loaded_when_a_name_is_first_used():
    """So that the command line can say first how its threads wait."""
    done = run("import sys, unbraid, unbraid.cli; assert 'torch' not in sys.modules; assert 'MIG' in dir(unbraid)")
    assert done.returncode == 0, done.stderr


def test_modules_are_found_without_being_imported_by_name():
    done = run("import unbraid; assert unbraid.metrics.MIG is unbraid.MIG; assert not hasattr(unbraid, 'nonsense')")
    assert done.returncode == 0, done.stderr


def test_the_core_does_without_what_the_edges_need():
    core = "import unbraid, unbraid.codes, unbraid.data, unbraid.information, unbraid.metrics"
    done = run(BLOCK.format(blocked=names_beyond_the_core()) + core)
    assert done.returncode == 0, done.stderr
