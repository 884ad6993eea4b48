"""The commands on the pages are commands: their flags exist, and what they ask for can be built."""

import re
import shlex
from pathlib import Path

import pytest

from unbraid.cli import train as command
from unbraid.cli.app import make_app
from unbraid.errors import UnbraidError

ROOT = Path(__file__).parents[2]
# The one that shows what is said of a misspelt name.
MISSPELT = "beta-tcvea"
# Files that are not here.
OF_THE_READER = ("shapes.npz", "shells", "from-hugging-face-0123456789abcdef")


def training_commands() -> list[str]:
    """Every `unbraid train` in a block of code, and its flags; not those that go on with runs, or ask for help."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = [block for page in pages for block in re.findall(r"```.*?\n(.*?)```", page.read_text("utf-8"), re.DOTALL)]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    found = {line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?unbraid train --(dataset|config)", line)}
    return sorted(line for line in found if MISSPELT not in line and "--help" not in line)


COMMANDS = training_commands()


def test_they_are_found():
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("line", COMMANDS)
def test_a_training_command_of_the_pages_asks_for_something_that_can_be_built(line, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(command, "train_with_progress", lambda runs, *_, **__: asked.extend(runs))
    monkeypatch.setattr(command, "raise_for_failures", lambda runs: None)
    for name in ("UNBRAID_DATA", "UNBRAID_CACHE"):
        monkeypatch.setenv(name, str(tmp_path))
    arguments = [*shlex.split(line, comments=True)[1:], "--out", str(tmp_path / "runs")]
    if any(name in line for name in OF_THE_READER):
        with pytest.raises(UnbraidError, match="no (file|folder)|converted images"):
            make_app()(arguments, standalone_mode=False)
    else:
        make_app()(arguments, standalone_mode=False)
        assert asked
