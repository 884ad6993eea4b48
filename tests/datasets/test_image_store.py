import json
import logging
import multiprocessing
import os

import numpy as np
import pytest

from tests.datasets.mutants import flips
from tests.told import told_to
from unbraid.datasets import image_store
from unbraid.datasets.dataset import Factor
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.pixels import Bitmaps
from unbraid.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (23, 3, 4, 5), dtype=np.uint8)
FACTORS = np.stack([np.arange(23) % 4, np.arange(23) // 4], axis=1)
TABLE = (Factor("hue", 4, ordered=False), Factor("size", 6))
FACTS = {"sources": ["a file"]}


class Source:
    """Images in blocks of five, counting those it gave out; it breaks after `breaks_after` blocks."""

    def __init__(self, images=IMAGES, breaks_after=99):
        self.images, self.breaks_after, self.given = images, breaks_after, []

    def plan(self, facts=FACTS):
        return Plan(IMAGES.shape[1:], TABLE, FACTORS, self.blocks, facts=facts)

    def blocks(self, start):
        for first in range(start, len(self.images), 5):
            if len(self.given) == self.breaks_after:
                raise KeyboardInterrupt
            self.given.append(first)
            yield self.images[first : first + 5]


@pytest.fixture
def store(tmp_path):
    return ImageStore(tmp_path / "store")


@pytest.fixture
def save_always(monkeypatch):
    monkeypatch.setattr(image_store, "_SECONDS_BETWEEN_SAVES", -1.0)


def test_what_is_made_is_opened_again(store):
    assert store.flaw() == "the store is incomplete"
    store.make(Source().plan(), "making")
    assert store.flaw() is store.flaw(verify=True) is None
    images = store.images()
    np.testing.assert_array_equal(images.pixels, IMAGES)
    np.testing.assert_array_equal(images.values, FACTORS)
    assert images.factor_table == store.factor_table == TABLE
    assert store.facts == FACTS
    assert sorted(path.name for path in store.folder.iterdir()) == ["factors.npy", "images.npy", "record.json"]


WORDS = np.arange(92, dtype=np.uint64).reshape(23, 4) * np.uint64(0x0123456789ABCDEF)


@pytest.mark.parametrize("breaks", [False, True])
def test_bits_are_kept_as_words_and_opened_as_pixels(store, breaks, monkeypatch):
    monkeypatch.setattr(image_store, "_SECONDS_BETWEEN_SAVES", -1.0)

    def plan(source):
        return Plan((1, 4, 60), TABLE, FACTORS, source.blocks, "bits")

    if breaks:
        with pytest.raises(KeyboardInterrupt):
            store.make(plan(Source(WORDS, breaks_after=2)), "making")
    again = Source(WORDS)
    images = store.ensure(lambda: plan(again), "making", verify=True)
    assert again.given[0] == 10 * breaks
    np.testing.assert_array_equal(images.pixels[:], Bitmaps.from_words(WORDS, 60)[:])
    assert images.image_shape == (1, 4, 60)
    assert (store.folder / "images.npy").stat().st_size == 128 + WORDS.nbytes
    flip(store.folder / "images.npy", 200)
    np.testing.assert_array_equal(
        store.ensure(lambda: plan(again), "making").pixels[:], Bitmaps.from_words(WORDS, 60)[:]
    )


def test_a_cache_that_cannot_be_written_says_how_to_choose_another(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="Set UNBRAID_CACHE"):
        ImageStore(tmp_path / "file" / "store").ensure(Source().plan, "making")


def test_making_is_told_to_the_log_only(store, caplog, capsys):
    with caplog.at_level(logging.INFO):
        store.ensure(Source().plan, "making squares")
    assert f"Making squares, into {store.folder} (the store is incomplete)." in caplog.text
    assert capsys.readouterr() == ("", "")


def test_what_is_written_to_the_images_stays_in_memory(store):
    store.make(Source().plan(), "making")
    store.images().pixels[:] = 0
    np.testing.assert_array_equal(store.images().pixels, IMAGES)


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize("breaks_after", [0, 1, 3, 4])
def test_an_interrupted_making_goes_on_where_it_stopped(store, breaks_after):
    with pytest.raises(KeyboardInterrupt):
        store.make(Source(breaks_after=breaks_after).plan(), "making")
    assert store.flaw() == "the store is incomplete"
    again = Source()
    store.make(again.plan(), "making")
    assert again.given == list(range(5 * breaks_after, 23, 5))
    np.testing.assert_array_equal(store.images().pixels, IMAGES)
    assert store.flaw(verify=True) is None  # the checksum covers both halves


@pytest.mark.usefixtures("save_always")
def test_a_making_from_something_else_begins_anew(store):
    with pytest.raises(KeyboardInterrupt):
        store.make(Source(IMAGES + 1, breaks_after=2).plan(), "making")
    again = Source()
    store.make(again.plan({"sources": ["another file"]}), "making")
    assert again.given[0] == 0
    np.testing.assert_array_equal(store.images().pixels, IMAGES)


def test_what_was_told_of_one_making_is_not_believed_of_another(store, monkeypatch):
    """Broken off, begun anew from something else, broken off before anything was saved, and begun again from the
    first.
    """
    monkeypatch.setattr(image_store, "_SECONDS_BETWEEN_SAVES", -1.0)
    with pytest.raises(KeyboardInterrupt):
        store.make(Source(breaks_after=2).plan(), "making")
    monkeypatch.setattr(image_store, "_SECONDS_BETWEEN_SAVES", 1e9)
    with pytest.raises(KeyboardInterrupt):
        store.make(Source(IMAGES + 1, breaks_after=3).plan({"sources": ["another file"]}), "making")
    store.make(Source().plan(), "making")
    np.testing.assert_array_equal(store.images().pixels, IMAGES)


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize("damage", ["part cut", "part gone", "progress garbled", "progress boasts", "progress flipped"])
def test_leftovers_that_cannot_be_trusted_are_not_used(store, damage):
    with pytest.raises(KeyboardInterrupt):
        store.make(Source(breaks_after=2).plan(), "making")
    part, told = store.folder / "images.part", store.folder / "progress.json"
    match damage:
        case "part cut":
            os.truncate(part, 200)
        case "part gone":
            part.unlink()
        case "progress garbled":
            told.write_text("{")
        case "progress boasts":
            told.write_text(json.dumps(json.loads(told.read_text()) | {"done": 24}))
        case "progress flipped":
            # Twelve images were written when the process ended, and only the first ten were known to be safe.
            part.write_bytes(part.read_bytes() + bytes(2 * IMAGES[0].size))
            told.write_text(told.read_text().replace('"done": 10', '"done": 12'))
    again = Source()
    store.make(again.plan(), "making")
    assert again.given[0] == 0
    np.testing.assert_array_equal(store.images().pixels, IMAGES)


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda folder: (folder / "images.npy").unlink(), "No such file"),
        (lambda folder: os.truncate(folder / "images.npy", 500), "500 bytes; expected 1508"),
        (lambda folder: flip(folder / "images.npy", 1000), "SHA-256 of images.npy"),
        (lambda folder: flip(folder / "factors.npy", 200), "SHA-256 of factors.npy"),
        (lambda folder: (folder / "record.json").write_text("[]"), "record.json is damaged"),
        (lambda folder: (folder / "record.json").write_text('{"format": 1}'), "record.json is damaged"),
        (lambda folder: (folder / "record.json").write_text("[" * 100_000), "record.json is damaged"),
    ],
)
def test_damage_is_found(store, damage, match):
    store.make(Source().plan(), "making")
    damage(store.folder)
    assert match in store.flaw()


def test_no_flipped_bit_of_the_record_is_believed(store):
    store.make(Source().plan(), "making")
    path, record = store.folder / "record.json", store.record
    num_found = 0
    for flipped in flips(path.read_bytes()):
        path.write_bytes(flipped)
        # A flip between words may leave the record what it was.
        assert store.record in (None, record)
        assert store.factor_table in ((), TABLE)
        num_found += store.record is None
    assert num_found > 500
    assert store.flaw() == "record.json is damaged"


def test_of_a_large_store_a_few_images_are_looked_at(store, monkeypatch):
    monkeypatch.setattr(image_store, "ALWAYS_VERIFIED_BYTES", 0)
    store.make(Source().plan(), "making")
    assert store.flaw() is None
    flip(store.folder / "images.npy", 128 + 22 * 60)
    assert store.flaw() == "image 22 differs from its recorded checksum"


@pytest.mark.parametrize("name", ["images.npy", "factors.npy"])
def test_of_a_large_store_damaged_headers_are_found(store, monkeypatch, name):
    monkeypatch.setattr(image_store, "ALWAYS_VERIFIED_BYTES", 0)
    store.make(Source().plan(), "making")
    content = (store.folder / name).read_bytes()
    (store.folder / name).write_bytes(content.replace(b"}", b" ", 1))
    assert "the store is damaged" in store.flaw()


@pytest.mark.parametrize("moment", ["images.npy", "factors.npy"])
def test_what_another_process_begins_to_make_again_is_not_read(store, monkeypatch, moment):
    store.make(Source().plan(), "making")
    mapped = ImageStore._mapped

    def mapped_while_another_begins(self, name):
        if name == moment:
            (self.folder / "record.json").unlink()
        return mapped(self, name)

    monkeypatch.setattr(ImageStore, "_mapped", mapped_while_another_begins)
    with pytest.raises(DataError, match="is rewriting"):
        store.images()


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("images", "match"),
    [
        (IMAGES[:20], "20 images; expected 23"),
        (np.concatenate([IMAGES, IMAGES]), "expected uint8"),
        (IMAGES[:, :, :3], "expected uint8"),
        (IMAGES.astype(np.int16), "expected uint8|UInt8"),
    ],
)
def test_a_source_that_does_not_keep_its_promise_is_refused(store, images, match):
    with pytest.raises((DataError, TypeError), match=match):
        store.make(Source(images).plan(), "making")
    assert store.flaw() == "the store is incomplete"


def test_whoever_watches_is_told_how_far_it_is(store):
    told = []
    with told_to(told):
        store.make(Source().plan(), "making")
    assert told == [("making", done, 23, "images") for done in (5, 10, 15, 20, 23)]


def make_and_count(folder, results):
    store, source = ImageStore(folder), Source()
    store.ensure(source.plan, "making")
    results.put(len(source.given))


def test_of_two_processes_one_makes_it_and_the_other_waits(store):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=make_and_count, args=(store.folder, results)) for _ in range(2)]
    for process in processes:
        process.start()
    assert sorted(results.get(timeout=60) for _ in processes) == [0, 5]
    for process in processes:
        process.join()
    assert store.flaw(verify=True) is None


def test_facts_can_be_put_differently(store):
    store.make(Source().plan(), "making")
    store.note({"sources": ["moved"]})
    assert store.facts == {"sources": ["moved"]}
    assert store.flaw(verify=True) is None
