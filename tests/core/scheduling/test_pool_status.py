"""What a pool says about itself."""

from datetime import timedelta

import pytest

from managedjobs.core.model import Condition
from managedjobs.core.scheduling.admission import PoolFacts, Usage
from managedjobs.core.scheduling.pool_status import Census, PoolStatus, pool_status
from tests.support.jobs import NOW, make_pool


def status_of(facts: PoolFacts, before: tuple[Condition, ...] = (), seconds: float = 0) -> PoolStatus:
    now = NOW + timedelta(seconds=seconds)
    usage, census = Usage(launch=1, run=3, parked=1), Census(alive=2, waiting=5, backoff=1)
    return pool_status(facts, usage, census, before, generation=4, now=now)


def truths(status: PoolStatus) -> dict[str, tuple[str, str]]:
    return {c.type: (c.status, c.reason) for c in status.conditions}


def test_a_pool_in_order_says_its_limits_and_what_is_in_use():
    status = status_of(make_pool(8, 22))
    assert (status.launch_limit, status.run_limit, status.launching, status.parked) == (8, 22, 1, 1)
    assert (status.alive, status.waiting, status.backoff) == (2, 5, 1)
    assert status.bound_by == "launching: cpu, running: memory"
    assert truths(status) == {"Ready": ("True", "Ready"), "CapacityAvailable": ("True", "Scheduled")}


@pytest.mark.parametrize(
    ("facts", "type_", "reason"),
    [
        (make_pool(paused=True), "Ready", "Paused"),
        (make_pool(0, 0), "Ready", "NoNodes"),
        (make_pool(has_room=False), "CapacityAvailable", "Unschedulable"),
    ],
    ids=["paused", "no nodes", "no room"],
)
def test_what_is_wrong_is_a_condition_that_is_false(facts: PoolFacts, type_: str, reason: str):
    assert truths(status_of(facts))[type_] == ("False", reason)


def test_a_transition_time_moves_only_when_the_status_flips_and_others_conditions_stay():
    foreign = Condition(type="Foreign", status="True", reason="Theirs")
    first = status_of(make_pool(), (foreign,))
    second = status_of(make_pool(), first.conditions, 60)
    assert second.conditions == first.conditions
    third = status_of(make_pool(paused=True), second.conditions, 120)
    moved = {c.type: c.last_transition_time for c in third.conditions}
    assert moved == {"Foreign": None, "Ready": NOW + timedelta(seconds=120), "CapacityAvailable": NOW}


def test_a_pool_that_does_not_exist_has_no_status():
    with pytest.raises(ValueError, match="gone does not exist"):
        status_of(PoolFacts(name="gone", spec=None, limits=None))
