import pytest

from unbraid.figures import labeled_sheet
from unbraid.objectives import BetaVAE
from unbraid.show.report import report_figures
from unbraid.show.report.members import read_members
from unbraid.show.report.report import Page
from unbraid.show.report.report_figures import write_figures
from unbraid.training import train

pytestmark = pytest.mark.slow

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def page(spec, tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept")
    runs = train([spec(BetaVAE(beta)) for beta in (1.0, 4.0, 16.0)], [0], folder=folder)
    return Page.from_members(read_members(runs))


def test_every_figure_of_the_page_has_a_name(page):
    names = {name for name, _ in report_figures._figures(page)}
    assert names >= {"scores-mig", "--objective.beta-mig", "rate-distortion", "training-rate", "training-loss"}
    for role in ("best", "middle", "worst"):
        assert names >= {f"{what}-{role}" for what in ("information", "traversals", "reconstructions", "samples")}


def test_each_is_written_as_svg_and_png_and_replaces_what_was_there(page, tmp_path, monkeypatch):
    drawn = dict(report_figures._figures(page))
    kinds = ("--objective.beta-mig", "traversals-best", "samples-best")
    assert isinstance(drawn["samples-best"], labeled_sheet.LabeledSheet)
    monkeypatch.setattr(report_figures, "_figures", lambda page: ((name, drawn[name]) for name in kinds))
    (tmp_path / "samples-best.png").write_text("of an older report")
    written = write_figures(page, tmp_path)
    assert [path.name for path in written] == [
        *("objective-beta-mig.svg", "objective-beta-mig.png", "traversals-best.svg", "traversals-best.png"),
        *("samples-best.svg", "samples-best.png"),
    ]
    for path in written:
        assert path.read_bytes()[:4] == b"\x89PNG" if path.suffix == ".png" else b"<svg" in path.read_bytes()
    assert "--objective.beta" in (tmp_path / "objective-beta-mig.svg").read_text()
    assert (tmp_path / "objective-beta-mig.csv").exists()
