"""Every file of a run cut short, emptied or altered in turn: the message names the file and what to do, or what is read
is what was written.
"""

import random
import shutil

import pytest

from unbraid.errors import UnbraidError
from unbraid.training.runs.run import Run

SEED = 10
NUM_FLIPS = 15
FIXES = ("--force", "Restore it", "Remove it", "Remove the file")


def kept(run):
    """All that can be read of a run, to the bit."""
    opened = Run.open(run)
    codes = opened.codes()
    tensors = [
        *opened.model().state_dict().values(),
        codes.mean,
        codes.std,
        *(labels.values for labels in codes.factors),
    ]
    scores = [(score.metric, score.value, score.per_factor, score.settings) for score in opened.scores()]
    return (
        opened.spec,
        opened.seed,
        opened.status,
        opened.history,
        scores,
        [tensor.numpy().tobytes() for tensor in tensors],
    )


def complaint(run):
    """What is said when a run is read, or None and what was read."""
    try:
        return None, kept(run)
    except UnbraidError as error:
        return str(error), None


def flips(content):
    """One bit each, at random places."""
    draws = random.Random(SEED)
    for _ in range(NUM_FLIPS):
        flipped = bytearray(content)
        flipped[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
        yield bytes(flipped)


def cuts(content):
    draws = random.Random(SEED)
    return [
        b"",
        content[:-1],
        content[: len(content) // 2],
        *(content[: draws.randrange(len(content))] for _ in range(10)),
    ]


@pytest.fixture
def run(undisturbed, tmp_path):
    """A finished run with scores, which a test may damage."""
    one = min(path.parent for path in undisturbed.folder.glob("runs/*/spec.json"))
    return shutil.copytree(one, tmp_path / one.name)


NOT_NEEDED = (".lock", ".scores.lock", "environment.json", "log.txt", "history.csv", "scores.json")
FILES = ("spec.json", "weights.safetensors", "codes.safetensors", "finished.json", "history.csv", "scores.json")


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [cuts, flips])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_told_with_the_file_and_what_to_do_or_changes_nothing(name, damaged, run):
    path, expected = run / name, kept(run)
    content = path.read_bytes()
    for bad in damaged(content):
        path.write_bytes(bad)
        said, found = complaint(run)
        if said is None:
            assert found == expected
        else:
            assert name in said
            assert str(run) in said
            assert any(fix in said for fix in FIXES), said
    path.write_bytes(content)
    assert kept(run) == expected


def test_a_lost_file_is_told_or_can_do_without(run):
    expected = kept(run)
    for path in sorted(run.iterdir()):
        content = path.read_bytes()
        path.unlink()
        said, found = complaint(run)
        if said is None:
            assert path.name in NOT_NEEDED, path.name
            assert found[0] == expected[0]
        else:
            assert str(run) in said
        path.write_bytes(content)


def test_a_damaged_image_cache_is_drawn_again_and_changes_no_result(nursery, undisturbed, tmp_path):
    shutil.copytree(undisturbed.folder / "cache", tmp_path / "cache")
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file() and path.stat().st_size:
            content = bytearray(path.read_bytes())
            content[-3] ^= 4
            path.write_bytes(content)
    undisturbed.assert_finished_by(nursery, tmp_path)


def test_damaged_pages_are_written_again(nursery, undisturbed, tmp_path):
    shutil.copytree(undisturbed.folder, tmp_path, dirs_exist_ok=True)
    for name in ("report.html", "explorer.html"):
        page = tmp_path / "runs" / name
        page.write_bytes(page.read_bytes()[:1000])
    undisturbed.assert_finished_by(nursery, tmp_path)
