"""The small pieces of sentences."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.core.reasons import MEANING, Reason
from managedjobs.core.text import bounded, clock_time, ordinal, plural, seconds


@pytest.mark.parametrize(
    ("number", "want"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st"),
     (102, "102nd"), (111, "111th"), (113, "113th"), (123, "123rd")],
)  # fmt: skip
def test_ordinals_read_as_people_say_them(number: int, want: str):
    assert ordinal(number) == want


@given(st.text(), st.integers(min_value=1, max_value=300))
def test_bounded_text_is_one_line_within_the_limit(text: str, limit: int):
    got = bounded(text, limit)
    assert len(got) <= limit
    assert "\n" not in got


def test_what_fits_is_kept_whole():
    assert bounded("as it is", 8) == "as it is"


def test_plurals():
    assert (plural(1, "pod"), plural(0, "pod"), plural(2, "entry", "entries")) == ("1 pod", "0 pods", "2 entries")


def test_times_read_short():
    moment = datetime(2026, 1, 1, 10, 42, 7, tzinfo=UTC)
    assert (clock_time(moment), seconds(timedelta(minutes=30))) == ("10:42:07Z", "1800 s")


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_one_sentence(reason: Reason):
    assert MEANING[reason].endswith(".")
    assert len(MEANING[reason]) < 160
