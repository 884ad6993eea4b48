"""Pages that the nav does not list are added to the section of their folder."""

from types import SimpleNamespace

from docs.hooks.unlisted import on_config


def test_a_page_that_is_not_listed_is_added_to_its_section(tmp_path):
    for name in ("index", "vae", "new-one"):
        (tmp_path / "objectives").mkdir(exist_ok=True)
        (tmp_path / "objectives" / f"{name}.md").write_text("# A page")
    nav = ["index.md", {"Learn": [{"Objectives": ["objectives/index.md", {"VAE": "objectives/vae.md"}]}]}]
    config = on_config(SimpleNamespace(nav=nav, docs_dir=str(tmp_path)))
    assert config.nav[1]["Learn"][0]["Objectives"][2:] == ["objectives/new-one.md"]
