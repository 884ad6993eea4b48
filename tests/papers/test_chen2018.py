"""The items of Chen et al.: they exist at every scale, share their runs, and are drawn from scores alone."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from unbraid.data import Factor
from unbraid.data.published import basel_faces
from unbraid.figures.canvas import data_of
from unbraid.papers.chen2018 import PAPER
from unbraid.papers.chen2018.boxes import METHODS
from unbraid.papers.chen2018.joint_designs import DESIGNS, table_numbers
from unbraid.papers.chen2018.precision import PRECISIONS
from unbraid.papers.item import Item
from unbraid.papers.judgement import judge
from unbraid.papers.work import StudyWork, TunedWork, digest_of
from unbraid.sampling.chen_design import Design
from unbraid.studies.claims import AtLeast, Higher, NotLower, OnlyIf
from unbraid.studies.execute import StudyOptions
from unbraid.studies.study_scores import Number, ScoredRun, StudyScores

QUIET = StudyOptions(device="cpu", num_scorers=0, progress=False)
ITEMS = {item.name: item for item in PAPER.items}


def settings_of(item: Item, scale: str) -> dict[str, str]:
    """Returns the digest of each setting by its label."""
    work = item.at(scale)
    if isinstance(work, TunedWork):
        return {each.label: each.spec.digest for each in (*work.study.settings, *work.candidates)}
    assert isinstance(work, StudyWork)
    return {each.label: each.spec.digest for each in work.study.settings}


def made_up(item: Item, scale: str) -> StudyScores:
    """Returns scores of every setting and metric, of six seeds, which rise with the setting and the seed."""
    empty = item.at(scale).empty()
    runs, numbers = [], []
    for place, label in enumerate(empty.settings):
        for seed in range(6):
            run = f"{label}-{seed}"
            runs.append(ScoredRun(label, seed, run, "finished", 1.0, 5))
            numbers += [
                Number(label, seed, metric, "", "value", "", 0.1 + 0.05 * place + 0.02 * seed, 0.0, 1.0, run)
                for metric in empty.metrics
            ]
    return replace(empty, runs=tuple(runs), numbers=tuple(numbers))


@pytest.mark.parametrize("item", PAPER.items, ids=lambda item: item.name)
def test_every_item_is_whole_at_every_scale(item: Item) -> None:
    works = {scale: item.at(scale) for scale in item.scales}
    digests = {scale: digest_of(work) for scale, work in works.items()}
    assert digests["smoke"] == digest_of(item.at("smoke"))
    for work in works.values():
        assert work.claims
        assert work.num_runs >= len(work.empty().settings)
        assert all(claim.sentence.endswith(".") for claim in work.claims)
    if item.trains:
        assert len(set(digests.values())) == len(digests)
        assert item.choices
        assert item.notes
    assert set(item.columns) <= set(works["smoke"].empty().metrics)


@pytest.mark.parametrize("item", [item for item in PAPER.items if item.trains], ids=lambda item: item.name)
def test_every_figure_is_drawn_from_scores_alone(item: Item) -> None:
    pytest.importorskip("matplotlib")
    if item.draw is not None:
        drawn = item.draw(made_up(item, item.scales[1]))
        assert (drawn if isinstance(drawn, tuple) else (drawn,))[0].figure.axes


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_figures_2_3_4_and_the_ablations_share_runs(scale: str) -> None:
    sweep, others = settings_of(ITEMS["figure2a"], scale), settings_of(ITEMS["figure4a"], scale)
    assert sweep == others
    boxes, ablations = settings_of(ITEMS["figure3a"], scale), settings_of(ITEMS["ablations"], scale)
    for label in METHODS[:3]:
        assert boxes[label] == sweep[label]
    assert ablations["beta-TCVAE 6"] == sweep["beta-TCVAE 6"]
    asked = [ITEMS[name].at(scale).definition() for name in ("figure2a", "figure3a", "figure4a", "ablations")]
    assert all(each["metrics"] == asked[0]["metrics"] for each in asked)
    assert all(each["scorings"] == asked[0]["scorings"] for each in asked)


def test_a_stand_in_does_as_the_original_on_other_images() -> None:
    # figure1-purity asks models of the stand-in what the original does not ask.
    stand_ins = [item for item in PAPER.items if item.stands_in_for and item.name != "figure1-purity"]
    assert len(stand_ins) == 7
    for item in stand_ins:
        original = ITEMS[item.stands_in_for.partition("/")[2]]
        assert original.stand_in == item.id
        assert original.needs
        ours, theirs = settings_of(item, "quick"), settings_of(original, "quick")
        assert ours.keys() == theirs.keys()
        assert not set(ours.values()) & set(theirs.values())
        assert {each.sentence for each in original.at("quick").claims} <= {
            each.sentence for each in item.at("quick").claims
        }


def test_an_infogan_that_has_not_learned_is_never_compared() -> None:
    for name in ("figure3a", "figure3b", "figure5b", "figure5b-uniform"):
        work = ITEMS[name].at("quick")
        compared = [claim for claim in work.claims if "InfoGAN" in claim.sentence and not claim.is_control]
        assert compared
        for claim in compared:
            assert isinstance(claim, OnlyIf)
            assert claim.guarded.endswith("InfoGAN")
            assert claim.guarded in claim.claim.subjects()[0]


def test_levels_that_the_paper_does_not_print_are_controls() -> None:
    levels = [claim for claim in ITEMS["figure3a"].at("quick").claims if isinstance(claim, AtLeast)]
    assert len(levels) == 3
    assert all(claim.is_control for claim in levels)


@pytest.mark.parametrize("name", ["figure2a", "figure4a"])
def test_sweeps_are_asked_at_every_beta_and_without_beta_1(name: str) -> None:
    claims = ITEMS[name].at("paper").claims
    if name == "figure2a":
        asked = [claim for claim in claims if claim.subjects()[1] == ("mig",) and isinstance(claim, Higher | NotLower)]
        assert len(asked) == 7  # 2, 3, 4, 5, 6, 8, 10
        return
    counted = [claim for claim in claims if not claim.is_control]
    assert [("VAE" in claim.subjects()[0]) for claim in counted] == [True, False, True, True, False, False]
    assert len(claims) - len(counted) == 2  # grids that end at 6 and at 8


def test_the_band_of_figure_2_is_a_90_percent_interval() -> None:
    pytest.importorskip("matplotlib")
    _, right = ITEMS["figure2a"].draw(made_up(ITEMS["figure2a"], "quick"))
    rows = list(data_of(right))
    assert {row["n"] for row in rows} == {6}
    assert all(row["low"] < row["mean"] < row["high"] for row in rows)
    # Six seeds from 0 to 0.1: Student's 95 % interval would reach 0.039 to either side.
    assert all(row["high"] - row["low"] < 0.06 for row in rows)


def test_the_faces_of_table_2_are_those_of_the_paper_and_ours_are_a_control(tmp_path: Path) -> None:
    item = ITEMS["table2"]
    work = item.at("paper")
    assert work.run(tmp_path, QUIET).failures == {}
    judged = judge(item, "paper", work.scores(tmp_path))
    assert judged.verdict == "reproduced"
    of_stand_in = [claim.is_control for claim in judged.claims if "stand-in" in claim.sentence]
    assert len(of_stand_in) == 7
    assert all(of_stand_in)
    assert {printed.setting for printed in item.printed} == {"dSprites", "3D faces"}


def test_factor_vae_is_tuned_on_seeds_that_are_not_tested_and_takes_twice_the_steps() -> None:
    work = ITEMS["figure3a"].at("quick")
    assert isinstance(work, TunedWork)
    beta_vae = next(each for each in work.study.settings if each.label == "beta-VAE 4")
    assert all(each.spec.num_steps == 2 * beta_vae.spec.num_steps for each in work.candidates)
    assert not set(work.seeds) & {seed for each in work.candidates for seed in each.seeds}


def test_figure_5_is_scored_under_the_design_and_under_the_uniform_one() -> None:
    biased, uniform = (ITEMS[name].at("quick").definition() for name in ("figure5b", "figure5b-uniform"))
    assert biased["scorings"] == uniform["scorings"][::-1]
    assert biased["settings"] == uniform["settings"]
    assert len(biased["settings"]) == 12


@pytest.mark.parametrize("design", DESIGNS)
def test_the_tables_of_figure_5_are_what_the_paper_says(design: Design) -> None:
    found = table_numbers(design)
    assert found["least probability"] > 0
    assert found["likeliest to least likely"] == pytest.approx(1 if design == "A" else 4)
    assert (abs(found["correlation"]) > 1e-9) == (design == "D")
    assert (abs(found["mutual information"]) > 1e-9) == (design in "CD")
    assert (abs(found["missing entropy"]) > 1e-9) == (design == "B")


def test_precisions_are_compared_with_the_same_seeds_and_nothing_else_differs() -> None:
    work = ITEMS["precision"].at("quick")
    assert isinstance(work, StudyWork)
    specs = {each.label: each for each in work.study.settings}
    for name, count in (("sprites", 200), ("dSprites", 10)):
        settings = [specs[f"{name}, {precision}"] for precision in PRECISIONS]
        assert all(each.seeds == tuple(range(count)) for each in settings)
        assert len({replace(each.spec, precision="float32").digest for each in settings}) == 1


@pytest.fixture
def few_basel_faces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in the official format, of two people in place of fifty."""
    sizes = (2, 3, 2, 2)
    factors = tuple(Factor(f.name, size, f.ordered) for f, size in zip(basel_faces._FACTORS, sizes, strict=True))
    monkeypatch.setattr(basel_faces, "_FACTORS", factors)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "basel-faces"
    folder.mkdir(parents=True)
    images = (torch.arange(math.prod(sizes))[:, None, None] * 10 + torch.arange(64)).to(torch.uint8)
    torch.save(images.expand(-1, 64, -1).clone(), folder / "basel_face_renders.pth")


@pytest.mark.slow
@pytest.mark.usefixtures("few_basel_faces")
@pytest.mark.parametrize(
    ("name", "sharing", "setting"),
    [("figure2b", "figure4b", "beta-TCVAE 6"), ("figure5b", "figure5b-uniform", "D, beta-TCVAE 6")],
)
def test_figures_run_on_a_file_in_the_official_format(tmp_path: Path, name: str, sharing: str, setting: str) -> None:
    work = ITEMS[name].at("smoke")
    assert work.run(tmp_path / "runs", QUIET).failures == {}
    assert ITEMS[sharing].at("smoke").run(tmp_path / "runs", QUIET).num_trained == 0
    assert len(work.scores(tmp_path / "runs").values(setting, "mig")) == 2
