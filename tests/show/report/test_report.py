import base64
import datetime
import hashlib
import itertools
import os
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.told import warned
from tests.training.runs.finished_runs import fail
from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.datasets import FromArrays
from unbraid.errors import RunError, SpecError
from unbraid.objectives import VAE, BetaVAE
from unbraid.show.pages.page import filled
from unbraid.show.report import members as members_module
from unbraid.show.report import report as report_module
from unbraid.show.report import write_report
from unbraid.show.report.members import read_members
from unbraid.training import train
from unbraid.training.runs import Run

DATE = datetime.date(2026, 2, 3)
SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, and the text between."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.pieces).split())

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]


def page(runs, tmp_path, **options) -> Page:
    return Page(write_report(runs, tmp_path / "report.html", date=DATE, **options).read_text())


def dots(shown: Page) -> list[str]:
    """The models whose dots are in the strips that are seen at first."""
    (strips,) = re.findall(r'data-measure="0".*?data-measure="1"', shown.html, re.DOTALL)
    return re.findall(r'<circle class="dot[^"]*" data-m="(\d+)" cx="[\d.]+%', strips)


def copied(run: Run, folder: Path) -> Run:
    return Run.open(shutil.copytree(run.folder, folder))


def assert_nothing_else_runs_and_nothing_is_fetched(shown: Page) -> None:
    assert not shown.all("iframe", "object", "embed", "link", "base", "foreignobject", "use", "image")
    assert len(shown.all("script")) == 1
    assert [a["method"] for a in shown.all("form")] == ["dialog"]
    for tag, attributes in shown.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in {"src", "href", "xlink:href", "srcset", "action"}:
                assert re.match(r"data:image/(png|webp);base64,|#[a-z]+\d*$", value), (tag, value)
            if name == "style":
                picture = r"--s:url\(data:image/(png|webp);base64,[\w+/=]+\)(;--[rnfw]:[\d./]+%?){4}"
                assert re.fullmatch(rf"--share:[01]\.\d+|{picture}", value), (tag, value)
    style = shown.pieces[shown.pieces.index(next(piece for piece in shown.pieces if ":root" in piece))]
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_shows_every_part(trained, tmp_path):
    shown = page(trained, tmp_path)
    headings = [
        "Scores",
        "All models and metrics",
        "Information of each latent",
        "What each latent does",
        "Codes and factors",
        "Reconstructions",
        "Samples",
        "Every model",
        "Training",
        "Data",
        "What was trained",
        "How to repeat it",
    ]
    assert all(heading in shown.text for heading in headings)
    assert "vae and beta-tcvae on from-arrays 4 models, 2 objectives, 24 images of 8 × 8. Best: " in shown.text
    assert "2026-02-03" in shown.text
    assert sorted(dots(shown)) == ["1", "2", "3", "4"]
    assert len([a for a in shown.all("table") if a.get("class") == "heat"]) == 4
    assert "Constant in these" in shown.text
    assert "setting --objective --objective.beta" in shown.text
    assert "--model.encoder.hidden 8" in shown.text
    assert "--seeds 0-1" in shown.text


def test_the_page_is_written_where_it_was_asked_for(trained, tmp_path):
    path = write_report(trained, str(tmp_path / "deep" / "folder" / "page.html"))
    assert path == tmp_path / "deep" / "folder" / "page.html"
    assert path.is_file()


@pytest.mark.slow
def test_the_same_runs_make_the_same_bytes(trained, tmp_path):
    first, second = (write_report(trained, tmp_path / name, date=DATE).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_today_is_the_date_unless_told(trained, tmp_path):
    before = datetime.datetime.now(datetime.UTC).date()
    content = write_report(trained[:1], tmp_path / "report.html").read_text()
    assert any(day.isoformat() in content for day in (before, before + datetime.timedelta(days=1)))


def test_the_page_has_one_script_that_its_policy_allows_and_no_network(trained, tmp_path):
    shown = page(trained, tmp_path)
    assert_nothing_else_runs_and_nothing_is_fetched(shown)
    (policy,) = (a["content"] for a in shown.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    (script,) = re.findall("<script>(.*?)</script>", shown.html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'; img-src data:; style-src ")


def test_no_name_can_put_html_into_the_page(spec, tmp_path):
    """The path, the title and the folder hold real tags: a slash in `</script>` is a folder boundary."""
    path = tmp_path / IMAGE / f"{SCRIPT}.npz"
    path.parent.mkdir(parents=True)
    (path.parent / "<script>alert(1)<").mkdir()
    images = np.arange(24 * 64, dtype=np.uint8).reshape(24, 8, 8)
    factors = np.stack([np.arange(24) % 4, np.arange(24) // 4, np.zeros(24, dtype=int)], axis=1)
    np.savez(path, images=images, factors=factors, factor_names=np.array([SCRIPT, IMAGE, f"x' onload='{SCRIPT}"]))
    runs = train([spec(VAE(), FromArrays(str(path)))], [0, 1, 2], folder=tmp_path / "runs")
    renamed = [
        Run.open(run.folder.rename(run.folder.with_name(f"{index}{IMAGE}<b>"))) for index, run in enumerate(runs)
    ]
    (renamed[2].folder / "finished.json").unlink()
    fail(renamed[2], step=1)
    shown = page(renamed, tmp_path, title=f"{SCRIPT}{IMAGE}")
    assert_nothing_else_runs_and_nothing_is_fetched(shown)
    for text in (f"{SCRIPT}{IMAGE}", f"0{IMAGE}<b>", f"2{IMAGE}<b> failed", str(path), f"x' onload='{SCRIPT}"):
        assert text in shown.text


def test_a_folder_whose_name_is_not_unicode_is_no_obstacle(trained, tmp_path):
    run = copied(trained[0], tmp_path / os.fsdecode(b"caf\xe9"))
    (run.folder / "finished.json").unlink()
    assert "caf?" in page([run, trained[1]], tmp_path).text


def test_a_single_run_has_a_page(trained, tmp_path):
    shown = page(trained[:1], tmp_path)
    assert "seed 0" in shown.text
    assert len([a for a in shown.all("table") if a.get("class") == "heat"]) == 1


def test_images_without_factors_have_a_page_without_mig(spec, tmp_path):
    unlabeled = FromArrays.from_arrays(np.arange(24 * 64, dtype=np.uint8).reshape(24, 8, 8))
    shown = page(train([spec(VAE(), unlabeled), spec(BetaVAE(), unlabeled)], [0, 1], folder=tmp_path), tmp_path)
    assert "no MIG" in shown.text
    assert "higher is better" in shown.text
    assert "Information of each latent" not in shown.text
    assert "nats" in shown.text
    assert_nothing_else_runs_and_nothing_is_fetched(shown)


def test_images_in_color_have_a_page(spec, tmp_path):
    generator = np.random.default_rng(0)
    images, factors = generator.integers(0, 256, (24, 40, 40, 3), dtype=np.uint8), np.arange(24)[:, None] % 4
    shown = page(train([spec(VAE(), FromArrays.from_arrays(images, factors))], [0], folder=tmp_path), tmp_path)
    assert "40 × 40" in shown.text
    assert any(a["src"].startswith("data:image/webp;") for a in shown.all("img"))


def test_runs_that_are_not_finished_are_named_and_left_out(trained, tmp_path):
    failed, unfinished = copied(trained[0], tmp_path / "of-failure"), copied(trained[1], tmp_path / "of-haste")
    (failed.folder / "finished.json").unlink()
    fail(failed, step=1)
    (unfinished.folder / "finished.json").unlink()
    shown = page([failed, *trained[2:], unfinished], tmp_path)
    assert "2 of 4" in shown.text
    assert "1 of 2." in shown.text
    assert "of-haste" in shown.text
    assert sorted(dots(shown)) == ["1", "2"]


def test_labeled_and_unlabeled_runs_share_a_page(trained, spec, tmp_path):
    unlabeled = FromArrays.from_arrays(np.arange(24 * 64, dtype=np.uint8).reshape(24, 8, 8))
    shown = page([*trained[:2], *train([spec(VAE(), unlabeled)], [0], folder=tmp_path)], tmp_path)
    assert "Without a MIG:" in shown.text
    assert "2 datasets" in shown.text


def test_a_history_without_the_usual_parts_is_no_obstacle(spec, tmp_path):
    unlabeled = FromArrays.from_arrays(np.arange(24 * 64, dtype=np.uint8).reshape(24, 8, 8))
    (run,) = train([spec(VAE(), unlabeled)], [0], folder=tmp_path)
    history, record = run.folder / "history.csv", run.folder / "finished.json"
    before = files.sha256(history)
    history.write_text("step,loss\n1,3.0\n2,2.0\n")
    record.write_text(record.read_text().replace(before, files.sha256(history)))
    assert "1 objective, 24" in page([run], tmp_path).text


def test_without_a_finished_run_there_is_no_report(trained, tmp_path):
    run = copied(trained[0], tmp_path / "alone")
    (run.folder / "finished.json").unlink()
    with pytest.raises(RunError, match="least one finished"):
        write_report([run], tmp_path / "report.html")
    with pytest.raises(RunError, match="runs were given"):
        write_report([], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_headings_go_down_one_level_at_a_time(trained, tmp_path):
    levels = [int(tag[1]) for tag, _ in page(trained, tmp_path).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_picture_says_what_it_shows(trained, tmp_path):
    shown = page(trained, tmp_path)
    assert shown.all("img")
    assert all(a["alt"] for a in shown.all("img"))
    assert all(a.get("aria-label") or a.get("aria-hidden") for a in shown.all("svg") if "x" not in a)
    assert all(a.get("aria-label") for a in shown.all("span") if "frames" in (a.get("class") or ""))


def test_every_link_leads_to_a_place_on_the_page(trained, tmp_path):
    shown = page(trained, tmp_path)
    places = {a["id"] for _, a in shown.elements if "id" in a}
    assert {a["href"].removeprefix("#") for a in shown.all("a")} <= places


@pytest.mark.parametrize("dark", [False, True])
def test_every_number_on_the_heat_map_can_be_read(dark):
    """WCAG 2.2 asks for a contrast of 4.5 to 1."""
    style = filled("colors.css")
    heat = [tuple(map(int, numbers.split())) for numbers in re.findall(r"--heat: ([\d ]+);", style)][dark]
    faint, strong, surface = (
        [tuple(bytes.fromhex(color)) for color in re.findall(rf"--{name}: #(\w+);", style)][dark]
        for name in ("on-faint", "on-strong", "surface")
    )
    for share in np.linspace(0, 1, 301):
        behind = [share * h + (1 - share) * s for h, s in zip(heat, surface, strict=True)]
        assert contrast(behind, strong if share >= 2 / 3 else faint) > 4.45, share


def contrast(one, other):
    darker, lighter = sorted(0.05 + luminance(color) for color in (one, other))
    return lighter / darker


def luminance(color):
    shares = [c / 255 for c in color]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def rendered(members, **options) -> Page:
    return Page(report_module.render_report(report_module.Page.from_members(members), [], None, DATE, **options))


@pytest.mark.slow
def test_a_collapsed_model_is_called_so_wherever_it_is_shown(trained):
    used = [replace(member, num_unused=1) for member in read_members(trained)]
    assert "ollapsed" not in rendered(used).text.split('"use strict"')[0].split("collapse; font")[-1]
    assert not badges(rendered(used))
    (first, *others), badge = used, "3 of 3 latents unused: these scores describe noise"
    shown = rendered([replace(first, num_unused=3), *others])
    assert "1 of 4" in shown.text
    assert f"vae, seed 0 : {badge}." in shown.text
    assert "1 of 2" in shown.text  # beside the median of its strip
    assert "1 of 2" in shown.text  # in the table of settings
    assert len(badges(shown)) >= 2  # in the table of models and on its card
    every = rendered([replace(member, num_unused=3) for member in used]).text
    assert re.search(rf"seed \d, MIG 0\.\d{{3}} over [\w ,]+\. {badge}\.", every)  # in the summary, of the best


def badges(shown: Page) -> list[str]:
    return [a["title"] for a in shown.all("span") if a.get("class") == "badge" and "title" in a]


def test_every_model_has_a_card_and_a_row_that_leads_to_it(trained, tmp_path):
    shown = page(trained, tmp_path)
    assert [a["id"] for a in shown.all("details") if a.get("class") == "card"] == ["m1", "m2", "m3", "m4"]
    assert {a["href"] for a in shown.all("a")} >= {"#m1", "#m2", "#m3", "#m4"}
    assert all(run.name in shown.text for run in trained)


def test_models_may_be_sorted_by_any_score_that_they_have(trained, tmp_path):
    runs = [copied(run, tmp_path / run.name) for run in trained]
    with warned("constant in these"):
        for run in runs:
            run.score("sap")
    shown = page(runs, tmp_path, by="sap")
    assert f"SAP {max(run.named_scores()['sap'].value for run in runs):.3f}." in shown.text
    assert re.findall(r'<option value="\d">([\w-]+)', shown.html)[:2] == ["SAP", "MIG"]
    assert "unbraid report" in shown.text
    assert "--by sap" in shown.text
    with pytest.raises(SpecError, match="'dci'"):
        page(runs, tmp_path, by="dci")


def test_an_explorer_beside_the_report_is_linked_to(trained, tmp_path):
    assert "the explorer" not in page(trained[:1], tmp_path).text
    (tmp_path / "explorer.html").touch()
    (link,) = (a["href"] for a in page(trained[:1], tmp_path).all("a") if a.get("class") == "explorer")
    assert link == "explorer.html"


def test_the_page_tells_by_what_it_was_made_and_how_to_repeat_it(trained, tmp_path):
    text = page(trained, tmp_path).text
    assert f"unbraid {__version__} torch {torch.__version__} device CPU training" in text
    assert re.search(r"from-arrays\S* .*--objective beta-tcvae:beta=4", text)
    assert f"unbraid report {trained[0].folder.parent.name}" in text


def test_the_latents_that_a_run_does_not_use_are_counted(trained, monkeypatch):
    monkeypatch.setattr(members_module, "unused_latents", lambda codes, mig: torch.ones(3, dtype=torch.bool))
    assert [member.badge for member in read_members(trained[:1])] == [
        "3 of 3 latents unused: these scores describe noise"
    ]
