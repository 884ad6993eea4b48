import re

import pytest

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
