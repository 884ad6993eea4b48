"""Regular files alone are opened: a pipe in place of a file would be waited for, and a device might never end."""

import ast
from pathlib import Path

import pytest

import unbraid
from tests.crash.processes import exit_code, forked
from tests.slow import slow_but
from tests.special_files import PLACES, READERS, read_all

SOURCES = Path(unbraid.__file__).parent


@pytest.fixture(params=slow_but(["pipe"], PLACES))
def outcomes(request, tmp_path):
    """What each reader made of a special file. They run in another process, which ends if one of them hangs."""
    with (tmp_path / "said.txt").open("w+") as said:
        ended = exit_code(forked(lambda: read_all(request.param, tmp_path / "files", said), tmp_path / "printed.txt"))
        said.seek(0)
        lines = said.read().splitlines()
    assert ended == 0, f"This one never ended, or ended all: {lines[-1:]}"
    return dict(line.split(": ", 1) for line in lines)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_pipe_or_a_device_in_place_of_any_file_is_refused_or_replaced(outcomes):
    assert len(outcomes) >= len(READERS) + 14
    assert {name: outcome for name, outcome in outcomes.items() if not outcome.startswith(("refused", "made"))} == {}
    assert {name for name, outcome in outcomes.items() if outcome == "made again"} == {
        *("record.json of a store", "images.npy of a store", "factors.npy of a store"),
        *("progress.json of a store", "images.part of a store"),
        *(".json of a checkpoint", ".safetensors of a checkpoint"),
    }


# Those of the system itself, a file that is new, and files of the package.
ALLOWED = {
    *(("_internal/memory.py", "read_text"), ("_internal/cpu.py", "read_text"), ("_internal/files.py", "open")),
    ("show/explorer/explorer.py", "read_text"),
}


def direct_reads(path):
    """The calls in a module that open or read a file by its path, without a look at what it is."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and opens_a_path(node):
            yield path.relative_to(SOURCES).as_posix(), ast.unparse(node.func).rpartition(".")[2]


def opens_a_path(call):
    if isinstance(call.func, ast.Name):
        return call.func.id == "open"
    if not isinstance(call.func, ast.Attribute) or ast.unparse(call.func.value) == "files":
        return False
    # Other things are opened too, but not in a mode.
    has_mode = any(isinstance(argument, ast.Constant) for argument in call.args[:1]) or any(
        keyword.arg in ("mode", "encoding") for keyword in call.keywords
    )
    return call.func.attr in ("read_bytes", "read_text") or (call.func.attr == "open" and has_mode)


def test_every_file_is_opened_through_one_function():
    found = {read for path in SOURCES.rglob("*.py") for read in direct_reads(path)}
    assert found == ALLOWED
