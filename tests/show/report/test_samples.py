from unbraid.show.pages.pictures import sheet
from unbraid.show.report.members import read_members
from unbraid.show.report.samples import NUM_COLUMNS, NUM_ROWS, prior_samples


def test_each_member_is_shown_by_draws_from_its_prior(trained):
    best, worst = read_members(trained[:2])
    shown = prior_samples({"best": best, "worst": worst})
    assert list(shown) == ["best", "worst"]
    assert {(made.width, made.height) for made in shown.values()} == {(NUM_COLUMNS * 9 - 1, NUM_ROWS * 9 - 1)}
    images = best.run.model().sample(NUM_ROWS * NUM_COLUMNS).unflatten(0, (NUM_ROWS, NUM_COLUMNS))
    assert shown["best"] == sheet(images) != shown["worst"]
