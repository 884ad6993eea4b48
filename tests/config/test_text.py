"""What is typed becomes what a field wants."""

import time
from typing import Literal

import pytest

from unbraid.cli.build import parse_each
from unbraid.cli.flag_tables import placeholder
from unbraid.config.schedule import Cosine, Cyclic, Linear, Schedule, Weight
from unbraid.config.text import parse, text_of
from unbraid.errors import SpecError
from unbraid.models.distributions import ConcreteLatents, FlowPrior, GaussianLatents, GroupedLatents, Latents
from unbraid.objectives import BetaTCVAE, BetaVAE, Objective

Word = Literal["exact", "means_histogram"]


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("4", int, 4),
        ("-3", int, -3),
        ("6", float, 6.0),
        ("1e-3", float, 0.001),
        ("none", float | None, None),
        ("None", str | None, None),
        ("data", str | None, "data"),
        ("true", bool, True),
        ("False", bool, False),
        ("exact", Word, "exact"),
        ("means-histogram", Word, "means_histogram"),
        ("128,64", tuple[int, ...], (128, 64)),
        ("128", tuple[int, ...], (128,)),
        ("heart, square", tuple[str, ...], ("heart", "square")),
        ("0,1;2", tuple[tuple[int, ...], ...], ((0, 1), (2,))),
        ("4", Weight, 4.0),
        ("linear:0:4", Weight, Linear(0.0, 4.0)),
        ("Linear:0:4:0:0.1", Weight, Linear(0.0, 4.0, 0.0, 0.1)),
        ("cosine:1:0.5", Weight, Cosine(1.0, 0.5)),
        ("cyclic:0:4:rising=0.2", Weight, Cyclic(0.0, 4.0, rising=0.2)),
        ("gaussian:3, concrete:5", tuple[Latents, ...], (GaussianLatents(3), ConcreteLatents(5))),
        ("gaussian:3:flow-prior", tuple[Latents, ...], (GaussianLatents(3, FlowPrior()),)),
        ("beta-vae", Objective, BetaVAE()),
        ("beta-vae:beta=linear:0:4", Objective, BetaVAE(Linear(0.0, 4.0))),
        ("beta-tcvae:beta=(linear:0:4):gamma=2", Objective, BetaTCVAE(beta=Linear(0.0, 4.0), gamma=2.0)),
        ("beta-tcvae:beta=(linear:0:4):mss", Objective, BetaTCVAE(beta=Linear(0.0, 4.0), estimator="mss")),
        ("gaussian:(flow-prior:4):size=3", Latents, GaussianLatents(3, FlowPrior(4))),
        ("concrete:5:(linear:1:0.5):hard=true", Latents, ConcreteLatents(5, Linear(1.0, 0.5), hard=True)),
        (
            "grouped:(gaussian:3,concrete:temperature=linear:1:0.5)",
            Latents,
            GroupedLatents((GaussianLatents(3), ConcreteLatents(temperature=Linear(1.0, 0.5)))),
        ),
    ],
)
def test_a_text_is_read_as_its_field_says(text, annotation, value):
    read = parse(text, annotation, "--flag")
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "annotation", "complaint"),
    [
        ("abc", float, "--flag is 'abc'.*a number"),
        ("1.5", int, "--flag is '1.5'.*an integer"),
        ("", str, "--flag is ''.*a string"),
        ("yes", bool, "--flag is 'yes'.*true or false"),
        ("x", float | None, "--flag.*'x'"),
        ("1,,2", tuple[int, ...], "--flag is '1,,2'.*an integer"),
        ("liner:0:4", Weight, "--flag is 'liner:0:4'.*'linear'.*cosine, cyclic, linear"),
        ("fast", Weight, "--flag is 'fast'.*a number.*cosine, cyclic, linear"),
        ("linear:0", Weight, "--flag.*'linear:0'.*Linear"),
        ("linear:1:2:0:1:9", Weight, "Linear.*'9'"),
        ("beta-vae:bata=4", Objective, "BetaVAE.*'bata'.*'beta'"),
        ("beta-vae:beta=4:beta=5", Objective, "'beta-vae:beta=4:beta=5'"),
        ("beta-tcvae:beta=linear:0:4:gamma=2", Objective, "Linear.*'gamma'.*parentheses"),
        ("linear:0:x", Weight, "end in --flag 'linear:0:x' is 'x'.*a number"),
        ("linear:0:4:1:0", Weight, "begin=1.0, finish=0.0"),
        ("gaussian:0", tuple[Latents, ...], "GaussianLatents: size is 0"),
        ("gauss", tuple[Latents, ...], "--flag is 'gauss'.*gaussian"),
        ("0,1;x", tuple[tuple[int, ...], ...], "--flag is '0,1;x'.*an integer"),
        ("means_histogran", Word, "--flag is 'means_histogran'.*'means_histogram'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_expected(text, annotation, complaint):
    with pytest.raises(SpecError, match=complaint):
        parse(text, annotation, "--flag")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("beta-tcvae:4", "'4'.*beta"),
        ("beta-tcvae:gama=2", "'gama'.*'gamma'"),
        ("beta-tcvae:msw", "'msw'.*'mws'"),
    ],
)
def test_a_setting_that_belongs_to_no_field_is_refused(text, place):
    with pytest.raises(SpecError, match=f"--flag '{text}': BetaTCVAE .*{place}"):
        parse(text, Objective, "--flag")


def test_a_number_may_have_several_values():
    assert parse_each("1, 4,16", float, "--flag") == [1.0, 4.0, 16.0]
    assert parse_each("none,1", float | None, "--flag") == [None, 1.0]


def test_a_schedule_may_be_one_of_several_values():
    assert parse_each("1,linear:0:4,4", Weight, "--flag") == [1.0, Linear(0.0, 4.0), 4.0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Linear(0.0, 4.0), "linear:0:4"),
        (Linear(0.0, 4.0, finish=0.1), "linear:0:4:finish=0.1"),
        ((GaussianLatents(3), ConcreteLatents(10)), "gaussian:size=3,concrete"),
        (((0, 1), (2,)), "0,1;2"),
        (GaussianLatents(3, FlowPrior(4)), "gaussian:size=3:flow-prior:num_steps=4"),
        (BetaTCVAE(beta=Linear(0.0, 4.0), gamma=2.0), "beta-tcvae:gamma=2:beta=linear:0:4"),
        (
            BetaTCVAE(alpha=Cosine(0.0, 1.0), beta=Linear(0.0, 4.0)),
            "beta-tcvae:alpha=(cosine:0:1):beta=linear:0:4",
        ),
        (GroupedLatents((GaussianLatents(3), ConcreteLatents())), "grouped:parts=(gaussian:size=3,concrete)"),
        (BetaVAE(0.1 + 0.2), "beta-vae:beta=0.30000000000000004"),
    ],
)
def test_a_value_is_shown_as_one_would_type_it(value, text):
    assert text_of(value) == text
    for kind in (Latents, Objective, Schedule):
        if isinstance(value, kind):
            assert parse(text, kind, "--flag") == value


def test_the_placeholder_of_a_schedule_and_of_lists():
    assert [placeholder(kind) for kind in (Weight, tuple[Latents, ...], tuple[tuple[int, ...], ...])] == [
        "NUMBER|SCHEDULE",
        "LATENTS,...",
        "INTEGER,...;...",
    ]


def test_numbers_and_words_are_swept_by_commas_and_lists_and_texts_are_one_value():
    assert parse_each("32,64", int, "--flag") == [32, 64]
    assert parse_each("none,64", int | None, "--flag") == [None, 64]
    assert parse_each("true,false", bool, "--flag") == [True, False]
    assert parse_each("exact,means-histogram", Word, "--flag") == ["exact", "means_histogram"]
    assert parse_each("128,64", tuple[int, ...], "--flag") == [(128, 64)]
    assert parse_each("a,b", str, "--flag") == ["a,b"]
    with pytest.raises(SpecError, match="'6.4'"):
        parse_each("32,6.4", int, "--flag")


def test_the_placeholder_says_what_to_type():
    assert [placeholder(kind) for kind in (int, float | None, str, bool, tuple[int, ...], Word)] == [
        "INTEGER",
        "NUMBER",
        "TEXT",
        "true|false",
        "INTEGER,...",
        "exact|means_histogram",
    ]


def test_a_value_is_shown_as_it_is_typed():
    assert [text_of(value) for value in (6.0, 1e-3, None, True, (1, 2), "mws")] == [
        "6",
        "0.001",
        "none",
        "true",
        "1,2",
        "mws",
    ]


def test_a_text_of_a_megabyte_is_refused_in_no_time():
    begun = time.process_time()
    with pytest.raises(SpecError):
        parse("x" * 1_000_000, Objective, "objective")
    assert time.process_time() - begun < 5
