"""Quantities in all the forms that the API server takes."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.api.quantity import (
    MalformedQuantityError,
    parse_quantity,
    render_bytes,
    render_milli,
    to_bytes,
    to_milli,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2), (2, 2), (1.5, Fraction(3, 2)), ("1500m", Fraction(3, 2)), ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("5.", 5), ("350Mi", 350 * 2**20), ("1Ki", 1024), ("2Gi", 2**31), ("1Ei", 2**60), ("1k", 1000), ("1M", 10**6),
        ("1E", 10**18), ("1e3", 1000), ("1E3", 1000), ("12e-1", Fraction(6, 5)), ("7934464Ki", 7934464 * 1024),
        ("100n", Fraction(1, 10**7)), ("3u", Fraction(3, 10**6)), ("-1", -1), ("+1", 1), (" 1Gi ", 2**30),
    ],
)  # fmt: skip
def test_a_quantity_has_its_exact_value(text: str | float, value: Fraction):
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "Mi", "1 Gi", "1mi", "1KI", "1.2.3", "abc", "1e", "NaN", "1Mib"])
def test_what_is_no_quantity_is_refused_with_an_example(text: str):
    with pytest.raises(MalformedQuantityError, match="write for example 350Mi"):
        parse_quantity(text)


def test_whole_units_are_rounded_down():
    assert (to_bytes("1500m"), to_milli("0.0005"), to_milli("1.0019")) == (1, 0, 1001)


@given(st.integers(0, 10**9))
def test_what_is_rendered_reads_back_the_same(count: int):
    assert to_milli(render_milli(count)) == count
    assert to_bytes(render_bytes(count)) == count
