"""Turns the formulas of a page into MathML while the site is built, so that reading them needs neither a script nor a
network.
"""

import html
import logging
import re
import unicodedata
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(?P<tag>span|div) class="arithmatex">\s*\\[(\[](?P<latex>.*?)\\[)\]]\s*</(?P=tag)>', re.DOTALL)
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
_LIMITS_BELOW = {"∑", "∏", "max", "min", "arg max", "arg min"}
_FUNCTIONS = {"log", "exp", "erf", "det"}
_log = logging.getLogger("mkdocs.hooks.mathml")

ElementTree.register_namespace("", _MATHML.strip("{}"))


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with each page's HTML."""

    def replace(formula: re.Match[str]) -> str:
        tag, latex = formula["tag"], html.unescape(formula["latex"]).strip()
        try:
            return f'<{tag} class="formula">{mathml(latex, is_block=tag == "div")}</{tag}>'
        except Exception as error:  # noqa: BLE001 - the converter raises many kinds, and each is the formula's fault
            _log.warning(
                "%s: no MathML for %r: %s", page.file.src_uri, latex, error
            )  # a warning fails the strict build
            return formula[0]

    return _FORMULA.sub(replace, content)


def mathml(latex: str, *, is_block: bool) -> str:
    """The formula as a <math> element. Raises for what the converter does not know, which it would copy, backslash and
    all.
    """
    latex = re.sub(
        r"\\(begin|end){aligned}", r"\\\1{split}", latex
    )  # the same layout, under the name that the converter knows
    latex = re.sub(r"\\[Bb]igg?[lrm]?\s*\\(\||Vert)", r"\\|", latex)  # it knows no large double bar
    math = ElementTree.fromstring(convert(latex, display="block" if is_block else "inline"))
    if unknown := sorted({text for text in math.itertext() if "\\" in text}):
        raise ValueError(f"unknown: {', '.join(unknown)}")
    for element in math.iter():
        _space(element)
        _spell(element)
        if is_block and element.tag in {f"{_MATHML}msub", f"{_MATHML}msubsup"} and element[0].text in _LIMITS_BELOW:
            # Inside braces the converter sets the limits of a sum beside it.
            element.tag = element.tag.replace("msubsup", "munderover").replace("msub", "munder")
    return ElementTree.tostring(math, encoding="unicode")


def _spell(element: ElementTree.Element) -> None:
    """Sets a letter as text of a style sheet's own. Browsers take the italic letters of mathematics, and those with a
    double stroke, from another alphabet, which only fonts for mathematics have.
    """
    text = unicodedata.normalize("NFKC", element.text or "")
    is_doubled = element.get("mathvariant") == "double-struck" or text != (element.text or "")
    is_letter = element.tag == f"{_MATHML}mi" and len(text) == 1 and "mathvariant" not in element.attrib
    if (is_doubled or is_letter) and element.tag in {f"{_MATHML}mi", f"{_MATHML}mn"}:
        element.text = text
        element.attrib |= {"mathvariant": "normal", "class": "doubled" if is_doubled else "letter"}


def _space(parent: ElementTree.Element) -> None:
    """Set the thin spaces that TeX sets and the converter leaves out: after a semicolon, and between log and what
    follows.
    """
    for place, child in reversed(list(enumerate(parent))):
        if child.text == ";":
            child.tag = f"{_MATHML}mo"
        followed = place + 1 < len(parent) and parent[place + 1].text not in {"(", "["}
        if child.tag == f"{_MATHML}mi" and child.text in _FUNCTIONS and followed:
            parent.insert(place + 1, ElementTree.Element(f"{_MATHML}mspace", width="0.167em"))
