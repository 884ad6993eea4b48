"""What is released: one version everywhere, a wheel that is whole, and sentences where a system is not supported."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.discovery import ROOT
from unbraid._internal.version import __version__
from unbraid.cli.flags import known_fields

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_wherever_it_is_told():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__
    assert re.search(rf"^## \[{re.escape(__version__)}\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_workflow_runs_the_script_that_everybody_runs():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    steps = workflow["jobs"]["check"]["steps"]
    assert ".ci/run" in [step.get("run") for step in steps]
    assert workflow["permissions"] == {"contents": "read"}


@pytest.mark.slow
def test_the_wheel_is_whole_and_its_quickstart_runs_in_an_empty_folder(tmp_path):
    """Without the network: what it depends on is here already."""
    pytest.importorskip("hatchling")
    known_fields("train")  # writes flags.json, as `make build` does
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--target", "sdist"]
    subprocess.run([*build, "--directory", str(tmp_path / "dist")], cwd=ROOT, check=True, capture_output=True)
    [wheel], [archive] = (list((tmp_path / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "unbraid").rglob("*.*")}
    source = {name for name in source if "__pycache__" not in name}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert source <= names
    assert "unbraid/py.typed" in names
    assert not [name for name in names if name.startswith(("reproductions/", "evidence/"))]
    with tarfile.open(archive) as packed:
        packed_names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"conftest.py", "Makefile", "SECURITY.md", "CHANGELOG.md", "tests/conftest.py"} <= packed_names

    site, empty = tmp_path / "site", tmp_path / "empty"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True, capture_output=True)
    empty.mkdir()
    environment = os.environ | {"PYTHONPATH": str(site), "UNBRAID_CACHE": str(tmp_path / "cache")}
    script = "import unbraid.cli; print(unbraid.__file__, flush=True); unbraid.cli.main()"
    command = [sys.executable, "-c", script, "quickstart", "--steps", "2", "--seeds", "0", "--device", "cpu"]
    done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.splitlines()[0]).is_relative_to(site)
    assert {path.name for path in (empty / "runs" / "quickstart").glob("*.html")} == {"report.html", "explorer.html"}
    assert len(list((empty / "runs" / "quickstart").glob("*/finished.json"))) == 2
    assert json.loads((site / "unbraid" / "cli" / "flags.json").read_text())
