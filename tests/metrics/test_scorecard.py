"""The scorecard: looked at, saved and read back."""

import csv
import io
import json
import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.metrics.fakes import CountFactors, Spread
from unbraid import Codes, Scorecard, evaluate
from unbraid.errors import CodesError, SpecError, UnbraidError
from unbraid.metrics.metric import Score


@pytest.fixture(scope="module")
def card() -> Scorecard:
    hue = np.arange(60) % 3
    mean = np.stack([hue - 1.0, np.linspace(-1, 1, 60)], axis=1)
    codes = Codes.from_arrays(mean, np.full((60, 2), 0.3), factors={"hue|<b>": hue, "angle": np.linspace(0, 1, 60)})
    made = evaluate(codes, metrics=["mig", "mig:quantized", CountFactors(), Spread(strict=True), Spread()], seed=1)
    return replace(made, left_out={"slow-one": "takes minutes."}, failed={"odd-one": "Traceback:\nKeyError: 'x'\n"})


# ---- a look


def test_it_is_a_mapping_from_names_to_scores(card):
    assert card["mig"] is card.scores[0]
    assert list(card) == list(card.keys()) == list(card.names)
    assert list(card.values()) == list(card.scores)
    assert card.get("mig") is card["mig"]
    assert card.get("slow-one") is card.get("mog") is None
    assert "mig" in card
    assert "slow-one" not in card
    assert len(card) == 4
    assert [score.metric for score in card.values()] == ["MIG", "MIG", "CountFactors", "Spread"]


def test_and_by_the_name_of_the_metric(card):
    assert card["MIG"] is card["mig"]
    assert card["CountFactors"] is card["count-factors"] is card["count_factors"]
    assert "MIG" in card
    assert "MOG" not in card
    only_bins = replace(card, names=card.names[1:], scores=card.scores[1:])
    assert only_bins["MIG"] is card["mig:quantized"]
    assert "mig" not in only_bins
    twice = replace(card, names=("mig:a", "mig:b", *card.names[2:]))
    assert "MIG" in twice
    with pytest.raises(KeyError, match="The scorecard has several scores of MIG"):
        twice["MIG"]


def test_a_dict_of_it_has_the_scores_by_name(card):
    assert dict(card) == dict(zip(card.names, card.scores, strict=True))
    assert {**card}["mig"] is card["mig"]


@pytest.mark.parametrize(
    ("name", "error", "complaint"),
    [
        ("spread:strict=true", CodesError, "too strict"),
        ("slow-one", CodesError, "takes minutes"),
        ("odd-one", KeyError, "odd-one has no score, because it failed:\nTraceback:\nKeyError: 'x'"),
        ("mog", KeyError, "The scorecard has no score 'mog'"),
    ],
)
def test_what_is_not_there_says_why(card, name, error, complaint):
    with pytest.raises(error, match=complaint):
        card[name]


def test_it_prints_as_a_table(card):
    lines = str(card).splitlines()
    assert lines[0].startswith("60 images, 2 latents, 2 factors (hue|<b>, angle). unbraid ")
    header = lines.index(next(line for line in lines if line.startswith("metric")))
    assert lines[header].split() == ["metric", "value", "95", "%", "interval", "better", "settled"]
    name, value, low, _, high, arrow = lines[header + 1].split()
    assert (name, arrow) == ("mig", "↑")
    assert float(low) <= float(value) <= float(high)
    assert any(line.split()[:1] == ["spread"] and line.split()[-2:] == ["↓", "no"] for line in lines)
    assert "  part_5" in str(card)
    assert "  part_6" not in str(card)
    assert "not defined:\n  spread:strict=true: Spread: too strict for these codes. Be lenient.\n" in str(card)
    assert "left out:\n  slow-one: takes minutes." in str(card)
    assert "  spread: More draws would move it." in str(card)


def test_columns_are_aligned(card):
    lines = str(card).split("\n\n")[1].splitlines()
    end = lines[0].index("value") + len("value")
    assert all(
        line[:end].rstrip() == line[:end] and line[end : end + 2].strip() == ""
        for line in lines
        if not line.endswith("...")
    )


def test_a_note_of_several_metrics_is_said_once(card):
    assert str(card).count("angle (continuous factors)") == 1
    assert "mig, mig:quantized, count-factors" in str(card)


def test_html_escapes_names(card):
    page = card._repr_html_()
    assert "<b>" not in page
    assert "hue|&lt;b&gt;" in page
    assert page.count("<tr>") == 1 + 4 + 7


# ---- saved


def test_json_gives_the_card_back(card):
    found = Scorecard.from_json(card.to_json())
    assert found == card
    assert found.seed == 1
    assert str(found) == str(card)
    assert torch.equal(found["mig"].tables["mutual_information"], card["mig"].tables["mutual_information"])
    assert math.isnan(found["spread"].tables["t"][0, 0])
    assert found["mig"].settings == card["mig"].settings


def test_json_is_json(card):
    content = json.loads(card.to_json(), parse_constant=pytest.fail)
    assert content["scores"][3]["tables"]["t"] == [[None, 1.0], ["inf", 2.0]]


def test_cards_that_differ_in_a_number_are_not_equal(card):
    other = replace(card, scores=(replace(card.scores[0], value=0.0), *card.scores[1:]))
    assert other != card
    assert card != "a card"


def test_csv_has_a_row_for_every_number(card):
    rows = list(csv.DictReader(io.StringIO(card.to_csv())))
    mig = [row for row in rows if row["name"] == "mig"]
    assert [(row["quantity"], row["of"]) for row in mig] == [("value", ""), ("factor", "hue|<b>")]
    assert float(mig[0]["value"]) == card["mig"].value
    assert (float(mig[0]["low"]), float(mig[0]["high"])) == card["mig"].interval
    assert json.loads(mig[0]["settings"]) == dict(card["mig"].settings)
    spread = [row for row in rows if row["name"] == "spread"]
    assert [row["quantity"] for row in spread] == ["value"] + ["part"] * 8 + ["latent"] * 2
    assert spread[1]["low"] == ""


def test_markdown_has_a_row_for_every_value_and_part(card):
    lines = card.to_markdown().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 4 + 8
    assert all(line.count("|") == 6 for line in table)
    assert any(line.startswith("- spread:strict=true") for line in lines)


def hostile(name: str) -> Scorecard:
    codes = Codes.from_arrays(np.eye(60)[:, :2], np.full((60, 2), 0.3), factors={name: np.arange(60) % 3})
    return evaluate(codes, metrics=[CountFactors(), Spread(strict=True)])


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", " =1+1"])
def test_no_name_is_a_formula_in_a_spreadsheet(name):
    rows = list(csv.DictReader(io.StringIO(hostile(name).to_csv())))
    assert [row["of"] for row in rows if row["quantity"] == "factor"] == [f"'{name}"]


def test_numbers_of_the_csv_stay_numbers(card):
    lowest = replace(card, scores=tuple(replace(score, value=-1.0) for score in card.scores))
    assert {row["value"] for row in csv.DictReader(io.StringIO(lowest.to_csv())) if row["quantity"] == "value"} == {
        "-1.0"
    }


def test_no_name_is_a_tag_or_a_link_in_markdown():
    text = replace(hostile("<script>"), notes=("[a](b) <img>",)).to_markdown()
    assert "1 factor (&lt;script>)" in text
    assert "- \\[a\\](b) &lt;img>" in text
    assert "<" not in text


def test_a_frame_is_the_csv(card, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    frame = card.to_pandas()
    assert list(frame) == next(csv.reader(io.StringIO(card.to_csv())))
    assert len(frame["value"]) == len(card.rows)
    assert frame["value"][0] == card["mig"].value


def test_without_pandas_there_is_no_frame_and_a_reason(card, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnbraidError, match="needs pandas"):
        card.to_pandas()


@pytest.mark.parametrize("suffix", ["json", "csv", "md"])
def test_the_suffix_says_how_it_is_saved(card, tmp_path, suffix):
    path = card.save(tmp_path / f"scores.{suffix}")
    assert path.read_text() == {"json": card.to_json, "csv": card.to_csv, "md": card.to_markdown}[suffix]()


def test_a_saved_card_is_loaded(card, tmp_path):
    assert Scorecard.load(card.save(tmp_path / "scores.json")) == card


def test_an_existing_file_is_kept_unless_told(card, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("mine")
    with pytest.raises(SpecError, match="exists"):
        card.save(path)
    assert path.read_text() == "mine"
    card.save(path, overwrite=True)
    assert path.read_text() == card.to_csv()


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("scores.txt", ".json, .csv, .md"),
        ("scores", "The path is "),
        ("no/s.json", "no folder"),
        ("x" * 305 + ".json", "too long"),
    ],
)
def test_a_target_that_cannot_be_is_refused(card, tmp_path, name, complaint):
    with pytest.raises(SpecError, match=complaint):
        card.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_replaced(card, tmp_path):
    (tmp_path / "scores.json").mkdir()
    with pytest.raises(SpecError, match="is a folder"):
        card.save(tmp_path / "scores.json", overwrite=True)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "scores": [{}]}', "[" * 100_000])
def test_what_is_no_card_is_refused(text, tmp_path):
    with pytest.raises(CodesError, match="not a scorecard"):
        Scorecard.from_json(text)
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(CodesError, match="card.json"):
        Scorecard.load(tmp_path / "card.json")


def test_a_card_of_another_format_is_refused(card):
    with pytest.raises(CodesError, match="format 2"):
        Scorecard.from_json(card.to_json().replace('"format": 1', '"format": 2'))
    with pytest.raises(CodesError, match=r"nowhere\.json does not exist"):
        Scorecard.load("nowhere.json")


def test_two_scores_do_not_share_a_name():
    with pytest.raises(SpecError, match="mig, mig"):
        Scorecard(("mig", "mig"), (Score("MIG", 0.1), Score("MIG", 0.2)), {}, 1, 1)


# ---- collapsed models


@pytest.fixture(scope="module")
def collapsed() -> Scorecard:
    """Means that hardly move in posteriors as wide as the prior, which a classifier tells apart all the same."""
    hue = np.arange(60) % 3
    mean = 2e-4 * np.stack([hue, np.arange(60) % 2], axis=1)
    return evaluate(Codes.from_arrays(mean, np.ones((60, 2)), factors={"hue": hue}), metrics=["mig", "explicitness"])


def test_a_collapsed_model_carries_a_badge_wherever_it_is_seen(collapsed):
    badge = "2 of 2 latents unused: these scores describe noise"
    assert collapsed["explicitness"].value > 0.6
    assert (collapsed.badge, collapsed.num_unused) == (badge, 2)
    assert str(collapsed).splitlines()[2] == f"{badge}."
    assert f"**{badge}.**" in collapsed.to_markdown()
    assert f"<strong>{badge}.</strong>" in collapsed._repr_html_()
    assert json.loads(collapsed.to_json())["badge"] == badge
    assert {row["badge"] for row in csv.DictReader(io.StringIO(collapsed.to_csv()))} == {badge}
    assert Scorecard.from_json(collapsed.to_json()).badge == badge


def test_a_model_in_use_carries_none(card):
    assert (card.badge, card.num_unused) == ("", 0)
    assert "unused" not in str(card)
    assert {row["badge"] for row in csv.DictReader(io.StringIO(card.to_csv()))} == {""}
