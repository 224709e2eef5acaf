"""Waiting: delays that grow, pauses that can be ended, budgets."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.kube.backoff import Backoff, pause, wait_until
from managedjobs.kube.bucket import TokenBucket
from managedjobs.kube.clock import SystemClock
from tests.support.hand_clock import HandClock


def test_delays_double_up_to_their_ceiling_and_start_anew() -> None:
    backoff = Backoff(1.0, 10.0, draw=lambda: 1.0)
    assert [backoff.next_seconds() for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    assert backoff.failures == 6
    backoff.reset()
    assert backoff.next_seconds() == 1


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 5000))
def test_a_delay_is_never_less_than_half_its_ceiling_nor_more(draw: float, failures: int) -> None:
    backoff = Backoff(0.1, 30.0, draw=lambda: draw)
    backoff._failures = failures
    ceiling = min(30.0, 0.1 * 2 ** min(failures, 30))
    assert ceiling / 2 <= backoff.next_seconds() <= ceiling


async def test_a_pause_that_is_cancelled_just_when_it_ends_is_quiet() -> None:
    loop = asyncio.get_running_loop()
    errors: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: errors.append(context))
    task = asyncio.create_task(pause(0.001))
    await pause(0)
    # The loop takes up the cancellation first and the alarm, which is due by then, in the same round.
    loop.call_soon(task.cancel)
    due = loop.time() + 0.005
    while loop.time() < due:
        pass
    await asyncio.wait([task])
    assert task.cancelled()
    assert errors == []


async def test_waiting_for_an_event_says_whether_it_happened() -> None:
    event = asyncio.Event()
    assert await wait_until(event, 0.001) is False
    event.set()
    assert await wait_until(event, 10) is True


def test_a_bucket_gives_its_burst_then_one_token_at_a_time() -> None:
    clock = HandClock()
    bucket = TokenBucket(10.0, 3, clock)
    assert [bucket.reserve() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    clock.seconds += 100
    assert [bucket.reserve() for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_bucket_that_never_gives_anything_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="a rate above 0 and a burst of 1 or more"):
        TokenBucket(rate, burst, SystemClock())


def test_the_clock_is_aware_and_in_utc() -> None:
    offset = SystemClock().now().utcoffset()
    assert offset is not None
    assert not offset
