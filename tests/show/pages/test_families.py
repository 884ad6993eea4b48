from unbraid.figures import family_look
from unbraid.show.pages.families import family_class


def test_a_family_has_one_color_however_it_is_spelt():
    assert family_class("beta-VAE") == family_class("BetaVAE") == "g1"
    assert family_class("vae") == "g0"


def test_past_the_last_color_they_come_again_dashed():
    assert family_class("annealed-vae") == "g0 again"


def test_pages_and_figures_number_their_colors_alike():
    families = ("vae", "beta-vae", "beta-tcvae", "factor-vae", "annealed-vae", "my own")
    by_class = {family_class(name).split()[0]: family_look(name).color for name in families}
    assert all(by_class[family_class(name).split()[0]] == family_look(name).color for name in families)
