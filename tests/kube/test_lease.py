"""Leader election: taken, kept, lost, let go, against a server that fails on demand."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.lease import Elector, LeaseTimings, process_identity
from tests.support.fake_api import FakeApi
from tests.support.hand_clock import HandClock
from tests.support.waiting import until

WHERE = "apis/coordination.k8s.io/v1/leases"
# Whole seconds is what a Lease can say; the deadlines are as short as two busy cores allow.
TIMINGS = LeaseTimings(duration=1, renew_deadline=0.5, retry_period=0.05)
# For those that must not lose it: a busy machine may keep a process from running for a second.
PATIENT = LeaseTimings(duration=4, renew_deadline=3, retry_period=0.05)
Start = Callable[..., Elector]


@pytest.fixture
async def start(client: Client) -> AsyncIterator[Start]:
    """Starts electors by the name of their pod, and ends them after the test."""
    tasks: list[asyncio.Task[None]] = []

    def begin(pod: str, timings: LeaseTimings = TIMINGS) -> Elector:
        elector = Elector(client, "a", "lead", process_identity(pod), timings=timings)
        tasks.append(asyncio.create_task(elector.run()))
        return elector

    yield begin
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def spec(api: FakeApi) -> dict[str, Any]:
    """What the Lease says."""
    return dict(api.store.get(WHERE, "a", "lead")["spec"])


async def test_the_first_one_leads_and_keeps_leading(api: FakeApi, start: Start) -> None:
    first = start("one", PATIENT)
    await first.acquired.wait()
    assert (first.term, first.leading) == (1, True)
    said = spec(api)
    assert said["holderIdentity"] == str(first.identity)
    assert said["leaseDurationSeconds"] == PATIENT.duration
    second = start("two", PATIENT)
    renewals = api.count("PATCH")
    enough = PATIENT.duration / PATIENT.retry_period + 5
    await until(lambda: api.count("PATCH") > renewals + enough, "the first renews for longer than the duration", 30)
    assert first.leading
    assert not second.acquired.is_set()
    assert spec(api)["renewTime"] > said["renewTime"]


async def test_a_leader_that_lets_go_is_followed_at_once_with_the_next_term(api: FakeApi, start: Start) -> None:
    first = start("one")
    await first.acquired.wait()
    second = start("two")
    await first.release()
    assert not first.leading
    assert not first.lost.is_set(), "letting go is no accident"
    assert spec(api)["holderIdentity"] == "" or second.leading
    await asyncio.wait_for(second.acquired.wait(), 5)
    assert second.term == 2


async def test_a_leader_that_died_is_followed_after_the_duration(client: Client, start: Start) -> None:
    dead = Elector(client, "a", "lead", process_identity("one"), timings=TIMINGS)
    task = asyncio.create_task(dead.run())
    await dead.acquired.wait()
    task.cancel()
    begun = client.clock.monotonic()
    second = start("two")
    await asyncio.wait_for(second.acquired.wait(), 10)
    assert client.clock.monotonic() - begun >= TIMINGS.duration - 0.1
    assert second.term == 2


async def test_a_restarted_process_follows_itself_at_once_under_a_new_term(client: Client, start: Start) -> None:
    dead = Elector(client, "a", "lead", process_identity("one"), timings=LeaseTimings(duration=600))
    task = asyncio.create_task(dead.run())
    await dead.acquired.wait()
    task.cancel()
    again = start("one")
    await asyncio.wait_for(again.acquired.wait(), 5)
    assert again.term == 2
    assert str(again.identity) != str(dead.identity)


async def test_a_leader_that_can_not_renew_stops_before_another_may_start(api: FakeApi, start: Start) -> None:
    first = start("one")
    await first.acquired.wait()
    api.hang("PATCH", times=100)
    await asyncio.wait_for(first.lost.wait(), 5)
    assert not first.leading
    assert "not renewed for 0.5 s" in (first.last_error or "")


async def test_a_process_that_was_frozen_does_not_take_itself_for_the_leader(api: FakeApi) -> None:
    clock = HandClock()
    async with Client(api.credentials(), clock=clock) as client:
        elector = Elector(client, "a", "lead", process_identity("one"))
        running = asyncio.create_task(elector.run())
        await elector.acquired.wait()
        told = []
        for seconds in (9.9, 0.1):  # no code of the election has a chance to run meanwhile
            clock.seconds += seconds
            told.append(elector.leading)
        assert told == [True, False]
        running.cancel()


async def test_a_short_outage_does_not_cost_the_lead(api: FakeApi, start: Start) -> None:
    first = start("one")
    await first.acquired.wait()
    api.answer("PATCH", 500, times=2)
    api.cut("PATCH")
    api.cut("PATCH", done=True)  # the renewal was written, its answer lost: then the version is another
    await until(lambda: api.count("PATCH") > 8, "it goes on renewing")
    assert first.leading
    assert first.term == 1


async def test_a_lease_in_other_hands_is_lost_at_once(api: FakeApi, start: Start) -> None:
    first = start("one")
    await first.acquired.wait()
    api.store.patch(WHERE, "a", "lead", {"spec": {"holderIdentity": "two_x", "leaseTransitions": 2}})
    await asyncio.wait_for(first.lost.wait(), 5)
    assert first.last_error == "the lease is in other hands"
    assert spec(api)["holderIdentity"] == "two_x", "it is not fought over"


async def test_a_lease_whose_term_was_changed_by_hand_is_lost(api: FakeApi, start: Start) -> None:
    first = start("one")
    await first.acquired.wait()
    api.store.patch(WHERE, "a", "lead", {"spec": {"leaseTransitions": 9}})
    await asyncio.wait_for(first.lost.wait(), 5)


async def test_a_label_on_the_lease_is_no_loss(api: FakeApi, start: Start) -> None:
    first = start("one")
    await first.acquired.wait()
    api.store.patch(WHERE, "a", "lead", {"metadata": {"labels": {"team": "x"}}})
    renewals = api.count("PATCH")
    await until(lambda: api.count("PATCH") > renewals + 2, "it goes on renewing")
    assert first.leading


async def test_a_deleted_lease_is_lost(api: FakeApi, start: Start) -> None:
    first = start("one")
    await first.acquired.wait()
    api.store.delete(WHERE, "a", "lead", {})
    await asyncio.wait_for(first.lost.wait(), 5)


async def test_of_many_exactly_one_leads(start: Start) -> None:
    electors = [start(f"pod-{number}") for number in range(5)]
    await until(lambda: any(elector.acquired.is_set() for elector in electors), "one leads")
    assert sum(elector.leading for elector in electors) == 1


async def test_the_answer_to_the_taking_may_be_lost(api: FakeApi, start: Start) -> None:
    api.cut("POST", done=True)
    first = start("one")
    await asyncio.wait_for(first.acquired.wait(), 5)
    assert first.term == 1


async def test_the_wait_for_the_lease_can_be_ended(api: FakeApi, start: Start) -> None:
    await start("one").acquired.wait()
    second = start("two")
    await until(lambda: api.count("GET") >= 2, "the second asks")
    await second.release()
    assert not second.acquired.is_set()


def test_timings_that_allow_two_leaders_are_refused() -> None:
    with pytest.raises(ValueError, match="duration > renew deadline > retry period"):
        LeaseTimings(duration=10, renew_deadline=10.0)
