"""Sizes by name and in words."""

import dataclasses

import pytest

from benchmarks.audit.sizes import SIZES, Size, caveat, counted, size_name, size_words


def of(size: Size):
    return dataclasses.asdict(size)


def test_sizes_have_names():
    assert [size_name(of(size)) for size in SIZES.values()] == ["quick", "full"]
    assert eval(size_name(of(Size(60))), {"Size": Size}) == Size(60)


def test_one_is_singular():
    assert size_words(of(SIZES["quick"])) == "120 images and 1 seed a code, 2 redraws"
    assert size_words(of(SIZES["full"])) == "500 images and 2 seeds a code, 6 redraws"
    assert (counted(1, "metric"), counted(2, "metric"), counted(0, "metric")) == ("1 metric", "2 metrics", "0 metrics")


def test_a_smaller_audit_says_that_its_verdicts_may_differ():
    assert caveat(of(SIZES["full"])) == ""
    assert caveat(of(Size(1000, 3, 9))) == ""
    assert "its verdicts may differ from those of a full one" in caveat(of(SIZES["quick"]))
    assert "no levels between the first and the last" in caveat(of(SIZES["quick"]))
    assert "no levels between" not in caveat(of(Size(100)))


@pytest.mark.parametrize("fewer", [{"num_images": 499}, {"num_seeds": 1}, {"num_redraws": 5}, {"is_whole": False}])
def test_an_audit_that_is_smaller_in_one_thing_is_smaller(fewer):
    assert caveat(of(Size(**fewer)))
