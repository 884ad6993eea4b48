"""The figure of what a floor on densities does: its numbers and its file."""

from xml.etree import ElementTree

import pytest

from benchmarks.noise_latents import measure, svg, table


def test_the_floor_takes_information_and_gives_wsepin(tmp_path):
    rows = [measure(5), measure(20)]
    (_, plain, floored, wsepin, cut), (_, plain_20, floored_20, wsepin_20, cut_20) = rows
    assert plain_20 == pytest.approx(plain, abs=1e-9)
    assert wsepin_20 == pytest.approx(wsepin, abs=1e-9)
    assert (floored, cut) == pytest.approx((plain, wsepin), abs=1e-3)
    assert floored_20 < 0.5 * plain
    assert cut_20 > 3 * wsepin
    assert "20 | 6.88" in table(rows)
    figure = ElementTree.fromstring(svg(rows))
    assert len(figure.findall("{http://www.w3.org/2000/svg}polyline")) == 2
