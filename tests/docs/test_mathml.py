import re
from pathlib import Path

import pytest

from tests.browser import OpenPage
from tests.discovery import ROOT

pytest.importorskip("latex2mathml", reason="formulas are converted with the `docs` extra")

from docs.hooks.mathml import mathml


def shape(latex: str, *, is_block: bool = False) -> str:
    """The elements of the formula and what they hold, without attributes."""
    return re.sub(r"<(/?\w+)[^>]*?(/?)>", r"<\1\2>", mathml(latex, is_block=is_block))


def test_a_formula_becomes_mathml():
    assert shape("z_i") == "<math><mrow><msub><mi>z</mi><mi>i</mi></msub></mrow></math>"


def test_an_unknown_command_is_refused_rather_than_shown():
    with pytest.raises(ValueError, match=r"\\foo"):
        mathml(r"\foo + x", is_block=False)


def test_an_unknown_environment_is_refused_rather_than_shown():
    with pytest.raises(SyntaxError):  # a stray & is not XML
        mathml(r"\begin{foo} a & b \end{foo}", is_block=True)


def test_aligned_lines_become_rows():
    assert shape(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", is_block=True).count("<mtr>") == 2


def test_the_limits_of_a_sum_in_braces_stand_below_it():
    assert "<munder><mo>∑</mo><mi>j</mi></munder>" in shape(r"{\sum_j x}", is_block=True)


def test_log_keeps_its_distance():
    assert "<mi>log</mi><mspace/><mi>p</mi>" in shape(r"\log p")
    assert "<mi>log</mi><mo>(</mo>" in shape(r"\log(p)")


def test_letters_are_those_of_text_whatever_alphabet_they_come_from():
    """A font without the letters of mathematics has them."""
    assert mathml("z", is_block=False).count('<mi mathvariant="normal" class="letter">z</mi>') == 1
    assert '<mi mathvariant="normal" class="doubled">E</mi>' in mathml(r"\mathbb{E}", is_block=False)
    assert 'class="letter"' not in mathml(r"2 \log", is_block=False)


FORMULAS = (
    r"\frac{1}{K} \sum_{k=1}^{K} \frac{I(z_{j(k)}; v_k) - \max_{j \neq j(k)} I(z_j; v_k)}{H(v_k)}",
    r"\mathbb{E}_{p(n)} \Big[ \log \frac{q(z_i | n_i)}{\prod_j \hat q(z_{ij})} \Big] + \sum_{j \neq k} C_{jk}^2",
)
# How far a limit or a script is from what it belongs to, and the parts of a fraction from each other, in pixels.
GAPS = """() => [...document.querySelectorAll("munder, munderover, msub, mfrac")].map((parent) => {
  const [first, second] = [...parent.children].map((child) => child.getBoundingClientRect());
  const style = getComputedStyle(parent.children[1]);
  const below = second.top + parseFloat(style.paddingTop) - first.bottom;
  return Math.max(below, second.left + parseFloat(style.paddingLeft) - first.right);
})"""


@pytest.mark.browser
def test_nothing_overlaps_where_no_font_for_mathematics_is_installed(open_page: OpenPage, tmp_path: Path) -> None:
    style = (ROOT / "docs" / "stylesheets" / "formulas.css").read_text()
    style = re.sub(r"(\.md-typeset math { font-family:)[^;]*;", r"\1 serif;", style)
    formulas = "".join(f"<p>{mathml(latex, is_block=True)}</p>" for latex in FORMULAS)
    (tmp_path / "page.html").write_text(
        f'<meta charset="utf-8"><style>{style}</style><div class="md-typeset">{formulas}</div>'
    )
    gaps = open_page(tmp_path / "page.html").evaluate(GAPS)
    assert len(gaps) > 10
    assert round(min(gaps), 2) >= 1  # pixels, which Chromium rounds: 0.99968
