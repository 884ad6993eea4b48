"""The page as text: what it holds, what it refuses."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tests.show.explorer.conftest import HOSTILE, NUM_IMAGES, SHAPE
from unbraid import FromArrays, train
from unbraid.errors import CodesError, DataError, RunError, SpecError
from unbraid.models.layers.initial_weights import seeded
from unbraid.show.explorer import write_explorer
from unbraid.training.runs import Run


def content(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_policy_names_the_script_and_the_style_by_their_hashes_and_allows_nothing_else(page_file):
    text = page_file.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    hashes = [
        base64.b64encode(hashlib.sha256(re.search(pattern, text, re.DOTALL)[1].encode()).digest()).decode()
        for pattern in (r"<script>(.*?)</script>", r"<style>(.*?)</style>")
    ]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"\b(fetch|eval|XMLHttpRequest|innerHTML|import)\b\(?", re.sub(r"/\*.*?\*/", "", text))


def test_names_with_markup_and_control_characters_stay_data(page_file, tmp_path, decoder, codes):
    assert HOSTILE not in page_file.read_text()
    assert HOSTILE in content(page_file)["factors"]
    title = "a\u2028b\x00<script>alert(1)</script>"
    page = write_explorer(path=tmp_path / "page.html", decoder=decoder, codes=codes, title=title)
    assert content(page)["title"] == title
    assert page.read_text().count("<script>") == 1


def test_latents_come_with_what_they_say(page_file):
    (model,) = content(page_file)["models"]
    across, down, noise, discrete = model["latents"]
    assert [across["follows"], noise["follows"], noise["unused"]] == [["across"], [], True]
    assert [latent["place"] for latent in (across, down, noise)] == [0, 1, 3]
    assert across["shares"][0] > 0.9 > down["shares"][0]
    assert (discrete["first"], discrete["width"], discrete["categories"]) == (3, 3, 3)
    assert sum(discrete["frequencies"]) == pytest.approx(1, abs=1e-3)
    assert (model["precision"], model["proof"]["count"]) == ("half", 16)


def test_runs_are_matched_and_the_best_one_names_the_sliders(runs_file, runs):
    first, second = content(runs_file)["models"]
    assert first["score"] >= second["score"]
    assert first["partners"] is None
    assert len(second["partners"]) == 3
    assert content(runs_file)["title"] == "The latents of 2 models"


def test_codes_may_be_a_plain_table_and_the_images_unknown(decoder, codes, tmp_path):
    table = np.zeros((NUM_IMAGES, 6))
    table[:, 0] = np.linspace(-9, 9, NUM_IMAGES)
    page = write_explorer(path=tmp_path / "page.html", decoder=decoder, codes=table)
    (model,) = content(page)["models"]
    assert content(page)["starts"]["originals"] is None
    assert [model["widths"], model["latents"][0]["nats"]] == [None, None]
    assert model["latents"][0]["place"] == 0  # that whose codes spread most
    assert (model["latents"][0]["low"], model["latents"][0]["high"]) == (-9, 9)


def test_a_decoder_may_put_out_flat_images_if_the_images_say_their_shape(codes, images, tmp_path):
    flat = seeded(lambda: nn.Linear(6, 256), 0)
    page = write_explorer(path=tmp_path / "page.html", decoder=flat, codes=codes, images=images)
    assert content(page)["shape"] == [1, 16, 16]


def test_a_function_is_shown_in_frames(codes, tmp_path):
    def blank(z):
        return torch.full((len(z), *SHAPE), 0.5)

    page = write_explorer(path=tmp_path / "page.html", decoder=blank, codes=codes)
    (model,) = content(page)["models"]
    assert model["graph"] is None
    assert "function" in model["reason"]
    assert "run" in page.read_text()


def test_large_decoders_are_int8_unless_asked_otherwise(codes, tmp_path):
    wide = seeded(lambda: nn.Sequential(nn.Linear(6, 4000), nn.Linear(4000, 256), nn.Unflatten(1, SHAPE)), 0)
    sizes = {}
    for precision in ("auto", "half", "int8"):
        page = write_explorer(path=tmp_path / "page.html", decoder=wide, codes=codes, precision=precision)
        sizes[content(page)["models"][0]["precision"]] = page.stat().st_size
    assert sizes["int8"] < 0.6 * sizes["half"]


def test_the_same_runs_give_the_same_bytes(runs, runs_file, tmp_path):
    assert write_explorer(runs, tmp_path / "again.html").read_bytes() == runs_file.read_bytes()


@pytest.mark.usefixtures("_as_users_run_it")
def test_what_does_not_fit_is_told(decoder, codes, images, runs, tmp_path):
    def write(*given, **named):
        return write_explorer(*given, **{"path": tmp_path / "page.html", **named})

    refused = ({}, {"decoder": decoder}, {"runs": runs, "codes": codes}, {"runs": runs, "images": images})
    for given in (*refused, {"runs": runs, "decoder": decoder}, {"codes": codes, "images": images}):
        with pytest.raises(SpecError, match=" and ".join(given) or None):
            write(**given)
    with pytest.raises(SpecError, match="precision"):
        write(decoder=decoder, codes=codes, precision="double")
    with pytest.raises(DataError, match="3 images"):
        write(decoder=decoder, codes=codes, images=images[:3])
    with pytest.raises(DataError, match=r"\(1, 8, 8\)"):
        write(decoder=decoder, codes=codes, images=images[:, :8, :8])
    with pytest.raises(CodesError, match=r"\(256,\)"):
        write(decoder=seeded(lambda: nn.Linear(6, 256), 0), codes=codes)
    with pytest.raises(CodesError, match=r"\(1, 6\)"):
        write(decoder=seeded(lambda: nn.Linear(7, 256), 0), codes=codes)
    with pytest.raises(CodesError, match="got str"):
        write(decoder="net", codes=codes)
    with pytest.raises(RunError, match="a Run"):
        write(runs[0])
    with pytest.raises(RunError, match="got 0"):
        write([])
    with pytest.raises(RunError, match="1 to 12"):
        write(runs * 13)
    assert not (tmp_path / "page.html").exists()


def test_runs_of_other_images_are_refused(runs, tmp_path):
    images = np.zeros((8, 16, 16), dtype=np.uint8)
    images[::2] = 255
    spec = replace(runs[0].spec, dataset=FromArrays.from_arrays(images), num_steps=1)
    others: list[Run] = train([spec], [0], folder=tmp_path / "runs", progress=False, device="cpu")
    with pytest.raises(RunError, match="2 different"):
        write_explorer([*runs, *others], tmp_path / "page.html")


def test_a_collapsed_model_carries_a_badge(page_file, tmp_path):
    assert content(page_file)["models"][0]["badge"] == ""
    decoder = seeded(lambda: nn.Sequential(nn.Linear(2, 64), nn.Sigmoid(), nn.Unflatten(1, (1, 8, 8))), 0)
    constant = write_explorer(decoder=decoder, codes=np.zeros((4, 2)), path=tmp_path / "constant.html")
    assert content(constant)["models"][0]["badge"].startswith("2 of 2 latents unused")
