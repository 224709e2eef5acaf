"""The event recorder: best effort within a budget, never in the way."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.event_rules import event_name, note
from managedjobs.kube.events import EventRecorder
from managedjobs.kube.objects import ObjectRef
from tests.support.fake_api import FakeApi
from tests.support.waiting import until

WHERE = "apis/events.k8s.io/v1/events"
JOB = ObjectRef("managedjobs.dev/v1alpha1", "ManagedJob", "a", "train", "u-1")
Start = Callable[..., EventRecorder]


@pytest.fixture
async def start(client: Client) -> AsyncIterator[Start]:
    """Starts recorders, and ends them after the test."""
    tasks: list[asyncio.Task[None]] = []

    def begin(*, running: bool = True, **options: int) -> EventRecorder:
        recorder = EventRecorder(client, "managedjobs-operator", "operator-1", **options)
        if running:
            tasks.append(asyncio.create_task(recorder.run()))
        return recorder

    yield begin
    for task in tasks:
        assert not task.done(), "a recorder ended by itself"
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def notes(api: FakeApi, namespace: str = "a") -> list[tuple[str, str, int]]:
    """(reason, text, count) of the Events on the server."""
    found = api.store.select(WHERE, namespace, "")
    return sorted((one["reason"], one["note"], one.get("series", {}).get("count", 1)) for one in found)


async def test_an_event_tells_what_happened_to_what(api: FakeApi, start: Start) -> None:
    recorder = start()
    recorder.record(JOB, "Normal", "Admitted", "Claimed: controller pod train-x.", "Claim")
    await until(lambda: notes(api), "the event is there")
    event = next(api.store.select(WHERE, "a", ""))
    assert event["regarding"] == {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ManagedJob",
        "namespace": "a",
        "name": "train",
        "uid": "u-1",
    }
    assert (event["type"], event["action"]) == ("Normal", "Claim")
    assert event["reportingController"] == "managedjobs-operator"
    assert event["metadata"]["name"].startswith("train.")
    assert recorder.sent == 1


async def test_what_repeats_within_a_minute_is_counted(api: FakeApi, start: Start) -> None:
    recorder = start()
    recorder.record(JOB, "Warning", "BackOff", "same", "Launch")
    await until(lambda: recorder.sent == 1, "the first is sent")
    for _ in range(4):
        recorder.record(JOB, "Warning", "BackOff", "same", "Launch")
    recorder.record(JOB, "Warning", "BackOff", "other", "Launch")
    await recorder.flush(5)
    assert notes(api) == [("BackOff", "other", 1), ("BackOff", "same", 5)]
    assert recorder.sent == 3, "repetitions that wait are one write"


async def test_too_many_drop_the_oldest_and_say_so(api: FakeApi, start: Start) -> None:
    recorder = start(running=False, queue_length=3)
    for number in range(5):
        recorder.record(JOB, "Normal", "R", f"n{number}", "A")
    assert recorder.dropped == 2
    sending = asyncio.create_task(recorder.run())
    await recorder.flush(5)
    sending.cancel()
    assert [text for _, text, _ in notes(api)] == ["n2", "n3", "n4"]


async def test_what_was_dropped_can_be_told_again(api: FakeApi, start: Start) -> None:
    recorder = start(running=False, queue_length=1)
    for text in ("x", "y", "x"):
        recorder.record(JOB, "Normal", "R", text, "A")
    sending = asyncio.create_task(recorder.run())
    await recorder.flush(5)
    sending.cancel()
    assert notes(api) == [("R", "x", 2)]


@pytest.mark.parametrize("fault", ["403", "500", "cut", "no answer"])
async def test_a_refused_event_is_counted_and_forgotten(api: FakeApi, start: Start, fault: str) -> None:
    if fault == "cut":
        api.cut("POST")
    elif fault == "no answer":
        api.hang("POST")
    else:
        api.answer("POST", int(fault))
    recorder = start()
    recorder.record(JOB, "Normal", "R", "lost", "A")
    recorder.record(JOB, "Normal", "R", "kept", "A")
    await recorder.flush(5)
    assert (recorder.failed, recorder.sent) == (1, 1)
    assert notes(api) == [("R", "kept", 1)]


async def test_the_budget_holds_events_back(api: FakeApi, start: Start) -> None:
    recorder = start(per_second=1, burst=2)
    for number in range(10):
        recorder.record(JOB, "Normal", "R", f"n{number}", "A")
    await recorder.flush(0.2)
    assert len(notes(api)) == 2


async def test_an_event_on_a_cluster_scoped_object_goes_to_default(api: FakeApi, start: Start) -> None:
    recorder = start()
    recorder.record(ObjectRef("managedjobs.dev/v1alpha1", "ControllerPool", "", "default"), "Normal", "R", "t", "A")
    await recorder.flush(5)
    assert notes(api, "default") == [("R", "t", 1)]


def test_texts_are_cut_to_what_the_server_takes() -> None:
    cut = note(JOB, "Normal", "R" * 200, "word " * 500, "A" * 200)
    assert [len(part.encode()) for part in (cut.reason, cut.text, cut.action)] == [128, 1024, 128]
    assert note(JOB, "Normal", "R", "ö" * 2000, "A").text.encode()[-5:] == "ö…".encode()
    assert len(event_name(ObjectRef("v1", "Pod", "a", "x" * 253), "0123456789abcdef")) == 253
