"""Waiting for a condition in asynchronous tests."""

import asyncio
from collections.abc import Callable

from managedjobs.kube.backoff import pause

_LOOK_EVERY_SECONDS = 0.005


async def until(condition: Callable[[], object], what: str, timeout_seconds: float = 10.0) -> None:
    """Return once `condition` holds; fails the test, naming `what`, when it does not in time."""
    try:
        async with asyncio.timeout(timeout_seconds):
            while not condition():
                await pause(_LOOK_EVERY_SECONDS)
    except TimeoutError:
        raise AssertionError(f"{what}: not within {timeout_seconds:g} s") from None
