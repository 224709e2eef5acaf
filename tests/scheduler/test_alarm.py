"""Alarms ring once, at the earliest moment that was set."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from managedjobs.scheduler.alarm import Alarms
from tests.support.jobs import NOW


def test_the_earliest_moment_counts():
    alarms = Alarms()
    for seconds in (30, 10, 20):
        alarms.set("a", NOW + timedelta(seconds=seconds))
    assert alarms.due(NOW + timedelta(seconds=9)) == []
    assert alarms.due(NOW + timedelta(seconds=10)) == ["a"]
    assert alarms.due(NOW + timedelta(seconds=60)) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20))), st.integers(0, 20))
def test_what_rings_is_what_was_due(given_alarms: list[tuple[str, int]], until: int):
    alarms = Alarms()
    earliest: dict[str, int] = {}
    for name, seconds in given_alarms:
        alarms.set(name, NOW + timedelta(seconds=seconds))
        earliest[name] = min(seconds, earliest.get(name, seconds))
    rung = alarms.due(NOW + timedelta(seconds=until))
    assert sorted(rung) == sorted(name for name, seconds in earliest.items() if seconds <= until)
    later = [seconds for seconds in earliest.values() if seconds > until]
    if later:
        assert alarms.next() == NOW + timedelta(seconds=min(later))
