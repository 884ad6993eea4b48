from unbraid.show.report import model_pictures
from unbraid.show.report.members import read_members
from unbraid.show.report.model_pictures import cards
from unbraid.show.report.report import Page


def test_every_member_has_a_card_and_those_that_are_shown_in_full_refer_there(trained):
    page = Page.from_members(read_members(trained))
    made = cards(page.ordered)
    assert [card.member.number for card in made] == [1, 2, 3, 4]
    assert [card.member.role for card in made] == ["best", None, "middle", "worst"]
    (alone,) = (card for card in made if card.member.role is None)
    assert len(alone.readings) == alone.frames.height // 8
    assert alone.images.height == 2 * 8 + 1
    assert alone.heat_map.gaps


def test_of_many_models_each_card_holds_less(trained, monkeypatch):
    monkeypatch.setattr(model_pictures, "MAX_FULL", 2)
    page = Page.from_members(read_members(trained))
    (card,) = (card for card in cards(page.ordered) if card.member.role is None)
    assert card.frames.width == 5 * 9 - 1
    assert card.frames.address.startswith("data:image/webp;")
    assert card.images is card.heat_map is None
